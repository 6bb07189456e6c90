"""Operations on the host itself: the chain and the processes of the group."""

from sophon.chain.order_constraints import get_middleware_name, read_order_constraints
from sophon_hosting.client_api.caller import Caller
from sophon_hosting.features.host.results import (
    ChainView,
    HostList,
    host_to_json,
)
from sophon_hosting.operations.request import NoFields
from sophon_hosting.operations.table import Table

table = Table("host")


@table.operation("GET /api/chain", needs="Read")
async def get_chain(caller: Caller, request: NoFields) -> ChainView:
    """Return the running chain, as the text of `explain()` and as data."""
    pipeline = caller.host.chain
    return {
        "explained": pipeline.explain(),
        "middlewares": [
            {"name": get_middleware_name(each), "zone": read_order_constraints(each).zone or "any"} for each in pipeline
        ],
    }


@table.operation("GET /api/hosts", needs="Operator")
async def list_hosts(caller: Caller, request: NoFields) -> HostList:
    """List the live processes that share the store and the queue, of which this may be the only one.

    Each has role, version, address, running turns, and what it leads.
    """
    membership = caller.host.membership
    own = membership.describe().id
    return {"items": [host_to_json(each, is_this=each.id == own) for each in await membership.list_hosts()]}

"""Contract of a host's store: the repositories of a chain's, those of the host, and those that features add."""

from abc import abstractmethod
from typing import TYPE_CHECKING, TypeVar, cast

from sophon.context.turn_services import TurnServices
from sophon.stores.contract import Store

if TYPE_CHECKING:
    # Named only: what reads a store loads no SQLAlchemy.
    from sophon.stores.sql.store_part import StorePart
    from sophon_hosting.store.api_tokens.sql import ApiTokenStore
    from sophon_hosting.store.approvals.sql import ApprovalStore
    from sophon_hosting.store.channel_state.sql import ChannelStateStore
    from sophon_hosting.store.events.sql import EventLog
    from sophon_hosting.store.message_search.sql import MessageSearch
    from sophon_hosting.store.outbox.sql import Outbox
    from sophon_hosting.store.person_deletion import PersonStore
    from sophon_hosting.store.runs.contract import RunStore

P = TypeVar("P", bound="StorePart")


class HostStore(Store):
    """The repositories of one host's store; `SqlHostStore` implements it."""

    api_tokens: "ApiTokenStore"
    approvals: "ApprovalStore"
    channel_state: "ChannelStateStore"
    events: "EventLog"
    message_search: "MessageSearch"
    outbox: "Outbox"
    persons: "PersonStore"
    runs: "RunStore"

    @abstractmethod
    def part(self, kind: type[P]) -> P:
        """Return the repository that a feature adds to the store, by its class."""


def host_store(services: TurnServices) -> HostStore:
    """Return the store of a host's services, or of the services of one of its turns."""
    return cast(HostStore, services.store)

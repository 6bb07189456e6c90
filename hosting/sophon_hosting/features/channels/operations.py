"""Operations on the channels of a host: list them with their health, and start one again.

A client that asks of the host alone does not load the contract of channels, and with it the HTTP server.
"""

from typing import Annotated

from sophon.errors import NotFound
from sophon_hosting.client_api.caller import Caller
from sophon_hosting.features.channels.results import AttachedChannel, ChannelList, channel_to_json
from sophon_hosting.operations.request import Doc, NoFields, Request
from sophon_hosting.operations.table import Table

table = Table("host")


class NamedChannel(Request):
    """A channel by its name."""

    name: Annotated[str, Doc("The channel, such as telegram.")]


@table.operation("GET /api/channels", needs="Read")
async def list_channels(caller: Caller, request: NoFields) -> ChannelList:
    """List the configured channels; account, error detail and counters are for operators only."""
    is_operator = caller.user.operator
    return {"items": [channel_to_json(each, operator=is_operator) for each in caller.process.channels]}


@table.operation("POST /api/channels/{name}/attach", needs="Operator", errors=(NotFound,))
async def attach_channel(caller: Caller, request: NamedChannel) -> AttachedChannel:
    """Start a channel at once that could not be started, in each process of the group.

    `attached` is false if it does not wait for that in the process that answers.
    """
    attach = caller.process.attach_channel
    if attach is None:
        raise NotFound("channel", request.name, [])
    return {"name": request.name, "attached": attach(request.name)}

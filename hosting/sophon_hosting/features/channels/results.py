"""Results about the channels of a host, and their health."""

from typing import NotRequired

from sophon._python.lazy_typed_dict import TypedDict
from sophon_channels.contract import Channel, ChannelState
from sophon_hosting.features.iso_time import to_iso


class ChannelView(TypedDict):
    """A configured channel; account, error and counters for operators only."""

    name: str
    state: ChannelState
    account: NotRequired[str]
    detail: NotRequired[str]
    last_arrival: NotRequired[str | None]
    counts: NotRequired[dict[str, int]]


class ChannelList(TypedDict):
    """The configured channels."""

    items: list[ChannelView]


class AttachedChannel(TypedDict):
    """A channel, and whether it is started again; false if it does not wait here for that."""

    name: str
    attached: bool


def channel_to_json(channel: Channel, *, operator: bool) -> ChannelView:
    """Return a channel as JSON; account, error and counters for operators only."""
    health = channel.health
    found: ChannelView = {"name": channel.name, "state": health.state}
    if operator:
        found["account"] = channel.account
        found["detail"] = health.detail
        found["last_arrival"] = to_iso(health.last_received_at)
        found["counts"] = dict(health.counts)
    return found

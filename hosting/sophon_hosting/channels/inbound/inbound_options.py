"""Options of a channel's inbound side, from its settings."""

from collections.abc import Mapping
from dataclasses import field

from sophon.lazy_dataclass import dataclass


@dataclass(frozen=True, slots=True)
class InboundOptions:
    """How a channel's messages are read.

    Texts of a person are joined that come within `debounce_seconds`; 0: never. `group_history` states by the id of a
    group how many messages that were not addressed to the bot a turn sees. `ack_reaction` is the emoji with which each
    accepted message is acknowledged, "" for none.
    """

    debounce_seconds: float = 0.0
    group_history: Mapping[str, int] = field(default_factory=lambda: {})
    ack_reaction: str = ""

"""State of channels: small values that channels keep across restarts, each under its own key."""

from collections.abc import Mapping
from dataclasses import field
from datetime import datetime
from typing import Any

from sophon._python.lazy_dataclass import dataclass, new_dict


@dataclass(frozen=True, slots=True)
class ChannelStateEntry:
    """A stored value of a channel, for example a paired person, a chat's session, a processed update.

    `kind` names the sort of value and `key` identifies it; channel, account, kind and key together are unique. `value`
    is plain JSON; `at` is the time of the last write.
    """

    channel: str
    account: str
    kind: str
    key: str
    value: Mapping[str, Any] = field(default_factory=new_dict)
    at: datetime | None = None

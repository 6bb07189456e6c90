"""Events of the memory."""

from collections.abc import Mapping
from dataclasses import field

from sophon._python.lazy_dataclass import dataclass
from sophon.events.base import Event


@dataclass(slots=True, kw_only=True)
class MemoryRecalled(Event):
    """What the memory puts into the prompts of the turn: entries, workspace files, and their length in tokens.

    `parts` has the tokens by file name, of the `entries`, and of the `daily_log`; less for a model with a small window.
    """

    entry_ids: list[str]
    files: list[str]
    tokens: int
    parts: Mapping[str, int] = field(default_factory=dict[str, int])


@dataclass(slots=True, kw_only=True)
class MemoryFlush(Event):
    """Durable facts were stored before the messages that hold them were compacted: as memory entries, or as lines of
    `file`, a workspace file.
    """

    entry_ids: list[str]
    texts: list[str]
    messages: int
    file: str = ""

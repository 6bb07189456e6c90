"""Entries of HEARTBEAT.md: cron lines, each with what is to be done, and instructions that hold for all of them."""

from typing import Final

from sophon._python.lazy_dataclass import dataclass
from sophon._python.lazy_pattern import lazy_pattern
from sophon.memory.workspace_files import remove_comments

NO_OP_REPLY: Final = "HEARTBEAT_OK"
"""Reply that says that there is nothing to say; it is not delivered. Source: Sophon's guide, heartbeat."""

MAX_ENTRIES: Final = 50

DEFAULT_TASK: Final = "Check whether anything needs attention."

_NUMBERS = r"[\d*][\d*,/-]*"
_NAMES = r"(?:[\d*L][\d*,/#L-]*|[A-Za-z]{3}(?:[-,][A-Za-z]{3}){0,6})"
_FIELDS = rf"{_NUMBERS} +{_NUMBERS}(?: +{_NAMES}){{3}}"
_LINE = lazy_pattern(rf"\s*(?:[-*+] +)?`?(?P<cron>{_FIELDS})`?(?::? +(?P<task>\S.*))?\s*")
_LOOKS_LIKE_CRON = lazy_pattern(r"\s*(?:[-*+] +)?`?[\d*]")
_SURROUNDING: Final = " \t\r\n*_`\"'."


@dataclass(frozen=True, slots=True)
class HeartbeatEntry:
    """A cron line: its five fields, and the task."""

    cron: str
    task: str


@dataclass(frozen=True, slots=True)
class HeartbeatFile:
    """The entries of a file, in its order, and the rest of its text."""

    entries: tuple[HeartbeatEntry, ...] = ()
    instructions: str = ""


def parse_heartbeat(text: str) -> HeartbeatFile:
    """Return the entries and the instructions of a file. Whether the fields are valid is left to who needs them."""
    entries: list[HeartbeatEntry] = []
    rest: list[str] = []
    for line in remove_comments(text).splitlines():
        found = _LINE.fullmatch(line) if _LOOKS_LIKE_CRON.match(line) else None
        if found is None or len(entries) >= MAX_ENTRIES:
            rest.append(line)
        else:
            entries.append(HeartbeatEntry(" ".join(found["cron"].split()), (found["task"] or DEFAULT_TASK).strip()))
    return HeartbeatFile(tuple(entries), "\n".join(rest).strip())


def build_heartbeat_text(entry: HeartbeatEntry, instructions: str) -> str:
    """Return the message of one run."""
    parts = [instructions, entry.task, f"If there is nothing to say, answer exactly {NO_OP_REPLY}."]
    return "\n\n".join(part for part in parts if part)


def is_no_op_reply(text: str) -> bool:
    """Return whether a reply is only the no-op token, whatever marks stand around it."""
    return text.strip(_SURROUNDING) == NO_OP_REPLY

"""Risk of a tool of an MCP server: medium if it is known that it only reads, else high. Pure."""

from collections.abc import Mapping, Sequence
from fnmatch import fnmatchcase

from sophon.risk import Risk


def choose_risk(name: str, annotations: Mapping[str, object] | None, read_only: Sequence[str]) -> Risk:
    """Return the risk of the tool with this name at the server.

    Medium needs `readOnlyHint` of the server, or a pattern with `*` in `read_only`, the owner's list. A
    `destructiveHint` that is set to anything but false makes it high whatever else is said; `destructiveHint: false`
    alone says only that the tool adds, which a payment and a mail do too.
    """
    marks = annotations or {}
    destructive = marks.get("destructiveHint")
    if destructive is not None and destructive is not False:
        return Risk.HIGH
    is_known = marks.get("readOnlyHint") is True or any(fnmatchcase(name, pattern) for pattern in read_only)
    return Risk.MEDIUM if is_known else Risk.HIGH

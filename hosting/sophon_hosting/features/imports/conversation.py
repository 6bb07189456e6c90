"""Conversations as parsers of exports return them, and what the parsers share.

A file may be hostile: no function takes more time than in proportion to its text.
"""

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import field
from datetime import UTC, datetime
from typing import Any, Final, Literal, TypeAlias, cast

from sophon._python.lazy_dataclass import dataclass, new_list
from sophon.messages import Message
from sophon.stores.sessions.contract import SessionRecord

Source: TypeAlias = Literal["sophon", "chatgpt", "claude"]

MAX_TITLE_CHARACTERS: Final = 200

_BACKTICKS: Final = re.compile("`+")


class UnreadableConversation(ValueError):
    """Error: a conversation of an export does not have the form that exports have; the text says what is wrong."""


@dataclass(frozen=True, slots=True)
class Conversation:
    """One conversation of an export. `source_id` is its id there: the same in each export of it."""

    source: Source
    source_id: str
    title: str
    created_at: datetime | None
    updated_at: datetime | None
    records: Sequence[SessionRecord]
    model: str | None = None
    planning: str | None = None
    pinned: bool = False
    archived: bool = False


@dataclass(frozen=True, slots=True)
class Unreadable:
    """A conversation that cannot be imported, by its title, or its place in the file if it has none."""

    title: str
    reason: str


@dataclass(slots=True)
class Transcript:
    """Collects the messages of a conversation. Consecutive ones of the same author are joined to one message."""

    _messages: list[tuple[Literal["user", "assistant"], list[str], datetime | None]] = field(default_factory=new_list)

    def add(self, role: Literal["user", "assistant"], parts: Iterable[str], at: datetime | None) -> None:
        """Add a message, unless it has no text."""
        texts = [each for each in (clean_text(part).strip() for part in parts) if each]
        if not texts:
            return
        if self._messages and self._messages[-1][0] == role:
            self._messages[-1][1].extend(texts)
        else:
            self._messages.append((role, texts, at))

    def build_records(self) -> list[SessionRecord]:
        """Return the messages in their order."""
        return [
            SessionRecord("message", "", Message(role, "\n\n".join(texts)), at=at) for role, texts, at in self._messages
        ]


def clean_text(text: str) -> str:
    """Return a text without what a store cannot hold: null characters and lone surrogates."""
    return text.replace("\0", "").encode("utf-8", "replace").decode()


def clean_title(title: object) -> str:
    """Return a title in one line; "" for anything but a text."""
    text = " ".join(clean_text(title).split()) if isinstance(title, str) else ""
    return text[:MAX_TITLE_CHARACTERS].rstrip()


def fence(text: str, language: str = "") -> str:
    """Return a text as a block of code, with a fence longer than any in the text."""
    mark = "`" * max(3, 1 + max(map(len, _BACKTICKS.findall(text)), default=0))
    return f"{mark}{language if language.isalnum() else ''}\n{text.rstrip()}\n{mark}"


def mention_file(name: object) -> str:
    """Return the line that names a file whose content is not in the export."""
    return f"[file: {clean_title(name) or 'without a name'}]"


def time_from_seconds(value: object) -> datetime | None:
    """Return the time of seconds since 1970; None for anything that is no such number."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        return None
    try:
        return datetime.fromtimestamp(value, UTC)
    except (OverflowError, OSError, ValueError):
        return None


def time_from_text(value: object) -> datetime | None:
    """Return the time of an ISO 8601 text, in UTC unless it has a zone; None for anything else."""
    if not isinstance(value, str):
        return None
    try:
        at = datetime.fromisoformat(value)
        return at.replace(tzinfo=UTC) if at.tzinfo is None else at.astimezone(UTC)
    except (OverflowError, ValueError):
        return None


def get_mapping(item: object) -> Mapping[str, Any]:
    """Return a JSON object; an empty one for anything else."""
    return cast("Mapping[str, Any]", item) if isinstance(item, dict) else {}


def get_items(item: object) -> Sequence[Any]:
    """Return a JSON array; an empty one for anything else."""
    return cast("Sequence[Any]", item) if isinstance(item, list) else ()

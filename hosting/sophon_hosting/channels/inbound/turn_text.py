"""Text of a message for its turn: the sender's own words bare, everything that others wrote inside a fence.

A fence has a nonce that nobody can guess, and tags in its text are escaped (`sophon.tools.untrusted_text`): forwarded
text can neither close its fence nor imitate the notes or the sender.
"""

from collections.abc import Callable

from sophon.tools.untrusted_text import fence_text
from sophon_channels.contract import InboundMessage
from sophon_channels.text.single_line import to_single_line
from sophon_hosting.runs.own_text import FORWARDED_MESSAGE, GROUP_HISTORY, QUOTED_MESSAGE

NO_TEXT = "(a file without text)"
"""Text of a message that consists of files only."""
LATE_NOTE = "(written {at:%Y-%m-%d %H:%M} UTC, delivered late)"
"""First line of a message that was delivered late."""
FORWARDED_NOTE = "(forwarded message)"
"""First line of a message that somebody else wrote."""
EDITED_NOTE = "(the sender has edited an earlier message; this is its text now)"
"""First line of the new version of a message that was read before."""
MAX_QUOTATION_CHARACTERS = 2_000
"""Characters of a quoted message that reach the model; the rest is left out, with a mark."""
UNREADABLE_NOTE = "(with {kind}, which cannot be read here)"
"""Line of a message with further content that cannot be read."""


def build_turn_text(message: InboundMessage, new_nonce: Callable[[], str], history: str = "") -> str:
    """Return the text of the turn: history of the group, quotation, notes, the message, what was shared with it.

    `new_nonce` returns a new nonce for each fence.
    """
    own = message.text.strip()
    lines = [_fence(GROUP_HISTORY, history, "", new_nonce)] if history else []
    lines += _quotation_lines(message, new_nonce)
    lines += [EDITED_NOTE] if message.is_edited else []
    lines += [FORWARDED_NOTE] if message.is_forwarded else []
    lines += [LATE_NOTE.format(at=message.sent_at)] if message.is_late else []
    if own and message.is_forwarded:
        lines.append(_fence(FORWARDED_MESSAGE, own, message.forwarded_from, new_nonce))
    elif own:
        lines.append(own)
    lines += [_fence(each.kind, each.text, each.author, new_nonce) for each in message.shared]
    lines += [UNREADABLE_NOTE.format(kind=message.unreadable)] if message.unreadable else []
    if message.attachments and not own and not message.shared:
        lines.append(NO_TEXT)
    return "\n".join(lines)


def find_foreign_sources(message: InboundMessage, history: str = "") -> list[str]:
    """Return the kinds of text in the message that its sender did not write, each once. Pure."""
    sources = [GROUP_HISTORY] if history else []
    sources += [FORWARDED_MESSAGE] if message.is_forwarded else []
    sources += [QUOTED_MESSAGE] if message.quoted_text and message.is_quote_foreign else []
    return list(dict.fromkeys([*sources, *(each.kind for each in message.shared)]))


def _quotation_lines(message: InboundMessage, new_nonce: Callable[[], str]) -> list[str]:
    if not message.quoted_text.strip():
        return []
    quoted = shorten_quotation(message.quoted_text)
    if message.is_quote_foreign:
        return [_fence(QUOTED_MESSAGE, quoted, message.quoted_author, new_nonce)]
    return [f"> {line}" for line in quoted.splitlines()]


def shorten_quotation(text: str) -> str:
    """Return at most `MAX_QUOTATION_CHARACTERS` of a quoted text, with a mark if it was longer. Pure."""
    if len(text) <= MAX_QUOTATION_CHARACTERS:
        return text
    return f"{text[:MAX_QUOTATION_CHARACTERS]}\n[... {len(text) - MAX_QUOTATION_CHARACTERS:,} more characters]"


def _fence(kind: str, text: str, author: str, new_nonce: Callable[[], str]) -> str:
    """Return the fenced text; the author's name is chosen by its owner, and so it is inside."""
    name = to_single_line(author)
    return fence_text(f"From: {name}\n{text}" if name else text, kind, new_nonce())

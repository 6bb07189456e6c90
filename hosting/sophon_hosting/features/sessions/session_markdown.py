"""Export of a session as Markdown."""

import json
import re
from collections.abc import Iterable, Iterator

from sophon.attachments import describe_attachment
from sophon.messages import Message
from sophon.stores.sessions.contract import SessionRecord, SessionSummary
from sophon.tools.untrusted_text import unfence_text
from sophon_hosting.features.sessions.session_export import describe_outcome, drop_past_suspensions
from sophon_hosting.rendering.control_characters import escape_control_characters, to_single_line

ROLE_HEADINGS = {"user": "You", "assistant": "Agent", "system": "System"}
MAX_TITLE_CHARACTERS = 200

_TICKS = re.compile(r"`+")


def session_to_markdown(session: SessionSummary, records: Iterable[SessionRecord]) -> str:
    """Return a session as Markdown: a heading per message, tool calls and results as code, outcomes of failed turns.

    The text of messages is not escaped; it may be Markdown itself.
    """
    title = to_single_line(session.shown_title or session.id, MAX_TITLE_CHARACTERS)
    parts = [f"# {title}", *(part for record in drop_past_suspensions(records) for part in _parts(record))]
    return "\n\n".join(parts) + "\n"


def code_block(text: str, language: str = "") -> str:
    """Return a fenced code block, with a fence longer than any run of backticks in the text."""
    longest = max((len(ticks) for ticks in _TICKS.findall(text)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}{language}\n{text}\n{fence}"


def _parts(record: SessionRecord) -> Iterator[str]:
    message = record.message
    if record.kind == "compaction":
        yield f"*{record.data.get('covers')} earlier messages are summarised for the model.*"
    elif message is None:
        if record.data.get("shown"):
            yield f"## {ROLE_HEADINGS['assistant']}"
            yield escape_control_characters(str(record.data["shown"]))
        outcome = describe_outcome(record)
        yield f"*{outcome[0].upper()}{outcome[1:]}*"
    elif message.role == "tool":
        yield code_block(escape_control_characters(unfence_text(message.content)))
    else:
        yield from _message_parts(message)


def _message_parts(message: Message) -> Iterator[str]:
    if message.reasoning is not None and message.reasoning.text.strip():
        yield "Reasoning:"
        yield code_block(escape_control_characters(message.reasoning.text))
    if message.content or message.attachments:
        yield f"## {ROLE_HEADINGS[message.role]}"
    if message.content:
        yield escape_control_characters(message.content)
    if message.attachments:
        names = (f"- `{to_single_line(describe_attachment(each)).replace('`', '_')}`" for each in message.attachments)
        yield "\n".join(("Files:", "", *names))
    for call in message.tool_calls:
        yield f"Calls `{call.name}`:"
        yield code_block(json.dumps(dict(call.arguments), ensure_ascii=False, indent=2), "json")

"""Provenance: which untrusted texts a turn has read, itself or in earlier turns of its session.

Whatever a model writes after it has read such a text may come from it. A plan step's messages are not stored, so the
sources that a turn read are part of its tally, which steps share, and of the session record of its answer.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Final
from urllib.parse import urlsplit

from sophon.context.context import Context
from sophon.context.state import TurnState
from sophon.errors import NotFound
from sophon.goal_autonomy import GOAL_AUTONOMY
from sophon.messages import Message, ToolCall
from sophon.scheduled_turns import SCHEDULE
from sophon.security.information_flow.taint import UNTAINTED
from sophon.stores.data_labels.contract import session_key
from sophon.tools.untrusted_text import ATTACHED_FILE, find_fence_sources, remove_fenced

SOURCES_FIELD = "untrusted_sources"
"""Key, in the data of a session record, of the sources that its turn read."""

MAX_SOURCES = 20
"""Sources that are noted for one turn or memory entry; further ones change nothing about its trust."""

MAX_SOURCE_CHARACTERS = 200

UNKNOWN_SOURCE = "unknown"

CLIENT_SOURCE = "arguments of a client's tool call"
"""Source of a turn that is one tool call of a client: who made up the arguments, and from what, no host knows."""

PROGRAM_CHANNELS: Final = frozenset({"schedule", "heartbeat", "goal", "agent", "webhook"})
"""Channels of turns that the program itself or another program starts."""


def is_of_program(ctx: Context) -> bool:
    """Return whether a schedule, a goal, an agent or another program started the turn, and no person."""
    root = ctx.root
    return root.channel in PROGRAM_CHANNELS or root.get(SCHEDULE) is not None or root.get(GOAL_AUTONOMY) is not None


def describe_source(call: ToolCall) -> str:
    """Return the tool's name, followed by the call's `url` or `path`: a URL without credentials, query and fragment."""
    for argument in ("url", "path"):
        value = call.arguments.get(argument)
        if isinstance(value, str) and value:
            where = _strip_url(value) if argument == "url" else value
            return " ".join(f"{call.name} {where}".split())[:MAX_SOURCE_CHARACTERS]
    return call.name


def note_untrusted_source(turn: TurnState, source: str) -> None:
    """Note that the turn has read an untrusted text; the turn and all its plan steps share the note."""
    sources = turn.tally.untrusted_sources
    if source not in sources and len(sources) < MAX_SOURCES:
        sources.append(source)


def note_fenced_result(turn: TurnState, call: ToolCall, text: str) -> None:
    """Note the call as a source if its result has a fence: a restored turn was stored before the call ran, and so
    without the note.
    """
    if find_fence_sources(text):
        note_untrusted_source(turn, describe_source(call))


def list_person_texts(ctx: Context) -> Iterator[str]:
    """Yield what people wrote in the session, without what they forwarded; in a plan step it is what the turn has."""
    for message in ctx.root.messages:
        if message.role == "user" and not message.origin:
            yield remove_fenced(message.content)


async def collect_untrusted_sources(ctx: Context) -> tuple[str, ...]:
    """Return the sources of all untrusted texts that may have influenced this turn, each once, at most `MAX_SOURCES`.

    They are those of the turn, of earlier turns of the session, and of fences and attachments in its messages, also in
    those that a compaction has replaced. Of a session that is only known to be untrusted, such as an imported one, the
    one source is `UNKNOWN_SOURCE`.
    """
    store = ctx.services.store
    try:
        records = await store.sessions.list_records(ctx.session_id)
    except NotFound:
        records = []
    earlier = (str(source) for record in records for source in record.data.get(SOURCES_FIELD, ()))
    found = dict.fromkeys([*ctx.tally.untrusted_sources, *earlier])
    if not found:
        stored = [record.message for record in records if record.message is not None]
        found = dict.fromkeys(
            source for each in (*list_seen_messages(ctx), *stored) for source in list_message_sources(each)
        )
    if not found:
        key = session_key(ctx.session_id)
        taint = (await store.data_labels.find([key])).get(key, UNTAINTED).merge(ctx.tally.taint)
        found = dict.fromkeys([UNKNOWN_SOURCE] if taint.is_untrusted else [])
    return tuple(found)[:MAX_SOURCES]


def has_read_untrusted(ctx: Context) -> bool:
    """Return whether the turn, or the conversation that its model sees, has read untrusted text.

    The store knows more of earlier turns: see `collect_untrusted_sources`.
    """
    if ctx.tally.taint.is_untrusted or ctx.tally.untrusted_sources:
        return True
    return any(list_message_sources(message) for message in list_seen_messages(ctx))


def list_seen_messages(ctx: Context) -> Sequence[Message]:
    """Return the messages of the turn, and of the plan step or sub-agent that `ctx` is of it."""
    return ctx.messages if ctx.root is ctx else (*ctx.root.messages, *ctx.messages)


def list_message_sources(message: Message) -> list[str]:
    """Return the sources of the untrusted texts in a message: its fences, files and images."""
    names = [*(file.name for file in message.attachments), *(image.name for image in message.images)]
    return [*find_fence_sources(message.content), *(f"{ATTACHED_FILE} {name or 'image'}" for name in names)]


def is_call_of_client(ctx: Context, sources: Iterable[str]) -> bool:
    """Return whether the turn is a tool call of a client, and its arguments are all of `sources`."""
    return CLIENT_SOURCE in ctx.tally.untrusted_sources and set(sources) == {CLIENT_SOURCE}


def _strip_url(url: str) -> str:
    try:
        parts = urlsplit(url)
        return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}"
    except ValueError:
        return "(an invalid URL)"

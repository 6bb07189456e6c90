"""Session summary: a memory entry that says what a session was about, so that a search reaches past sessions."""

from collections.abc import Sequence

from sophon.services import Services
from sophon.stores.memories.contract import MemoryEntry
from sophon_hosting.runs.data_owner_and_chat_overrides import audience_of_run
from sophon_hosting.runs.own_text import holds_words_of_others, own_text_of_run
from sophon_hosting.store.contract import host_store
from sophon_hosting.store.runs.contract import Run

FIRST_AT = 3
"""Answers of a session after which it is summarised; then each time their number has doubled."""

MAX_RUNS = 24
TOPIC_CHARACTERS = 120


async def summarize_session(services: Services, run: Run, title: str) -> None:
    """Store the summary of the session of a run if it is due, and nothing otherwise. No model is asked.

    The entry is deleted with the session. Raises StoreError.
    """
    found = await host_store(services).runs.list(session_id=run.session_id, limit=MAX_RUNS, whole=False)
    if not is_due(len(found)):
        return
    audience = audience_of_run(run)
    if any(holds_words_of_others(each) for each in found):
        title = ""  # a model made it of the whole message, with what was quoted or forwarded in it
    entry = MemoryEntry(
        id=f"session:{run.session_id}",
        text=build_summary(title, [own_text_of_run(each) for each in reversed(found)]),
        category="summary",
        scope=audience.data_owner or "user",
        origin=f"{run.channel}/{run.session_id}",
        created_at=services.clock.now(),
        sources=(),  # of the person's own messages only
        session_id=run.session_id,
    )
    await services.memory.write(entry)


def is_due(count: int) -> bool:
    """Return whether a session of so many messages is summarised: after 3, 6, 12 and 24."""
    return count in {FIRST_AT << doubling for doubling in range(4)}


def build_summary(title: str, texts: Sequence[str]) -> str:
    """Return one line: the title, and the beginning of each message."""
    topics = [" ".join(text.split())[:TOPIC_CHARACTERS] for text in texts]
    return f"Past conversation{f' {title!r}' if title else ''}: {'; '.join(each for each in topics if each)}"

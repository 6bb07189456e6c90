"""Pending events: a queue in which successive chunks of a text become one."""

import pytest

from sophon.events import Event, ReasoningChunk, StreamChunk, StreamReset
from sophon_hosting.events.pending_events import EventBatch, PendingEvents
from sophon_hosting.events.wire_event import to_logged_event


def chunk(text: str, *, task: str = "t", epoch: int = 0) -> StreamChunk:
    event = StreamChunk(epoch=epoch, text=text)
    event.session_id, event.task_id, event.run_id = "s", task, task
    return event


def reasoning(text: str, offset: int, reasoning_id: str = "r") -> ReasoningChunk:
    event = ReasoningChunk(reasoning_id=reasoning_id, text=text, offset=offset)
    event.session_id, event.task_id, event.run_id = "s", "t", "t"
    return event


def begin_batch(pending: PendingEvents) -> EventBatch:
    return pending.begin_batch(to_logged_event, lambda event: True)


def push(pending: PendingEvents, *events: Event) -> None:
    for event in events:
        if not pending.merge(event):
            pending.append(event, to_logged_event(event) if event.durable else None)


def drain(pending: PendingEvents) -> list[str]:
    return [str(getattr(pending.popleft(), "text", "-")) for _ in range(len(pending.events))]


@pytest.mark.parametrize(
    ("events", "texts"),
    [
        ([chunk("a"), chunk("b"), chunk("c")], ["abc"]),
        ([chunk("a"), chunk("b", epoch=1), chunk("c", epoch=1)], ["a", "bc"]),
        ([chunk("a"), chunk("b", task="u")], ["a", "b"]),
        ([chunk("a"), chunk("b"), StreamReset(epoch=0, reason="retried"), chunk("c"), chunk("d")], ["ab", "-", "cd"]),
        ([reasoning("ab", 0), reasoning("c", 2), reasoning("d", 3), reasoning("x", 9)], ["abcd", "x"]),
        ([reasoning("a", 0), reasoning("b", 1, "other"), chunk("c")], ["a", "b", "c"]),
    ],
)
def test_chunks_of_one_text_become_one_and_no_others(events: list[Event], texts: list[str]) -> None:
    pending = PendingEvents()
    push(pending, *events)
    assert [str(getattr(event, "text", "-")) for event, _ in begin_batch(pending).pending] == texts
    assert drain(pending) == texts


def test_a_chunk_that_comes_after_the_text_was_read_is_merged_too() -> None:
    pending = PendingEvents()
    push(pending, StreamReset(epoch=0, reason="retried"), chunk("a"), chunk("b"))
    assert [row for _, row in begin_batch(pending).pending] == [None, None]
    push(pending, chunk("c"))
    assert drain(pending) == ["-", "abc"]


def test_a_cleared_queue_forgets_what_was_merged() -> None:
    pending = PendingEvents()
    push(pending, chunk("a"), chunk("b"))
    pending.clear()
    push(pending, chunk("c"))
    assert drain(pending) == ["c"]


class Text(str):
    """A text that counts the characters that are copied when it is appended to another one."""

    copied = 0

    def __radd__(self, other: str) -> str:
        Text.copied += len(other) + len(self)
        return str.__add__(other, self)


def test_merging_copies_no_text_at_each_chunk() -> None:
    pending = PendingEvents()
    Text.copied = 0
    for _ in range(10_000):
        push(pending, chunk(Text("four")))
    assert Text.copied <= 40_000
    assert drain(pending) == ["four" * 10_000]

"""Cutting of payloads: the bound holds for any payload, and nothing of it is lost."""

import json

from hypothesis import given, settings
from hypothesis import strategies as st

from sophon.events import Event, Message, ReasoningChunk, StreamChunk, TaskCompleted, TaskStarted
from sophon.messages import Usage
from sophon.stores.contract import Store
from sophon.testing import VirtualClock
from sophon_hosting.client_api.scoped_session_ids import to_client_event, to_scoped_session_id
from sophon_hosting.events.event_bus import EventBus
from sophon_hosting.events.large_fields import MAX_FIELD_BYTES, cut_payload, referenced_text_id, text_id_from_url
from sophon_hosting.events.stream_snapshots import CHUNK_CHARACTERS, MAX_INLINE_BYTES, chunk_to_wire_events
from sophon_hosting.events.wire_event import WireEvent
from sophon_hosting.json_text import json_bytes
from sophon_hosting.store.runs.contract import Run
from tests.properties import examples


def of(event: Event) -> Event:
    event.session_id, event.task_id, event.run_id = "s", "t", "t"
    return event


PIECES = st.text(st.characters(codec=None), min_size=1, max_size=20)
TEXTS = st.builds(lambda piece, times: piece * times, PIECES, st.sampled_from([1, 300, 2_000, 9_000]))
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | TEXTS,
    lambda inner: st.lists(inner, max_size=40) | st.dictionaries(TEXTS, inner, max_size=40),
    max_leaves=60,
)
PAYLOADS = st.dictionaries(st.sampled_from(["text", "arguments", "plan", "result"]), VALUES)


@settings(max_examples=examples(15))  # the payloads are large
@given(PAYLOADS)
def test_every_field_is_bounded_and_the_whole_is_among_the_texts(payload) -> None:
    cut = cut_payload(payload, "s")
    for name, value in payload.items():
        assert json_bytes(cut.data[name]) <= MAX_FIELD_BYTES
        assert isinstance(value, str | dict | list) == isinstance(cut.data[name], str | dict | list)
        text_id = referenced_text_id(cut.data, name)
        if not text_id:
            assert cut.data[name] == value
        elif cut.data["large"][name].get("json"):
            assert json.loads(cut.texts[text_id]) == value
        else:
            assert cut.texts[text_id] == value
            assert value.startswith(cut.data[name])


@settings(max_examples=examples(15))
@given(PAYLOADS)
def test_what_was_cut_is_not_cut_again(payload) -> None:
    cut = cut_payload(payload, "s").data
    assert cut_payload(cut, "s").data is cut


def test_a_small_payload_is_not_even_copied() -> None:
    payload = {"text": "hello", "arguments": {"a": [1, 2]}}
    assert cut_payload(payload, "s").data is payload


@given(TEXTS, st.integers(0, 9))
def test_the_chunks_of_a_text_are_bounded_and_join_to_it(text: str, offset: int) -> None:
    events = chunk_to_wire_events(StreamChunk(epoch=1, text=text, offset=offset))
    if "large" not in events[0].data:
        assert "".join(event.data["text"] for event in events) == text
        assert events[0].data["offset"] == offset
        assert max(len(event.data["text"]) for event in events) <= CHUNK_CHARACTERS
    assert sum(json_bytes(event.data) for event in events) <= MAX_INLINE_BYTES * 2


def test_a_very_large_chunk_says_where_its_text_is() -> None:
    text = "x" * 300_000
    (event,) = chunk_to_wire_events(StreamChunk(epoch=2, text=text, offset=7, task_id="t/1"))
    reference = {"url": "/api/tasks/t%2F1/stream?epoch=2&start=7&end=300007", "characters": 300_000, "bytes": 300_000}
    assert event.data["large"] == {"text": reference}
    assert event.whole["text"] == text


def test_reasoning_is_never_cut() -> None:
    events = chunk_to_wire_events(ReasoningChunk(reasoning_id="r", text="x" * 300_000))
    assert sum(len(event.data["text"]) for event in events) == 300_000


async def test_the_log_holds_the_beginning_and_a_listener_in_the_process_the_whole(
    feed: EventBus, store: Store, ear
) -> None:
    text = "é" * 100_000
    await feed.join_session("s", 0, ear)
    feed.emit(of(TaskCompleted(text=text, finish_reason="stop", usage=Usage(), duration_ms=1)))
    await feed.flush("s")

    (row,) = await store.events.list_after("s", 0)
    assert (row.data["text"], row.data["large"]["text"]["bytes"]) == (text[:4000], 200_000)
    assert (ear.frames[0].data["text"], ear.frames[0].whole["text"]) == (text[:4000], text)
    assert await store.texts.get("s", referenced_text_id(row.data, "text")) == text


async def test_a_large_message_is_heard_once_although_a_restarted_turn_emits_it_again(
    store: Store, clock: VirtualClock, ear
) -> None:
    from_log = EventBus(store.events, store.runs, clock)
    first = EventBus(store.events, store.runs, clock)
    text = "x" * 100_000
    first.emit(of(TaskStarted()))
    first.emit(of(Message(message_id="t:1", role="assistant", content=text)))
    await first.flush("s")
    await from_log.load_run_events(Run(id="t", session_id="s"))
    await from_log.join_session("s", 2, ear)
    from_log.emit(of(Message(message_id="t:1", role="assistant", content=text)))
    await from_log.flush("s")
    assert ear.frames == []


def test_a_reference_names_the_session_as_its_user_knows_it() -> None:
    stored = to_scoped_session_id("s", "ada")
    cut = cut_payload({"text": "x" * 100_000, "session_id": stored}, stored)
    event = to_client_event(WireEvent("task_completed", cut.data, stored), "ada")
    url = event.data["large"]["text"]["url"]
    assert url == f"/api/sessions/s/texts/{text_id_from_url(url)}"

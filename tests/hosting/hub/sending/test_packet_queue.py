"""What waits for a slow client: nothing is lost or put in another order, and pieces of a reply become one."""

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from sophon_hosting.events.wire_event import WireEvent
from sophon_hosting.hub.sending.event_encoding import EncodedEvent
from sophon_hosting.hub.sending.packet_queue import MAX_MERGED_CHARACTERS, PacketQueue, TextPacket
from sophon_hosting.hub.sending.total_send_limit import SendLimit


def chunk(text: str, task: str = "t", epoch: int = 0) -> EncodedEvent:
    data = {"session_id": "s", "task_id": task, "run_id": task, "epoch": epoch, "offset": 0, "text": text}
    return EncodedEvent(WireEvent("stream_chunk", data, "s", task), str)


def event(name: str) -> EncodedEvent:
    return EncodedEvent(WireEvent(name, {"task_id": "t"}, "s", "t", 1), str)


def sent(waiting: PacketQueue) -> list[Any]:
    parcels = waiting.pop_batch(len(waiting), waiting.size)
    return [json.loads(str(parcel.engine_message(str))[1:]) for parcel in parcels]


def filled(*parcels: EncodedEvent | TextPacket) -> PacketQueue:
    waiting = PacketQueue(SendLimit(2**40))
    for parcel in parcels:
        if isinstance(parcel, TextPacket):
            waiting.append(parcel)
        else:
            waiting.append_event(parcel, "/")
    return waiting


def test_a_piece_that_became_long_takes_up_no_more() -> None:
    told = sent(filled(*(chunk("x" * 1000) for _ in range(100))))
    assert all(len(data["text"]) <= MAX_MERGED_CHARACTERS for _, data in told)
    assert sum(len(data["text"]) for _, data in told) == 100_000


def test_many_short_pieces_take_up_little_more_than_their_text() -> None:
    waiting = filled(*(chunk("ab ") for _ in range(10_000)))
    assert waiting.size < 2 * 30_000


def test_what_is_written_in_wide_letters_is_counted_as_it_is_kept() -> None:
    assert filled(TextPacket("\N{GRINNING FACE}" * 1000)).size > 4000


PARCELS = st.lists(
    st.one_of(
        st.builds(chunk, st.text(max_size=9), st.sampled_from("tu"), st.integers(0, 1)),
        st.builds(event, st.sampled_from(["message", "agent_status"])),
        st.builds(TextPacket, st.just('3["an answer"]')),
    ),
    max_size=30,
)


@given(PARCELS, st.integers(1, 10), st.integers(1, 500))
def test_all_text_arrives_in_order_however_it_is_taken(parcels: list[Any], packets: int, size: int) -> None:
    waiting = filled(*parcels)
    taken: list[Any] = []
    while batch := waiting.pop_batch(packets, size):
        taken += [json.loads(str(parcel.engine_message(str))[1:]) for parcel in batch]
    alone = [each for parcel in parcels for each in sent(filled(parcel))]
    assert waiting.size == 0
    assert texts(taken) == texts(alone)


def texts(told: list[Any]) -> list[Any]:
    """Everything but pieces as it is, and of the pieces between them all text by reply."""
    read: list[Any] = []
    for each in told:
        if each[0] != "stream_chunk":
            read.append(each)
        elif read and isinstance(read[-1], tuple) and read[-1][0] == (each[1]["task_id"], each[1]["epoch"]):
            read[-1] = (read[-1][0], read[-1][1] + each[1]["text"])
        else:
            read.append(((each[1]["task_id"], each[1]["epoch"]), each[1]["text"]))
    return read

"""The buffer of messages that wait for the server."""

from sophon_hosting.fanout.connected_fanout import MAX_BYTES, OutgoingMessages
from sophon_hosting.fanout.host_messages import SessionAdvanced, StreamedText, Wake, decode_frame, split_message


def decoded(outgoing: OutgoingMessages) -> list[tuple[str | None, list[object]]]:
    found: list[tuple[str | None, list[object]]] = []
    for topic, payload in outgoing.take_frames():
        frame = decode_frame(payload)
        assert frame is not None
        found.append((topic, list(frame.messages)))
    return found


def test_messages_to_one_topic_share_a_frame() -> None:
    outgoing = OutgoingMessages("h", 1000)
    for number in range(5):
        outgoing.add(SessionAdvanced("s", number))
        outgoing.add(SessionAdvanced("other", number))
    frames = decoded(outgoing)
    assert frames == [(each, [SessionAdvanced(each, number) for number in range(5)]) for each in ("s", "other")]
    assert len(outgoing) == 0


def test_a_message_to_all_hosts_does_not_overtake() -> None:
    outgoing = OutgoingMessages("h", 1000)
    messages = [SessionAdvanced("s", 1), Wake("a"), SessionAdvanced("s", 2)]
    for message in messages:
        outgoing.add(message)
    assert [each for _, frame in decoded(outgoing) for each in frame] == messages


def test_no_frame_is_larger_than_the_server_takes() -> None:
    outgoing = OutgoingMessages("h", 300)
    for number in range(100):
        outgoing.add(Wake(str(number)))
    outgoing.add(StreamedText("s", "t", "r", 1, 1, 0, "ä" * 1000))
    frames = outgoing.take_frames()
    assert max(len(payload) for _, payload in frames) <= 300
    assert len(frames) > 10


def test_the_oldest_are_dropped_by_their_bytes() -> None:
    outgoing = OutgoingMessages("h", 2 * 1024 * 1024)
    large = "x" * 1024 * 1024
    assert [outgoing.add(Wake(large)) for _ in range(MAX_BYTES // len(large))][-1] == 1
    assert outgoing.add(Wake("x" * 3 * 1024 * 1024)) == 1  # itself
    assert len(outgoing) == MAX_BYTES // len(large) - 1


def test_what_cannot_be_divided_has_no_pieces() -> None:
    assert split_message(Wake("x" * 100), 50) == []
    assert split_message(StreamedText("s" * 100, "t", "r", 1, 1, 0, "ab"), 50) == []

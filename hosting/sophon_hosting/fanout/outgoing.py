"""Outgoing buffer of a fan-out: bounded in number and bytes; the oldest messages are dropped."""

from collections import deque

from sophon_hosting.fanout.messages import (
    HostMessage,
    encode_frame,
    encode_message,
    frame_overhead,
    split_message,
    topic_of,
)

MAX_MESSAGES = 10_000
MAX_BYTES = 16 * 1024 * 1024
"""Number and size of the messages that wait for the server."""

MAX_FRAMES_AT_ONCE = 200


class OutgoingMessages:
    """FIFO buffer of encoded messages, which leaves it as frames of messages to the same topic."""

    def __init__(self, host_id: str, max_payload_bytes: int) -> None:
        self._host_id = host_id
        self._max_payload_bytes = max_payload_bytes
        self._max_message_bytes = max_payload_bytes - frame_overhead(host_id)
        self._messages: deque[tuple[str | None, bytes]] = deque()
        self._bytes = 0

    def add(self, message: HostMessage) -> int:
        """Add a message; return how many messages were dropped, this one included if it is too large."""
        topic = topic_of(message)
        pieces = split_message(message, self._max_message_bytes)
        for piece in pieces:
            encoded = encode_message(piece)
            self._messages.append((topic, encoded))
            self._bytes += len(encoded)
        dropped = 0 if pieces else 1
        while len(self._messages) > MAX_MESSAGES or self._bytes > MAX_BYTES:
            self._bytes -= len(self._messages.popleft()[1])
            dropped += 1
        return dropped

    def take_frames(self) -> list[tuple[str | None, bytes]]:
        """Remove the oldest messages and return them as topics and frames, in order within each topic.

        Messages to one topic share frames, so a burst costs the server and the other hosts little. A message to all
        hosts never overtakes an earlier one of a session, nor the other way round.
        """
        frames: list[tuple[str | None, bytes]] = []
        open_frames: dict[str | None, list[bytes]] = {}
        sizes: dict[str | None, int] = {}

        def close(topic: str | None) -> None:
            frames.append((topic, encode_frame(self._host_id, open_frames.pop(topic))))
            del sizes[topic]

        while self._messages and len(frames) + len(open_frames) < MAX_FRAMES_AT_ONCE:
            topic, encoded = self._messages.popleft()
            self._bytes -= len(encoded)
            for other in [each for each in open_frames if (each is None) != (topic is None)]:
                close(other)
            size = sizes.get(topic, frame_overhead(self._host_id)) + len(encoded) + 1
            if topic in open_frames and size > self._max_payload_bytes:
                close(topic)
                size = frame_overhead(self._host_id) + len(encoded) + 1
            open_frames.setdefault(topic, []).append(encoded)
            sizes[topic] = size
        for topic in list(open_frames):
            close(topic)
        return frames

    def __len__(self) -> int:
        return len(self._messages)

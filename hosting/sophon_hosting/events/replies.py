"""The replies that are being streamed: all text of their epoch so far, for those who join in the middle."""

from dataclasses import dataclass, field

from sophon.events import Event, StreamChunk, StreamReset
from sophon_hosting.events.frame import Frame, frame_of

REJOINED = "you joined in the middle; this is the text so far"


@dataclass(slots=True)
class Reply:
    """The pieces of the newest epoch; `length` is in characters."""

    epoch: int
    run_id: str
    pieces: list[str] = field(default_factory=lambda: [])
    length: int = 0


class Replies:
    """By task. Each chunk is told where in the text of its epoch it stands."""

    def __init__(self) -> None:
        self._replies: dict[str, Reply] = {}

    def hear(self, event: Event) -> None:
        """Take note of a chunk, whose offset is set here, and of a reset."""
        if isinstance(event, StreamChunk):
            reply = self._of(event.task_id, event.epoch, event.run_id)
            event.offset = reply.length
            reply.pieces.append(event.text)
            reply.length += len(event.text)
        elif isinstance(event, StreamReset):
            self._of(event.task_id, event.epoch, event.run_id)

    def end(self, task_id: str) -> None:
        """The task has its outcome, which carries the whole text."""
        self._replies.pop(task_id, None)

    def frames(self, session_id: str) -> list[Frame]:
        """What brings somebody who joins up to date: a reset, and all text of the epoch in one chunk."""
        frames: list[Frame] = []
        for task_id, reply in self._replies.items():
            if not reply.pieces:
                continue
            text = "".join(reply.pieces)
            reply.pieces = [text]
            reset = StreamReset(epoch=reply.epoch, reason=REJOINED)
            chunk = StreamChunk(epoch=reply.epoch, text=text)
            for event in (reset, chunk):
                event.session_id, event.task_id, event.run_id = session_id, task_id, reply.run_id
                frames.append(frame_of(event))
        return frames

    def __len__(self) -> int:
        return len(self._replies)

    def _of(self, task_id: str, epoch: int, run_id: str) -> Reply:
        reply = self._replies.get(task_id)
        if reply is None or reply.epoch != epoch:
            reply = self._replies[task_id] = Reply(epoch, run_id)
        return reply

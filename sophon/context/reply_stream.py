"""The streamed text of a turn: its epochs, resets, and the separators between the texts of its replies.

The chunks of one epoch are the turn's text so far: what the model wrote before its tool calls, and the current reply.
"""

from typing import Protocol

from sophon._python.joined_text import add_piece, join_texts, separator_after
from sophon.events.base import Event
from sophon.events.streaming import StreamChunk, StreamCompleted, StreamReset
from sophon.invisible_characters import is_blank
from sophon.messages import Message, collect_earlier_texts
from sophon.models.model import OnText


class StreamingTurn(Protocol):
    """The part of a context that streaming needs."""

    epoch: int
    streamed_chunks: list[str]
    messages: list[Message]
    has_listeners: bool
    is_stream_complete: bool

    def emit(self, event: Event, /) -> None:
        """Emit an event."""
        ...


def restart_stream(turn: StreamingTurn, reason: str) -> None:
    """Begin a new epoch: emit a reset, then the texts before tool calls, which a new reply does not replace."""
    turn.epoch += 1
    turn.streamed_chunks = []
    turn.is_stream_complete = False
    turn.emit(StreamReset(epoch=turn.epoch, reason=reason))
    earlier = join_texts(collect_earlier_texts(turn.messages))
    if earlier:
        turn.emit(StreamChunk(epoch=turn.epoch, text=earlier))


def build_stream_listener(turn: StreamingTurn) -> OnText:
    """Return a listener that emits the text of a streamed reply and records what was streamed.

    Blank text at the beginning waits for text, because a blank text is no part of the answer.
    """
    separator = separator_after(join_texts(collect_earlier_texts(turn.messages)))
    blanks: list[str] = []

    def on_text(text: str) -> None:
        nonlocal separator
        if not turn.streamed_chunks:
            blanks.append(text)
            if is_blank(text):
                return
            text = "".join(blanks)
        add_piece(turn.streamed_chunks, text)
        if turn.has_listeners:
            turn.emit(StreamChunk(epoch=turn.epoch, text=separator + text))
        separator = ""
        blanks.clear()

    return on_text


def complete_stream(turn: StreamingTurn, text: str) -> None:
    """Emit a final text that no model streamed as one chunk: its end if it continues the streamed reply, all of it
    after a reset if it replaces that; then announce the end of the stream, once.
    """
    streamed = "".join(turn.streamed_chunks)
    if text and streamed.strip() != text.strip():
        is_reply = bool(streamed) and turn.messages[-1].role == "assistant" and not turn.messages[-1].tool_calls
        begun = streamed.rstrip()  # models often end with white space, which a middleware takes away
        if is_reply and text.startswith(begun):
            turn.streamed_chunks = [streamed, text[len(begun) :]]
            turn.emit(StreamChunk(epoch=turn.epoch, text=turn.streamed_chunks[1]))
        else:
            if is_reply:
                restart_stream(turn, "the reply was replaced")
            build_stream_listener(turn)(text)
            turn.streamed_chunks = [text]
        turn.is_stream_complete = False
    if not turn.is_stream_complete and (length := len(shown_text(turn))):
        turn.is_stream_complete = True
        turn.emit(StreamCompleted(epoch=turn.epoch, length=length))


def shown_text(turn: StreamingTurn) -> str:
    """Return the text of an unfinished turn: the texts before tool calls, and the streamed part of the reply."""
    return join_texts([*collect_earlier_texts(turn.messages), "".join(turn.streamed_chunks)])

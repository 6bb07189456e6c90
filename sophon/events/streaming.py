"""Events of a reply and its reasoning while they are streamed."""

from typing import Annotated

from sophon._python.lazy_dataclass import dataclass
from sophon.events.base import Event
from sophon.events.visibility import Plain, Visibility


@dataclass(slots=True, kw_only=True)
class StreamChunk(Event):
    """A piece of the streamed reply; the concatenated pieces of one epoch are its text.

    `offset` is the position of the piece in that text, in characters; set by the host.
    """

    durable = False
    in_trace = False
    is_live = True

    epoch: int
    text: Annotated[str, Visibility.STREAMED]
    offset: int = 0


@dataclass(slots=True, kw_only=True)
class StreamReset(Event):
    """The streamed reply restarts: text of earlier epochs must be discarded."""

    durable = False
    in_trace = False
    is_live = True

    epoch: int
    reason: Plain


@dataclass(slots=True, kw_only=True)
class StreamCompleted(Event):
    """The last chunk of the streamed reply was sent; `length` is that of the epoch's text, in characters."""

    durable = False
    in_trace = False
    is_live = True

    epoch: int
    length: int


@dataclass(slots=True, kw_only=True)
class ReasoningChunk(Event):
    """A piece of the model's reasoning, which is no part of the reply; a piece with `offset` 0 begins it anew.

    `offset` is the position of the piece in the reasoning `reasoning_id`, in characters.
    """

    durable = False
    in_trace = False
    is_live = True

    reasoning_id: Plain
    text: str
    offset: int = 0


@dataclass(slots=True, kw_only=True)
class Reasoning(Event):
    """The model's reasoning about one reply, complete; replaces the chunks with the same `reasoning_id`.

    A reply that is made again has the same id. A long text is cut.
    """

    in_trace = False

    reasoning_id: Plain
    model: Plain
    text: str

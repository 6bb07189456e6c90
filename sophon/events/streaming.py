"""Events of a reply and its reasoning while they are streamed."""

from typing import ClassVar

from sophon._python.lazy_dataclass import dataclass
from sophon.events.base import Event


@dataclass(slots=True, kw_only=True)
class StreamChunk(Event):
    """A piece of the streamed reply; the concatenated pieces of one epoch are its text.

    `offset` is the position of the piece in that text, in characters; set by the host.
    """

    durable: ClassVar[bool] = False

    epoch: int
    text: str
    offset: int = 0


@dataclass(slots=True, kw_only=True)
class StreamReset(Event):
    """The streamed reply restarts: text of earlier epochs must be discarded."""

    durable: ClassVar[bool] = False

    epoch: int
    reason: str


@dataclass(slots=True, kw_only=True)
class StreamCompleted(Event):
    """The last chunk of the streamed reply was sent; `length` is that of the epoch's text, in characters."""

    durable: ClassVar[bool] = False

    epoch: int
    length: int


@dataclass(slots=True, kw_only=True)
class ReasoningChunk(Event):
    """A piece of the model's reasoning, which is no part of the reply; a piece with `offset` 0 begins it anew.

    `offset` is the position of the piece in the reasoning `reasoning_id`, in characters.
    """

    durable: ClassVar[bool] = False

    reasoning_id: str
    text: str
    offset: int = 0


@dataclass(slots=True, kw_only=True)
class Reasoning(Event):
    """The model's reasoning about one reply, complete; replaces the chunks with the same `reasoning_id`.

    A reply that is made again has the same id. A long text is cut.
    """

    reasoning_id: str
    model: str
    text: str

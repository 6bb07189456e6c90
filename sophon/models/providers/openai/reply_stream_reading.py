"""Reading of a streamed reply: the events of a response to an accumulator, and what they add to the listeners."""

from typing import TYPE_CHECKING, Protocol

from sophon.errors import ProviderUnavailable
from sophon.models.model import AttemptOutput, ModelRequest
from sophon.models.providers.http.endpoint import Endpoint
from sophon.models.providers.http.event_stream import EventStream
from sophon.models.providers.openai.reasoning import ReasoningAccumulator
from sophon.models.providers.openai.request import should_stream

if TYPE_CHECKING:
    from sophon.models.providers.http.response import HttpResponse


class HasReasoning(Protocol):
    """Accumulator whose reasoning is passed on."""

    @property
    def reasoning(self) -> ReasoningAccumulator:
        """The reasoning so far."""
        ...


class StreamEmitter:
    """Passes the text and the reasoning of a response on to the listeners of its request, if that streams them.

    Consecutive chunks are joined: `add` notes what a chunk has added, `flush` passes it on, in the order of arrival.
    """

    __slots__ = ("_on_reasoning", "_on_text", "_reasoning", "_texts")

    def __init__(self, request: ModelRequest, accumulator: HasReasoning) -> None:
        is_streamed = should_stream(request)
        self._on_text = request.on_text if is_streamed else None
        self._on_reasoning = request.on_reasoning if is_streamed else None
        self._reasoning = accumulator.reasoning
        self._texts: list[str] = []

    def add(self, text: str) -> None:
        """Note the text of the chunk that was added last, and its reasoning, which comes before the text."""
        if self._reasoning.has_new_text:
            if self._texts:
                self._emit_text()
            if text:
                self._emit_reasoning()
        if text:
            self._texts.append(text)

    def flush(self) -> None:
        """Pass on what has been noted."""
        if self._texts:
            self._emit_text()
        if self._reasoning.has_new_text:
            self._emit_reasoning()

    def _emit_text(self) -> None:
        text = "".join(self._texts)
        self._texts.clear()
        if self._on_text is not None:
            self._on_text(text)

    def _emit_reasoning(self) -> None:
        text = self._reasoning.take_new_text()
        if text and self._on_reasoning is not None:
            self._on_reasoning(text)


class ReplyAccumulator(Protocol):
    """Accumulator of one reply: takes the events of its stream."""

    @property
    def output(self) -> AttemptOutput:
        """Notes of the attempt."""
        ...

    @property
    def reasoning(self) -> ReasoningAccumulator:
        """The reasoning so far."""
        ...

    @property
    def is_ended(self) -> bool:
        """Whether the event that ends the stream has arrived."""
        ...

    def add_event(self, data: bytes) -> str:
        """Add an event; return the text in it, which is often empty."""
        ...


async def read_reply_stream(
    request: ModelRequest, response: "HttpResponse", events: EventStream, accumulator: ReplyAccumulator
) -> None:
    """Read a stream up to the event that ends it, or to its end; what comes before an error is passed on first."""
    accumulator.output.has_begun = True
    emitter = StreamEmitter(request, accumulator)
    while batch := await events.next_events():
        try:
            for event in batch:
                emitter.add(accumulator.add_event(event))
                if accumulator.is_ended:
                    break
        finally:
            emitter.flush()
        if accumulator.is_ended:
            await response.drain()
            return


def check_media_type(response: "HttpResponse", endpoint: Endpoint) -> None:
    """Check that the response is none of a web server. Raises ProviderUnavailable."""
    if response.media_type == "text/html":
        raise ProviderUnavailable(f"{endpoint.shown_url} answered with a web page; check BaseUrl")

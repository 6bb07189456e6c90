"""Reading of a streamed reply: the events of a response to an accumulator, and what they add to the listeners."""

from typing import TYPE_CHECKING, Protocol

from sophon.errors import ProviderUnavailable
from sophon.models.model import AttemptOutput, ModelRequest
from sophon.models.providers.http.endpoint import Endpoint
from sophon.models.providers.http.event_stream import EventStream
from sophon.models.providers.openai.reasoning import ReasoningAccumulator
from sophon.models.providers.openai.response import StreamEmitter

if TYPE_CHECKING:
    from sophon.models.providers.http.response import HttpResponse


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

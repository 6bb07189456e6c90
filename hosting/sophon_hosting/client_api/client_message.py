"""Message that a client sends to the agent."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from sophon.lazy_dataclass import dataclass

if TYPE_CHECKING:
    from sophon.images import Image
    from sophon.messages import ToolCall

MAX_CONTENT_CHARACTERS = 200_000
"""Maximum length of one message; longer texts belong in files."""

Mode: TypeAlias = Literal["normal", "otr"]
"""Mode of a message: `otr` is for conversations off the record."""


@dataclass(frozen=True, slots=True)
class ClientMessage:
    """Message from a client.

    `client_message_id` is the client's idempotency key: the same id yields the same task. `trace` is a trace id (32
    hexadecimal digits), `traceparent` the W3C header of the sender. `instructions` apply to this turn only and follow
    those of the host. `mode` must be that of the session. `metadata` may have `temperature`. `images` belong to the
    text. With `call` the turn is that tool call, and asks no model.
    """

    content: str
    session_id: str | None = None
    client_message_id: str | None = None
    stream: bool = True
    model: str | None = None
    planning: str | None = None
    max_iterations: int | None = None
    metadata: Mapping[str, Any] | None = None
    trace: str | None = None
    traceparent: str | None = None
    instructions: str | None = None
    mode: Mode = "normal"
    images: "Sequence[Image]" = ()
    call: "ToolCall | None" = None

"""Message that a client sends to the agent."""

from collections.abc import Mapping, Sequence
from dataclasses import field
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from sophon._python.lazy_dataclass import dataclass, new_dict

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
    those of the host. `mode` must be that of the session. `metadata` may have `temperature` and `tags`. `images` belong
    to the text, and so do `attachments`: ids of the user's uploaded files. With `call` the turn is that tool call, and
    asks no model. With `replaces`, the id of a task of the session, it takes the place of that task's message: it
    begins a branch of the session. `authorship` says what of the text others wrote, as `Run.origin` does.
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
    attachments: Sequence[str] | None = None
    call: "ToolCall | None" = None
    replaces: str | None = None
    authorship: Mapping[str, Any] = field(default_factory=new_dict)

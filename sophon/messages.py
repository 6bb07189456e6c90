"""Data types of a conversation: messages, tool calls, tool results, token usage and the response of a turn."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import field, replace
from typing import TYPE_CHECKING, Any, Final, Literal, Self, TypeAlias, cast, get_args

import orjson

from sophon._python.joined_text import join_texts
from sophon._python.lazy_dataclass import dataclass, new_dict, new_list, slotted_dataclass
from sophon.redaction_hook import redact

if TYPE_CHECKING:
    from sophon.attachments import Attachment
    from sophon.documents import Document
    from sophon.images import Image

Role: TypeAlias = Literal["system", "user", "assistant", "tool"]
ROLES: Final[tuple[str, ...]] = get_args(Role)
"""Author of a message."""

ToolCallOutcome: TypeAlias = Literal[
    "completed", "failed", "denied", "timed_out", "cancelled", "discarded", "interrupted"
]
"""How a tool call ended; every started call has exactly one outcome. `interrupted`: a kill left it unknown."""

FinishReason: TypeAlias = Literal[
    "stop",
    "tool_calls",
    "length",
    "budget_exceeded",
    "max_iterations",
    "loop_detected",
    "cancelled",
    "rejected",
    "suspended",
    "error",
]
"""How a turn ended; a closed set. `error`: the model gave no reply (`detail["reason"]` is `empty_reply`), or the worker
or the command line reports a failure; only these two set `cancelled`."""


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A tool call requested by a model.

    `malformed` holds the parse error of an invalid call; such a call gets an error result and never runs. Consecutive
    calls of one `batch` may run at the same time, batches run one after the other; None, as providers send calls, is a
    batch too. `identity` caches the key under which the loop detector finds equal calls.
    """

    id: str
    name: str
    arguments: Mapping[str, Any] = field(default_factory=new_dict)
    malformed: str | None = None
    batch: int | None = None
    identity: str | None = field(default=None, init=False, compare=False, repr=False)
    _canonical: bytes | None = field(default=None, init=False, compare=False, repr=False)

    def canonical_arguments(self) -> bytes:
        """Return the arguments as JSON with sorted keys; loop detection compares it. Made once: a later change of the
        arguments does not show.
        """
        if self._canonical is None:
            data = to_canonical_json(self.arguments)
            object.__setattr__(self, "_canonical", data)
            return data
        return self._canonical

    def with_id(self, call_id: str) -> Self:
        """Return the same call under another id; what is cached of name and arguments stays cached."""
        if type(self) is not ToolCall:
            return replace(self, id=call_id)
        call = type(self)(call_id, self.name, self.arguments, self.malformed, self.batch)
        object.__setattr__(call, "_canonical", self._canonical)
        object.__setattr__(call, "identity", self.identity)
        return call

    def to_json(self) -> dict[str, Any]:
        """Return JSON-serialisable data."""
        data: dict[str, Any] = {"id": self.id, "name": self.name, "arguments": dict(self.arguments)}
        if self.malformed is not None:
            data["malformed"] = self.malformed
        if self.batch is not None:
            data["batch"] = self.batch
        return data

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Self:
        """Parse the output of `to_json`."""
        return cls(data["id"], data["name"], data.get("arguments") or {}, data.get("malformed"), data.get("batch"))


@dataclass(frozen=True, slots=True)
class Reasoning:
    """What a model wrote while it reasoned about a reply; never part of the reply's text.

    `text` is for people. `fields` are fields of the provider's message that must be sent back unchanged with the tool
    results of the same turn, and only to `model` (`provider/name`), which made them; None stands for `text`.
    """

    text: str = ""
    model: str = ""
    fields: Mapping[str, Any] = field(default_factory=new_dict)

    def to_json(self) -> dict[str, Any]:
        """Return JSON-serialisable data; empty fields are omitted."""
        data = {"text": self.text, "model": self.model}
        return data | {"fields": dict(self.fields)} if self.fields else data

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Self:
        """Parse the output of `to_json`."""
        return cls(data.get("text") or "", data.get("model") or "", data.get("fields") or {})


@dataclass(frozen=True, slots=True)
class Message:
    """One message of a conversation; frozen, so it is safe to share between turns and threads.

    `tool_calls` and `reasoning` belong to assistant messages, `tool_call_id` to tool messages, `images` and
    `attachments` (files whose bytes the store has) to those of the user; `documents` are made of attachments for a
    request, and not stored. `origin` marks messages generated by the framework: `compaction` (a summary of older
    messages), `hint` (a note to the model), `denied` (the result of a tool call that a guard or a person kept from
    running). `tokens` caches a token count: (name of the counter, tokens). `wire` caches the message as provider JSON
    without images, for `sophon.models.providers.openai.request`, and `alternation` its class in `alternation.py` beside
    that. `redacted` caches what guard Redaction sends to models: (the known secrets, the other message, or None for
    this one). `shortened` caches what a context window shows in place of an old tool result or of a long first message.
    """

    role: Role
    content: str = ""
    tool_calls: list[ToolCall] = field(default_factory=new_list)
    tool_call_id: str | None = None
    origin: str = ""
    reasoning: Reasoning | None = None
    images: "tuple[Image, ...]" = ()
    attachments: "tuple[Attachment, ...]" = ()
    documents: "tuple[Document, ...]" = ()
    tokens: tuple[str, int] | None = field(default=None, init=False, compare=False, repr=False)
    wire: bytes | None = field(default=None, init=False, compare=False, repr=False)
    alternation: str | None = field(default=None, init=False, compare=False, repr=False)
    redacted: "tuple[object, Message | None] | None" = field(default=None, init=False, compare=False, repr=False)
    shortened: "Message | None" = field(default=None, init=False, compare=False, repr=False)

    def to_json(self) -> dict[str, Any]:
        """Return JSON-serialisable data; empty fields are omitted."""
        data: dict[str, Any] = {"role": self.role, "content": self.content}
        if self.tool_calls:
            data["tool_calls"] = [call.to_json() for call in self.tool_calls]
        if self.tool_call_id is not None:
            data["tool_call_id"] = self.tool_call_id
        if self.origin:
            data["origin"] = self.origin
        if self.reasoning is not None:
            data["reasoning"] = self.reasoning.to_json()
        if self.images:
            data["images"] = [image.to_json() for image in self.images]
        if self.attachments:
            data["attachments"] = [attachment.to_json() for attachment in self.attachments]
        return data

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Self:
        """Parse the output of `to_json`."""
        return cls(
            cast(Role, data["role"]),
            data.get("content") or "",
            [ToolCall.from_json(call) for call in data.get("tool_calls") or ()],
            data.get("tool_call_id"),
            data.get("origin") or "",
            Reasoning.from_json(data["reasoning"]) if data.get("reasoning") else None,
            images_from_json(data["images"]) if data.get("images") else (),
            attachments_from_json(data["attachments"]) if data.get("attachments") else (),
        )


def images_from_json(images: Sequence[Mapping[str, Any]]) -> "tuple[Image, ...]":
    """Return the images of their JSON data."""
    from sophon.images import Image  # lazy: few messages have images

    return tuple(map(Image.from_json, images))


def attachments_from_json(attachments: Sequence[Mapping[str, Any]]) -> "tuple[Attachment, ...]":
    """Return the attachments of their JSON data."""
    from sophon.attachments import Attachment  # lazy: few messages have attachments

    return tuple(map(Attachment.from_json, attachments))


@slotted_dataclass
class ToolResult:
    """Result of one tool call; `text` is what the model reads. Secrets in the text of a failure are replaced."""

    call_id: str
    tool: str
    text: str
    outcome: ToolCallOutcome = "completed"
    duration_ms: int = 0

    def __post_init__(self) -> None:
        if self.outcome != "completed":
            self.text = redact(self.text)  # type: ignore[misc] # frozen for others only

    def to_json(self) -> dict[str, Any]:
        """Return JSON-serialisable data."""
        return {
            "call_id": self.call_id,
            "tool": self.tool,
            "text": self.text,
            "outcome": self.outcome,
            "duration_ms": self.duration_ms,
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Self:
        """Parse the output of `to_json`."""
        return cls(data["call_id"], data["tool"], data["text"], data["outcome"], data.get("duration_ms", 0))


@slotted_dataclass
class Usage:
    """Token counts of one or more model calls, and their cost in millionths of a US dollar (1_000_000 = 1 USD).

    `unpriced_tokens` counts the tokens of calls whose price is unknown; `cost_micros` does not contain their cost.
    `reasoning_tokens` is the part of `output_tokens` that the provider reports as reasoning.
    """

    input_tokens: int = 0
    output_tokens: int = 0
    cost_micros: int = 0
    cached_input_tokens: int = 0
    unpriced_tokens: int = 0
    reasoning_tokens: int = 0

    @property
    def total_tokens(self) -> int:
        """Sum of input and output tokens."""
        return self.input_tokens + self.output_tokens

    def __add__(self, other: "Usage") -> "Usage":
        return Usage(
            self.input_tokens + other.input_tokens,
            self.output_tokens + other.output_tokens,
            self.cost_micros + other.cost_micros,
            self.cached_input_tokens + other.cached_input_tokens,
            self.unpriced_tokens + other.unpriced_tokens,
            self.reasoning_tokens + other.reasoning_tokens,
        )

    def __sub__(self, other: "Usage") -> "Usage":
        return Usage(
            self.input_tokens - other.input_tokens,
            self.output_tokens - other.output_tokens,
            self.cost_micros - other.cost_micros,
            self.cached_input_tokens - other.cached_input_tokens,
            self.unpriced_tokens - other.unpriced_tokens,
            self.reasoning_tokens - other.reasoning_tokens,
        )

    def to_json(self) -> dict[str, int]:
        """Return JSON-serialisable data; `reasoning_tokens` only if there are any."""
        data = {
            "input_tokens": self.input_tokens,
            "output_tokens": self.output_tokens,
            "cost_micros": self.cost_micros,
            "cached_input_tokens": self.cached_input_tokens,
            "unpriced_tokens": self.unpriced_tokens,
        }
        if self.reasoning_tokens:
            data["reasoning_tokens"] = self.reasoning_tokens
        return data

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Self:
        """Parse the output of `to_json`; unknown fields are ignored."""
        return cls(
            data.get("input_tokens", 0),
            data.get("output_tokens", 0),
            data.get("cost_micros", 0),
            data.get("cached_input_tokens", 0),
            data.get("unpriced_tokens", 0),
            data.get("reasoning_tokens", 0),
        )


NO_USAGE = Usage()
"""The usage of nothing, shared: a usage is never changed."""


@slotted_dataclass
class Response:
    """Response of a turn: exactly one per accepted message.

    `usage` is the sum over all model calls of the turn, of every purpose. `detail` holds machine-readable facts about
    a `finish_reason` other than `stop` (which limit, when it resets); `text` explains it to the user.

    `tool_rounds` counts the rounds of tool calls, `fallback_attempts` the attempts beyond the first of each model call,
    both of plan steps too. `model` is the one that wrote the last reply, as `provider/model`; "" if none did. `text` is
    the last reply; `earlier_texts` are the texts that the model wrote before its tool calls, in order.
    """

    text: str = ""
    finish_reason: FinishReason = "stop"
    usage: Usage = NO_USAGE
    tool_calls: list[ToolCall] = field(default_factory=new_list)
    detail: Mapping[str, Any] = field(default_factory=new_dict)
    earlier_texts: list[str] = field(default_factory=new_list)
    tool_rounds: int = 0
    fallback_attempts: int = 0
    model: str = ""

    @property
    def full_text(self) -> str:
        """All text of the turn in its order: what a user is shown."""
        if not self.earlier_texts and self.text.strip():
            return self.text
        return join_texts([*self.earlier_texts, self.text])

    def copy_with(self, **changes: Any) -> "Response":
        """Return a copy with the named fields replaced."""
        if type(self) is not Response:
            return replace(self, **changes)
        values = (self.text, self.finish_reason, self.usage, self.tool_calls, self.detail, self.earlier_texts)
        copy = Response(*values, self.tool_rounds, self.fallback_attempts, self.model)
        for name, value in changes.items():
            setattr(copy, name, value)
        return copy


@dataclass(frozen=True, slots=True)
class Compaction:
    """Summary that replaces the first `covers` messages (system messages not counted) in the model's view."""

    summary: Message
    covers: int


def to_canonical_json(value: object) -> bytes:
    """Return JSON with sorted keys: equal values give equal bytes. Values beyond JSON fall back to their repr."""
    try:
        return orjson.dumps(value, default=str, option=orjson.OPT_SORT_KEYS | orjson.OPT_NON_STR_KEYS)
    except TypeError:  # an integer of more than 64 bits, or a lone surrogate; a model can send both
        try:
            return json.dumps(value, default=str, sort_keys=True).encode()
        except (TypeError, ValueError, RecursionError):
            return repr(value).encode("utf-8", "backslashreplace")


def collect_earlier_texts(messages: Sequence[Message]) -> list[str]:
    """Return the texts that the model wrote before tool calls since the last message of the user, in order.

    A turn has one reply per model pass. The text of a reply with tool calls belongs to the answer like that of the last
    reply; `Response.full_text` and the chunks of a stream hold all of them.

    A user message with an origin, such as a hint of the framework, does not begin a turn. Blank texts are omitted.
    """
    texts: list[str] = []
    for message in reversed(messages):
        # As `begins_turn` and `is_earlier_text`, without their calls: half of a long turn's messages are results.
        role = message.role
        if role == "user" and not message.origin:
            break
        if role == "assistant" and message.tool_calls and message.content.strip():
            texts.append(message.content)
    texts.reverse()
    return texts


def begins_turn(message: Message) -> bool:
    """Return whether a message is one of the user, with which a turn begins."""
    return message.role == "user" and not message.origin


def is_earlier_text(message: Message) -> bool:
    """Return whether a message is a text that the model wrote before tool calls."""
    return message.role == "assistant" and bool(message.tool_calls) and bool(message.content.strip())

"""What passes between a person, a model and its tools: messages, tool calls, results, usage and the response."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, Self, TypeAlias, cast

import orjson

from sophon.value import value

Role: TypeAlias = Literal["system", "user", "assistant", "tool"]
"""Who speaks in a message."""

Outcome: TypeAlias = Literal["completed", "failed", "denied", "timed_out", "cancelled", "discarded"]
"""How a tool call ended; every call that was started ends in exactly one of these."""

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
"""How a turn ended; a closed set. `error` and `cancelled` are written by the worker and the command line only."""


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A model's wish to run a tool.

    `malformed` holds what was wrong when the call could not be read; such a call is answered, never run.
    """

    id: str
    name: str
    arguments: Mapping[str, Any] = field(default_factory=lambda: {})
    malformed: str | None = None
    _canonical: bytes | None = field(default=None, init=False, compare=False, repr=False)

    def canonical(self) -> bytes:
        """The arguments as JSON with sorted keys: what loop detection compares and approvals are bound to."""
        if self._canonical is None:
            data = canonical_json(self.arguments)
            object.__setattr__(self, "_canonical", data)
            return data
        return self._canonical

    def to_json(self) -> dict[str, Any]:
        """As plain data, ready for JSON."""
        data: dict[str, Any] = {"id": self.id, "name": self.name, "arguments": dict(self.arguments)}
        if self.malformed is not None:
            data["malformed"] = self.malformed
        return data

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Self:
        """The inverse of `to_json`."""
        return cls(data["id"], data["name"], data.get("arguments") or {}, data.get("malformed"))


@dataclass(frozen=True, slots=True)
class Message:
    """One message of a conversation; frozen, so that sharing it between turns and threads is safe.

    `tool_calls` belongs to assistant messages, `tool_call_id` to tool messages. `origin` says where a message came
    from when nobody said it: `compaction` (a summary of older messages), `hint` (a note of the framework).
    `tokens` is a cache of the token counter: (name of the counter, tokens). `wire` is one of `sophon.models.wire`: the
    message as the JSON of a provider.
    """

    role: Role
    content: str = ""
    tool_calls: list[ToolCall] = field(default_factory=lambda: [])
    tool_call_id: str | None = None
    origin: str = ""
    tokens: tuple[str, int] | None = field(default=None, init=False, compare=False, repr=False)
    wire: bytes | None = field(default=None, init=False, compare=False, repr=False)

    def to_json(self) -> dict[str, Any]:
        """As plain data, ready for JSON; what is empty is left out."""
        data: dict[str, Any] = {"role": self.role, "content": self.content}
        if self.tool_calls:
            data["tool_calls"] = [call.to_json() for call in self.tool_calls]
        if self.tool_call_id is not None:
            data["tool_call_id"] = self.tool_call_id
        if self.origin:
            data["origin"] = self.origin
        return data

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Self:
        """The inverse of `to_json`."""
        return cls(
            cast(Role, data["role"]),
            data.get("content") or "",
            [ToolCall.from_json(call) for call in data.get("tool_calls") or ()],
            data.get("tool_call_id"),
            data.get("origin") or "",
        )


@value
class ToolResult:
    """What came of one tool call; `text` is what the model reads."""

    call_id: str
    tool: str
    text: str
    outcome: Outcome = "completed"
    duration_ms: int = 0

    def to_json(self) -> dict[str, Any]:
        """As plain data, ready for JSON."""
        return {
            "call_id": self.call_id,
            "tool": self.tool,
            "text": self.text,
            "outcome": self.outcome,
            "duration_ms": self.duration_ms,
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Self:
        """The inverse of `to_json`."""
        return cls(data["call_id"], data["tool"], data["text"], data["outcome"], data.get("duration_ms", 0))


@value
class Usage:
    """Tokens of one or more model calls, and their cost in micro-units of a US dollar (1_000_000 = 1 USD)."""

    input_tokens: int = 0
    output_tokens: int = 0
    cost_micros: int = 0
    cached_input_tokens: int = 0

    @property
    def total_tokens(self) -> int:
        """Input and output together."""
        return self.input_tokens + self.output_tokens

    def __add__(self, other: "Usage") -> "Usage":
        return Usage(
            self.input_tokens + other.input_tokens,
            self.output_tokens + other.output_tokens,
            self.cost_micros + other.cost_micros,
            self.cached_input_tokens + other.cached_input_tokens,
        )

    def to_json(self) -> dict[str, int]:
        """As plain data, ready for JSON."""
        return {
            "input_tokens": self.input_tokens,
            "output_tokens": self.output_tokens,
            "cost_micros": self.cost_micros,
            "cached_input_tokens": self.cached_input_tokens,
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Self:
        """The inverse of `to_json`; unknown fields are ignored."""
        return cls(
            data.get("input_tokens", 0),
            data.get("output_tokens", 0),
            data.get("cost_micros", 0),
            data.get("cached_input_tokens", 0),
        )


@value
class Response:
    """What a turn came to: exactly one per accepted message.

    `usage` is the sum over every model call of the turn, whatever its purpose. `detail` explains a `finish_reason`
    other than `stop` to a program (which limit, when it resets); `text` explains it to the person.
    """

    text: str = ""
    finish_reason: FinishReason = "stop"
    usage: Usage = field(default_factory=Usage)
    tool_calls: list[ToolCall] = field(default_factory=lambda: [])
    detail: Mapping[str, Any] = field(default_factory=lambda: {})


def canonical_json(value: object) -> bytes:
    """JSON with sorted keys: equal values give equal bytes. What is beyond JSON is told apart by its repr."""
    try:
        return orjson.dumps(value, default=str, option=orjson.OPT_SORT_KEYS | orjson.OPT_NON_STR_KEYS)
    except TypeError:  # a whole number of more than 64 bits, or a lone surrogate, which a model can well send
        try:
            return json.dumps(value, default=str, sort_keys=True).encode()
        except (TypeError, ValueError, RecursionError):
            return repr(value).encode("utf-8", "backslashreplace")

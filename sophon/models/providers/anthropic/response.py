"""Response parsing for Anthropic's Messages API: accumulates a whole message or the events of a stream.

Source: Anthropic API reference, Create a Message; docs, Streaming messages and Handling stop reasons.
"""

import logging
import re
from collections.abc import Mapping, Sequence
from dataclasses import field
from typing import Any, Literal

import orjson

from sophon._python.joined_text import add_piece
from sophon._python.lazy_dataclass import dataclass, new_list
from sophon.errors import BadRequest, ContextOverflow, ProviderUnavailable
from sophon.messages import ToolCall, Usage
from sophon.models.call_cost import cost_micros
from sophon.models.model import AttemptOutput, ModelInfo, ModelResponse
from sophon.models.providers.anthropic.reasoning import build_reasoning_fields
from sophon.models.providers.openai.reasoning import ReasoningAccumulator
from sophon.models.providers.openai.request import tool_names_by_wire_name
from sophon.models.providers.openai.response_accumulator import (
    NO_CHOICE_MESSAGE,
    STREAM_CUT_MESSAGE,
    UNEXPECTED_FORM_MESSAGE,
    parse_json_object,
)
from sophon.models.providers.openai.tool_call_assembly import parse_tool_arguments
from sophon.models.providers.openai_turn_alternation import SEPARATOR
from sophon.models.providers.provider_http_error import (
    ProviderHttpError,
    http_error_from_payload,
    http_error_from_response,
)
from sophon.models.providers.third_party_json import as_count, as_mapping, as_text
from sophon.tools.tool import Tool

log = logging.getLogger("sophon")

REFUSED_MESSAGE = "the provider declined to answer; rephrase the request"
"""Message of the BadRequest for the stop reason `refusal`."""

_CUT_SHORT = frozenset({"max_tokens", "model_context_window_exceeded", "pause_turn"})
"""Stop reasons of an unfinished answer. `pause_turn` is for tools that run at the provider, which are never offered."""

_INPUT_FIELDS = ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens")

STATUS_BY_TYPE = {
    "invalid_request_error": 400,
    "authentication_error": 401,
    "billing_error": 402,
    "permission_error": 403,
    "not_found_error": 404,
    "request_too_large": 413,
    "rate_limit_error": 429,
    "api_error": 500,
    "timeout_error": 504,
    "overloaded_error": 529,
}

SPENT = 402
"""Status of an account that has nothing left: its key pauses, and the next one is used."""

_CONTEXT_LIMIT = re.compile(r"input length and `?max_tokens`? exceed", re.IGNORECASE)

_SPENT = re.compile(r"credit balance is too low|reached your specified API usage limits", re.IGNORECASE)


@dataclass(slots=True)
class _Block:
    """Content block that is being assembled; `pieces` are its text, thinking or JSON arguments."""

    type: str
    id: str = ""
    name: str = ""
    data: str = ""
    pieces: list[str] = field(default_factory=new_list)
    signature: list[str] = field(default_factory=new_list)

    def to_json(self) -> dict[str, Any]:
        """Return the block as it is sent back."""
        joined = "".join(self.pieces)
        if self.type == "thinking":
            return {"type": self.type, "thinking": joined, "signature": "".join(self.signature)}
        if self.type == "redacted_thinking":
            return {"type": self.type, "data": self.data}
        return {"type": self.type, "text": joined}


class ResponseAccumulator:
    """Accumulator for a reply: `add_message` takes a whole one, `add_event` each event of a stream; `to_response`
    returns the ModelResponse.

    Unknown events, blocks and fields are ignored. A response in another format raises ProviderUnavailable; an error in
    its place raises `ProviderHttpError`; one that exceeds the limits of `output.size` raises ResponseTooLarge.
    """

    __slots__ = ("_blocks", "_call_count", "_model", "_stop_reason", "_usage", "is_ended", "output", "reasoning")

    def __init__(self, output: AttemptOutput | None = None, *, model: ModelInfo | None = None) -> None:
        self.output = output or AttemptOutput()
        """Notes of the attempt: what arrived, for the case that it fails."""
        self.reasoning = ReasoningAccumulator()
        self.is_ended = False
        """Whether the event that ends the stream has arrived, or a whole message."""
        self._blocks: dict[object, _Block] = {}
        self._call_count = 0
        self._model = model
        self._stop_reason: str | None = None
        self._usage = UsageReport()

    def add_event(self, data: bytes) -> str:
        """Add an event of a stream; return the text in it, which is often empty."""
        return self._checked(_add_event, parse_json_object(data))

    def add_message(self, data: bytes) -> str:
        """Add a whole message; return its text."""
        return self._checked(_add_message, parse_json_object(data))

    def to_response(self, tools: Sequence[Tool]) -> ModelResponse:
        """Return the accumulated response.

        Raises ProviderUnavailable for a stream that was cut off, and BadRequest if the provider declined to answer,
        also in the middle: what a classifier stopped is no answer.
        """
        if not self.is_ended or self._stop_reason is None:
            raise ProviderUnavailable(STREAM_CUT_MESSAGE)
        if self._stop_reason == "refusal":
            raise BadRequest(REFUSED_MESSAGE)
        blocks = list(self._blocks.values())
        calls = [block for block in blocks if block.type == "tool_use"]
        names = tool_names_by_wire_name(tools) if calls else {}
        return ModelResponse(
            "".join(piece for block in blocks if block.type == "text" for piece in block.pieces),
            [_to_tool_call(block, names) for block in calls],
            self.output.usage,
            _normalise_stop_reason(self._stop_reason, has_calls=bool(calls)),
            reasoning=self.reasoning.text,
            reasoning_fields=build_reasoning_fields([block.to_json() for block in blocks]),
        )

    def begin(self, message: Mapping[str, Any]) -> None:
        """Add the head of a stream: the input that was counted."""
        self.output.has_begun = True
        self._usage.add(message.get("usage"), is_begin=True)
        self._usage.note(self.output, self._model)

    def end(self, stop_reason: object, usage: object) -> None:
        """Add the stop reason and the usage, which a stream may send in several events."""
        self._stop_reason = as_text(stop_reason) or self._stop_reason
        self._usage.add(usage)
        self._usage.note(self.output, self._model)

    def start_block(self, index: object, start: Mapping[str, Any]) -> str:
        """Begin a content block; return the text in it, which is empty in a stream."""
        if index in self._blocks:
            raise ValueError(f"two content blocks have the index {index}")
        kind = as_text(start.get("type"))
        block = self._blocks[index] = _Block(
            kind, as_text(start.get("id")), as_text(start.get("name")), as_text(start.get("data"))
        )
        for value in (block.id, block.data):
            self.output.size.add(value)
        if kind == "text":
            return self._add_text(block, as_text(start.get("text")))
        if kind == "tool_use":
            self._start_call(block, start.get("input"))
        elif kind == "thinking":
            if self.reasoning.text:
                self.reasoning.add_text(SEPARATOR)
            self._add_signature(block, as_text(start.get("signature")))
            self._add_thinking(block, as_text(start.get("thinking")))
        return ""

    def extend_block(self, index: object, delta: Mapping[str, Any]) -> str:
        """Append a delta to a content block; return the text in it."""
        block, kind = self._blocks[index], delta.get("type")
        if kind == "text_delta":
            return self._add_text(block, as_text(delta.get("text")))
        if kind == "input_json_delta":
            self._add_arguments(block, as_text(delta.get("partial_json")))
        elif kind == "thinking_delta":
            self._add_thinking(block, as_text(delta.get("thinking")))
        elif kind == "signature_delta":
            self._add_signature(block, as_text(delta.get("signature")))
        return ""

    def _checked(self, add: Any, data: Mapping[str, Any]) -> str:
        try:
            return str(add(self, data))
        except (AttributeError, KeyError, TypeError, ValueError, IndexError) as error:
            log.warning("%s: %r", UNEXPECTED_FORM_MESSAGE, error)
            raise ProviderUnavailable(UNEXPECTED_FORM_MESSAGE) from error

    def _start_call(self, block: _Block, arguments: object) -> None:
        self.output.note(block.name)
        self._call_count += 1
        self.output.size.check_call_count(self._call_count)
        if arguments:
            self._add_arguments(block, orjson.dumps(arguments).decode())

    def _add_text(self, block: _Block, text: str) -> str:
        self.output.note(text)
        if text:
            add_piece(block.pieces, text)
        return text

    def _add_thinking(self, block: _Block, text: str) -> None:
        self.output.note(text)
        self.reasoning.add_text(text)
        block.pieces.append(text)

    def _add_arguments(self, block: _Block, text: str) -> None:
        self.output.note(text)
        block.pieces.append(text)

    def _add_signature(self, block: _Block, text: str) -> None:
        self.output.size.add(text)
        block.signature.append(text)


def _add_event(reply: ResponseAccumulator, event: Mapping[str, Any]) -> str:
    kind = event.get("type")
    if kind == "content_block_delta":
        return reply.extend_block(event["index"], as_mapping(event.get("delta")))
    if kind == "content_block_start":
        return reply.start_block(event["index"], as_mapping(event.get("content_block")))
    if kind == "message_start":
        reply.begin(as_mapping(event.get("message")))
    elif kind == "message_delta":
        reply.end(as_mapping(event.get("delta")).get("stop_reason"), event.get("usage"))
    elif kind == "message_stop":
        reply.is_ended = True
    elif kind == "error" or event.get("error"):
        raise error_from_event(event.get("error"))
    return ""


def _add_message(reply: ResponseAccumulator, message: Mapping[str, Any]) -> str:
    if message.get("error"):
        reply.end(None, message.get("usage"))
        raise error_from_event(message["error"])
    if not isinstance(message.get("content"), list):
        raise ProviderUnavailable(NO_CHOICE_MESSAGE)
    reply.begin({})
    # Before the blocks, so that the usage is known if one of them is refused.
    reply.end(message.get("stop_reason") or "end_turn", message.get("usage"))
    text = "".join(reply.start_block(index, as_mapping(block)) for index, block in enumerate(message["content"]))
    reply.is_ended = True
    return text


def _normalise_stop_reason(reason: str, *, has_calls: bool) -> Literal["stop", "tool_calls", "length"]:
    if reason in _CUT_SHORT:
        return "length"
    return "tool_calls" if has_calls else "stop"


def _to_tool_call(block: _Block, names: Mapping[str, str]) -> ToolCall:
    arguments, malformed = parse_tool_arguments("".join(block.pieces))
    return ToolCall(block.id, names.get(block.name, block.name), arguments, malformed)


class UsageReport:
    """The last count of each kind that the provider has reported.

    Source: Anthropic API reference, Streaming and Prompt caching.
    """

    __slots__ = ("_counts",)

    def __init__(self) -> None:
        self._counts: dict[str, int] = {}

    def add(self, report: object, *, is_begin: bool = False) -> None:
        """Add a report. That of the begin of a stream (`is_begin`) counts no output yet, whatever it says."""
        usage = as_mapping(report)
        names = _INPUT_FIELDS if is_begin else (*_INPUT_FIELDS, "output_tokens")
        self._counts |= {name: count for name in names if (count := as_count(usage.get(name))) is not None}
        thinking = as_count(as_mapping(usage.get("output_tokens_details")).get("thinking_tokens"))
        if thinking is not None and not is_begin:
            self._counts["thinking_tokens"] = thinking

    def note(self, output: AttemptOutput, model: ModelInfo | None) -> None:
        """Note the usage so far in the attempt's notes, with its cost if all of it is known."""
        usage = to_usage(self._counts, model)
        if usage is not None:
            output.usage = usage
            output.is_half_usage = not (usage.input_tokens and usage.output_tokens)


def to_usage(counts: Mapping[str, int], model: ModelInfo | None = None) -> Usage | None:
    """Return the usage of reported counts; None if there are none, or if one of them cannot be true.

    The cost is set if tokens were written to a cache, which no other field of a usage tells.
    """
    if any(count < 0 for count in counts.values()):
        return None
    tokens_in, tokens_out = sum(counts.get(name, 0) for name in _INPUT_FIELDS), counts.get("output_tokens", 0)
    if not tokens_in and not tokens_out:
        return None
    cached, written = counts.get("cache_read_input_tokens", 0), counts.get("cache_creation_input_tokens", 0)
    reasoned = min(counts.get("thinking_tokens", 0), tokens_out)
    cost = 0
    if model is not None and written and tokens_in and tokens_out:
        cost = cost_micros(model, tokens_in, tokens_out, cached, written)
    return Usage(tokens_in, tokens_out, cost, cached, reasoning_tokens=reasoned)


def error_from_response(status: int, headers: Mapping[str, str], body: bytes) -> Exception:
    """Return the error of an HTTP error response.

    Source: Claude API docs, Errors.
    """
    return _refine(http_error_from_response(status, headers, body))


def error_from_event(error: object) -> Exception:
    """Return the error of an `error` event, or of an error object in a 200 response."""
    failure = http_error_from_payload(error)
    status = STATUS_BY_TYPE.get(as_text(as_mapping(error).get("type")))
    if status is not None:
        failure = ProviderHttpError(status, str(failure).removeprefix(f"HTTP {failure.status_code}: "))
    return _refine(failure)


def _refine(error: ProviderHttpError) -> Exception:
    """Return the error with the status of an empty account, or as a ContextOverflow; both are sent as a plain 400."""
    if error.status_code != STATUS_BY_TYPE["invalid_request_error"]:
        return error
    if _CONTEXT_LIMIT.search(str(error)):
        return ContextOverflow(str(error), status=error.status_code)
    if _SPENT.search(str(error)):
        error.status_code = SPENT
    return error

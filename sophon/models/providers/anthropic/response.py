"""Response parsing for Anthropic's Messages API: accumulates a whole message or the events of a stream.

Source: Anthropic API reference, Create a Message; docs, Streaming messages and Handling stop reasons.
"""

import logging
from collections.abc import Mapping, Sequence
from dataclasses import field
from typing import Any, Literal

import orjson

from sophon.errors import BadRequest, ProviderUnavailable
from sophon.joined_text import add_piece
from sophon.lazy_dataclass import dataclass
from sophon.messages import ToolCall
from sophon.models.model import AttemptOutput, ModelInfo, ModelResponse
from sophon.models.providers.anthropic.errors import error_from_event
from sophon.models.providers.anthropic.reasoning import build_reasoning_fields
from sophon.models.providers.anthropic.usage import UsageReport
from sophon.models.providers.openai.alternation import SEPARATOR
from sophon.models.providers.openai.reasoning import ReasoningAccumulator
from sophon.models.providers.openai.request import tool_names_by_wire_name
from sophon.models.providers.openai.response import (
    NO_CHOICE_MESSAGE,
    STREAM_CUT_MESSAGE,
    UNEXPECTED_FORM_MESSAGE,
    parse_json_object,
)
from sophon.models.providers.openai.tool_call_assembly import parse_tool_arguments
from sophon.models.providers.third_party_json import as_mapping, as_text
from sophon.tools.tool import Tool

log = logging.getLogger("sophon")

REFUSED_MESSAGE = "the provider declined to answer; rephrase the request"
"""Message of the BadRequest for the stop reason `refusal`."""

_CUT_SHORT = frozenset({"max_tokens", "model_context_window_exceeded", "pause_turn"})
"""Stop reasons of an unfinished answer. `pause_turn` is for tools that run at the provider, which are never offered."""


@dataclass(slots=True)
class _Block:
    """Content block that is being assembled; `pieces` are its text, thinking or JSON arguments."""

    type: str
    id: str = ""
    name: str = ""
    data: str = ""
    pieces: list[str] = field(default_factory=lambda: [])
    signature: list[str] = field(default_factory=lambda: [])

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

"""Response parsing for OpenAI's chat completions API: accumulates a whole response or the chunks of a stream."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, cast

import orjson

from sophon.errors import BadRequest, ProviderUnavailable
from sophon.messages import ToolCall, Usage
from sophon.models.model import ModelResponse
from sophon.models.providers.openai.request import tool_names_by_wire_name
from sophon.models.providers.provider_http_error import http_error_from_payload
from sophon.tools.tool import Tool

STREAM_CUT_MESSAGE = "the response was cut off: its stream ended before the model had finished"
"""Message of the ProviderUnavailable for a stream without a finish reason."""


@dataclass(slots=True)
class _ToolCallDraft:
    """A tool call that is being assembled from its deltas."""

    id: str = ""
    name: str = ""
    arguments: str = ""


class ResponseAccumulator:
    """Accumulator for a response: `add_chunk` takes the whole response or each chunk, `to_response` returns the
    ModelResponse.

    Unknown fields are ignored. A response in another format raises ProviderUnavailable; an error object in its place
    raises `ProviderHttpError`.
    """

    __slots__ = ("_draft_by_slot", "_drafts", "_pending_surrogate", "_pieces", "_usage", "finish_reason")

    def __init__(self) -> None:
        self.finish_reason: str | None = None
        """The provider's finish reason, or None until it has arrived."""
        self._pieces: list[str] = []
        self._drafts: list[_ToolCallDraft] = []
        self._draft_by_slot: dict[object, _ToolCallDraft] = {}
        self._usage: Usage | None = None
        self._pending_surrogate = ""

    def add_chunk(self, chunk: Mapping[str, Any]) -> str:
        """Add a whole response or a chunk; return the text in it, which is often empty."""
        try:
            return self._add_unchecked(chunk)
        except (AttributeError, KeyError, TypeError, ValueError, IndexError) as error:
            raise ProviderUnavailable(f"the response cannot be read: {error!r}") from error

    def to_response(self, tools: Sequence[Tool], *, is_streamed: bool) -> ModelResponse:
        """Return the accumulated response.

        Raises ProviderUnavailable for a stream without a finish reason, which was cut off, and BadRequest if the
        provider's content filter withheld the answer.
        """
        if self._pending_surrogate:
            self._pieces.append("?")
        if is_streamed and self.finish_reason is None:
            raise ProviderUnavailable(STREAM_CUT_MESSAGE)
        if self.finish_reason == "content_filter":
            raise BadRequest("the provider's content filter stopped the response; rephrase the request")
        if self.finish_reason == "error":
            raise ProviderUnavailable("the provider failed during its response")
        names = tool_names_by_wire_name(tools) if self._drafts else {}
        calls = [_to_tool_call(draft, names) for draft in self._drafts]
        return ModelResponse("".join(self._pieces), calls, self._usage, _normalise_finish_reason(self.finish_reason))

    def _add_unchecked(self, chunk: Mapping[str, Any]) -> str:
        if error := chunk.get("error"):
            raise http_error_from_payload(error)
        if usage := chunk.get("usage"):
            self._usage = _parse_usage(usage) or self._usage
        choices = chunk.get("choices")
        if not choices:
            return ""
        choice = choices[0]
        self.finish_reason = choice.get("finish_reason") or self.finish_reason
        delta = choice.get("delta") or choice.get("message")
        if not delta:
            return ""
        for position, piece in enumerate(delta.get("tool_calls") or ()):
            self._add_tool_call_delta(piece, position)
        text = delta.get("content") or delta.get("refusal")
        return self._join_surrogates(_text_of_content(text)) if text else ""

    def _add_tool_call_delta(self, piece: Mapping[str, Any], position: int) -> None:
        function: Mapping[str, Any] = piece.get("function") or {}
        draft = self._find_draft(piece.get("id") or "", piece.get("index"), bool(function.get("name")), position)
        draft.name = draft.name or function.get("name") or ""
        arguments = function.get("arguments")
        if arguments is not None:
            draft.arguments += arguments if isinstance(arguments, str) else orjson.dumps(arguments).decode()

    def _find_draft(self, call_id: str, index: int | None, has_name: bool, position: int) -> _ToolCallDraft:
        """Return the tool call of a delta, by id, else by index. Some providers send no index, others always 0."""
        if call_id and (known := self._draft_by_slot.get(call_id)) is not None:
            return known
        slot = position if index is None else index
        draft = self._draft_by_slot.get(slot)
        is_new = draft is not None and bool(draft.name) and (bool(call_id and draft.id) or (index is None and has_name))
        if draft is None or is_new:
            draft = self._draft_by_slot[slot] = _ToolCallDraft()
            self._drafts.append(draft)
        if call_id:
            draft.id = call_id
            self._draft_by_slot[call_id] = draft
        return draft

    def _join_surrogates(self, text: str) -> str:
        """Join surrogate pairs that were split between two chunks; return the text."""
        if self._pending_surrogate or not text.isascii():
            text, self._pending_surrogate = _split_trailing_surrogate(self._pending_surrogate + text)
        if text:
            self._pieces.append(text)
        return text


def parse_json_object(data: bytes) -> Mapping[str, Any]:
    """Parse a JSON object sent by the provider. Raises ProviderUnavailable for anything else."""
    try:
        value: object = orjson.loads(data)
    except orjson.JSONDecodeError:
        value = _parse_leniently(data)
    if not isinstance(value, dict):
        raise ProviderUnavailable(f"the response is not a JSON object: {data[:200].decode('utf-8', 'replace')}")
    return cast(dict[str, Any], value)


def parse_tool_arguments(text: str) -> tuple[dict[str, Any], str | None]:
    """Parse a tool call's arguments; return them and the error, if any. Empty text and null mean no arguments."""
    if not text.strip():
        return {}, None
    try:
        # The standard parser, because orjson rounds integers of more than 64 bits. strict=False accepts raw line breaks
        # in strings, the most frequent mistake of models.
        value: object = json.loads(text, strict=False, parse_constant=_reject_constant)
    except (ValueError, RecursionError) as error:
        return {}, f"the arguments are not valid JSON: {error}"
    if value is None:
        return {}, None
    if not isinstance(value, dict):
        return {}, f"the arguments are not a JSON object: {text[:200]}"
    return cast(dict[str, Any], value), None


def _reject_constant(constant: str) -> None:
    raise ValueError(f"{constant} is not a JSON number")


def _to_tool_call(draft: _ToolCallDraft, names: Mapping[str, str]) -> ToolCall:
    arguments, malformed = parse_tool_arguments(draft.arguments)
    return ToolCall(draft.id, names.get(draft.name, draft.name), arguments, malformed)


def _normalise_finish_reason(reason: str | None) -> Literal["stop", "tool_calls", "length"]:
    if reason in ("length", "max_tokens"):
        return "length"
    return "tool_calls" if reason in ("tool_calls", "function_call") else "stop"


def _parse_usage(usage: Mapping[str, Any]) -> Usage | None:
    """Parse the reported usage; None if the provider reported no tokens."""
    tokens_in, tokens_out = usage.get("prompt_tokens") or 0, usage.get("completion_tokens") or 0
    details: Mapping[str, Any] = usage.get("prompt_tokens_details") or {}
    cached = details.get("cached_tokens") or 0
    return Usage(int(tokens_in), int(tokens_out), 0, int(cached)) if tokens_in or tokens_out else None


def _text_of_content(content: str | Sequence[Mapping[str, Any]]) -> str:
    """Return the text, or the joined text parts of a list."""
    if isinstance(content, str):
        return content
    return "".join(part.get("text") or "" for part in content if part.get("type", "text") == "text")


def _split_trailing_surrogate(text: str) -> tuple[str, str]:
    """Join surrogate pairs, replace lone surrogates with the replacement character; return (text, trailing half)."""
    half = text[-1] if "\ud800" <= text[-1] <= "\udbff" else ""
    body = text[:-1] if half else text
    return body.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace"), half


def _parse_leniently(data: bytes) -> object:
    """Parse with the standard parser, which accepts lone surrogates and NaN; None if it fails."""
    try:
        return json.loads(data)
    except (ValueError, RecursionError):
        return None

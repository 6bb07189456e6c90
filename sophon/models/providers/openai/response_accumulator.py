"""Response parsing for OpenAI's chat completions API: accumulates a whole response or the chunks of a stream."""

import json
import logging
from collections.abc import Mapping, Sequence
from typing import Any, Literal, cast

import orjson

from sophon._python.joined_text import add_piece
from sophon.errors import BadRequest, ProviderUnavailable
from sophon.messages import Usage
from sophon.models.model import AttemptOutput, ModelResponse
from sophon.models.providers.openai.reasoning import BLOCK_FIELDS, ReasoningAccumulator
from sophon.models.providers.openai.think_tags import ThinkTagScanner
from sophon.models.providers.openai.tool_call_assembly import ToolCallAssembler, ToolCallDelta
from sophon.models.providers.provider_http_error import http_error_from_payload
from sophon.models.providers.third_party_json import as_count, as_mapping
from sophon.security import redact_and_cut
from sophon.tools.tool import Tool

log = logging.getLogger("sophon")

STREAM_CUT_MESSAGE = "the response was cut off: its stream ended before the model had finished"
"""Message of the ProviderUnavailable for a stream without a finish reason."""

NO_CHOICE_MESSAGE = "the response holds no answer: it has no choice with a message"
"""Message of the ProviderUnavailable for a whole response without a message."""

UNEXPECTED_FORM_MESSAGE = "the provider's response is not in the expected form"
"""Message of the ProviderUnavailable for JSON of another form; the log has the cause."""

MAX_SHOWN = 200
"""Characters of an unreadable response that its error shows."""

_DONE = b"[DONE]"
"""The event that ends a stream."""


class ResponseAccumulator:
    """Accumulator for a response: `add_chunk` takes the whole response or each chunk, `to_response` returns the
    ModelResponse.

    Unknown fields are ignored. A response in another format raises ProviderUnavailable; an error object in its place
    raises `ProviderHttpError`; one that exceeds the limits of `output.size` raises ResponseTooLarge.
    """

    __slots__ = (
        "_calls",
        "_counts_reasoning_apart",
        "_has_message",
        "_pending_surrogate",
        "_pieces",
        "_tags",
        "finish_reason",
        "is_ended",
        "output",
        "reasoning",
    )

    def __init__(
        self,
        output: AttemptOutput | None = None,
        *,
        has_think_tags: bool = False,
        counts_reasoning_apart: bool = False,
    ) -> None:
        self.output = output or AttemptOutput()
        """Notes of the attempt: what arrived, for the case that it fails."""
        self.reasoning = ReasoningAccumulator()
        self._tags = ThinkTagScanner() if has_think_tags else None
        self._counts_reasoning_apart = counts_reasoning_apart
        self.finish_reason: str | None = None
        """The provider's finish reason, or None until it has arrived."""
        self.is_ended = False
        """Whether the event that ends the stream has arrived."""
        self._pieces: list[str] = []
        self._calls = ToolCallAssembler()
        self._pending_surrogate = ""
        self._has_message = False

    def add_event(self, data: bytes) -> str:
        """Add an event of a stream; return the text in it, which is often empty."""
        if data == _DONE:
            self.is_ended = True
            return ""
        return self.add_chunk(parse_json_object(data))

    def add_chunk(self, chunk: Mapping[str, Any]) -> str:
        """Add a whole response or a chunk; return the text in it, which is often empty.

        Reasoning is not part of it: `reasoning.take_new_text()` returns what the chunk has added.
        """
        try:
            return self._add_unchecked(chunk)
        except (AttributeError, KeyError, TypeError, ValueError, IndexError) as error:
            log.warning("%s: %r", UNEXPECTED_FORM_MESSAGE, error)
            raise ProviderUnavailable(UNEXPECTED_FORM_MESSAGE) from error

    def to_response(self, tools: Sequence[Tool], *, is_streamed: bool) -> ModelResponse:
        """Return the accumulated response.

        Raises ProviderUnavailable for a stream without a finish reason, which was cut off, and for a whole response
        without a message; BadRequest if the provider's content filter withheld the answer, or the model refused without
        a word. A message without text and calls is a response: the caller may ask again.
        """
        if self._pending_surrogate:
            self._pieces.append("?")
        if self._tags is not None:
            self._pieces.append(self._tags.close())
            self.reasoning.add_text(self._tags.take_reasoning())
        if is_streamed and self.finish_reason is None:
            raise ProviderUnavailable(STREAM_CUT_MESSAGE)
        is_refused = self.finish_reason == "refusal" and not "".join(self._pieces).strip()
        if self.finish_reason == "content_filter" or is_refused:
            raise BadRequest("the provider's content filter stopped the response; rephrase the request")
        if self.finish_reason == "error":
            raise ProviderUnavailable("the provider failed during its response")
        if not is_streamed and not self._has_message:
            raise ProviderUnavailable(NO_CHOICE_MESSAGE)
        return ModelResponse(
            "".join(self._pieces),
            self._calls.to_calls(tools),
            self.output.usage,
            _normalise_finish_reason(self.finish_reason),
            reasoning=self.reasoning.text,
            reasoning_fields={**self.reasoning.build_fields(), **self._calls.build_fields()},
        )

    def _add_unchecked(self, chunk: Mapping[str, Any]) -> str:
        if error := chunk.get("error"):
            self._note_usage(chunk.get("usage"))
            raise http_error_from_payload(error)
        self.output.has_begun = True
        if usage := chunk.get("usage"):
            self._note_usage(usage)
        choices = chunk.get("choices")
        if not choices:
            return ""
        choice = choices[0]
        self.finish_reason = choice.get("finish_reason") or self.finish_reason
        delta = choice.get("delta") or choice.get("message")
        if not delta:
            self._has_message = self._has_message or isinstance(choice.get("message"), dict)
            return ""
        self._has_message = True
        # Nearly every chunk of a stream holds one piece of text and nothing else.
        if len(delta) > 1 or "content" not in delta:
            self._add_other_fields(delta, is_whole=not choice.get("delta"))
        text = delta.get("content") or delta.get("refusal")
        if text and not isinstance(text, str):
            self.output.note(self.reasoning.add_parts(text))
        return self._join_surrogates(_text_of_content(text)) if text else ""

    def _add_other_fields(self, delta: Mapping[str, Any], *, is_whole: bool) -> None:
        add_call = self._calls.add_whole if is_whole else self._calls.add_delta
        for position, piece in enumerate(delta.get("tool_calls") or ()):
            call = ToolCallDelta.from_piece(piece)
            self.output.note(call.name)
            self.output.note(call.arguments)
            self.output.size.add(call.id)
            if call.extra:
                self.output.size.add_value(call.extra)
            add_call(call, position)
            self.output.size.check_call_count(len(self._calls))
        for name in BLOCK_FIELDS:
            if name in delta:
                self.output.size.add_value(delta[name])
        self.output.note(self.reasoning.add(delta, is_whole=is_whole))

    def _note_usage(self, report: object) -> None:
        usage = _parse_usage(report, counts_reasoning_apart=self._counts_reasoning_apart)
        if usage is not None:
            self.output.usage = usage
            self.output.is_half_usage = not (usage.input_tokens and usage.output_tokens)

    def _join_surrogates(self, text: str) -> str:
        """Join surrogate pairs that were split between two chunks; return the text."""
        self.output.note(text)  # with the tags and what is between them
        if self._pending_surrogate or not text.isascii():
            text, self._pending_surrogate = _split_trailing_surrogate(self._pending_surrogate + text)
        if self._tags is not None:
            text = self._tags.feed(text)
            self.reasoning.add_text(self._tags.take_reasoning())
        if text:
            add_piece(self._pieces, text)
        return text


def parse_json_object(data: bytes) -> Mapping[str, Any]:
    """Parse a JSON object sent by the provider. Raises ProviderUnavailable for anything else."""
    try:
        value: object = orjson.loads(data)
    except orjson.JSONDecodeError:
        value = _parse_leniently(data)
    if not isinstance(value, dict):
        shown = redact_and_cut(data.decode("utf-8", "replace"), MAX_SHOWN)
        raise ProviderUnavailable(f"the response is not a JSON object: {shown}")
    return cast(dict[str, Any], value)


def _normalise_finish_reason(reason: object) -> Literal["stop", "tool_calls", "length"]:
    if reason in ("length", "max_tokens"):
        return "length"
    return "tool_calls" if reason in ("tool_calls", "function_call") else "stop"


def _parse_usage(report: object, *, counts_reasoning_apart: bool) -> Usage | None:
    """Parse the reported usage; None if the provider reported no tokens, or something that is no number of tokens.

    A useless report must not fail the response, because it was paid for. A half that is missing is 0 here, and the
    gateway estimates it. `counts_reasoning_apart`: the output is what the total has beyond the input.
    """
    usage = as_mapping(report)
    tokens_in, tokens_out = as_count(usage.get("prompt_tokens")) or 0, as_count(usage.get("completion_tokens")) or 0
    if not tokens_in and not tokens_out:
        return None
    if counts_reasoning_apart:
        tokens_out = max(tokens_out, (as_count(usage.get("total_tokens")) or 0) - tokens_in)
    cached = as_count(as_mapping(usage.get("prompt_tokens_details")).get("cached_tokens")) or 0
    reasoned = as_count(as_mapping(usage.get("completion_tokens_details")).get("reasoning_tokens")) or 0
    return Usage(
        tokens_in,
        tokens_out,
        cached_input_tokens=max(0, min(cached, tokens_in)),
        reasoning_tokens=max(0, min(reasoned, tokens_out)),
    )


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

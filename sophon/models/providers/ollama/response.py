"""Response parsing for Ollama's chat API: a whole response has the form of a stream's last line.

Source: Ollama API documentation, Generate a chat message, Streaming and Thinking.
"""

import logging
from collections.abc import Mapping, Sequence
from typing import Any

from sophon._python.joined_text import add_piece
from sophon.errors import ProviderUnavailable
from sophon.messages import Usage
from sophon.models.model import AttemptOutput, ModelResponse
from sophon.models.providers.ollama.request import THINKING_FIELD
from sophon.models.providers.openai.reasoning import ReasoningAccumulator
from sophon.models.providers.openai.response_accumulator import (
    NO_CHOICE_MESSAGE,
    STREAM_CUT_MESSAGE,
    UNEXPECTED_FORM_MESSAGE,
    parse_json_object,
)
from sophon.models.providers.openai.think_tags import ThinkTagScanner
from sophon.models.providers.openai.tool_call_assembly import ToolCallAssembler, ToolCallDelta
from sophon.models.providers.provider_http_error import http_error_from_payload
from sophon.models.providers.third_party_json import as_count, as_text
from sophon.tools.tool import Tool

log = logging.getLogger("sophon")


class ResponseAccumulator:
    """Accumulator for a reply: `add_event` takes the whole response or each line of a stream, `to_response` returns
    the ModelResponse.

    Unknown fields are ignored. A response in another format raises ProviderUnavailable; an error object in its place
    raises `ProviderHttpError`; one that exceeds the limits of `output.size` raises ResponseTooLarge.
    """

    __slots__ = (
        "_calls",
        "_done_reason",
        "_has_message",
        "_has_thinking",
        "_pieces",
        "_tags",
        "is_ended",
        "output",
        "reasoning",
    )

    def __init__(self, output: AttemptOutput | None = None, *, has_think_tags: bool = False) -> None:
        self.output = output or AttemptOutput()
        """Notes of the attempt: what arrived, for the case that it fails."""
        self.reasoning = ReasoningAccumulator()
        self.is_ended = False
        """Whether the line with `done` has arrived."""
        self._calls = ToolCallAssembler()
        self._done_reason = ""
        self._has_message = False
        self._has_thinking = False
        self._pieces: list[str] = []
        self._tags = ThinkTagScanner() if has_think_tags else None

    def add_event(self, data: bytes) -> str:
        """Add a line, or a whole response; return the text in it, which is often empty."""
        try:
            return self._add_line(parse_json_object(data))
        except (AttributeError, KeyError, TypeError, ValueError, IndexError) as error:
            log.warning("%s: %r", UNEXPECTED_FORM_MESSAGE, error)
            raise ProviderUnavailable(UNEXPECTED_FORM_MESSAGE) from error

    def to_response(self, tools: Sequence[Tool], *, is_streamed: bool) -> ModelResponse:
        """Return the accumulated response. Raises ProviderUnavailable for one that was cut off, or has no message."""
        if not self._has_message and not is_streamed:
            raise ProviderUnavailable(NO_CHOICE_MESSAGE)
        if not self.is_ended:
            raise ProviderUnavailable(STREAM_CUT_MESSAGE)
        if self._tags is not None:
            self._pieces.append(self._tags.close())
            self.reasoning.add_text(self._tags.take_reasoning())
        calls = self._calls.to_calls(tools)
        return ModelResponse(
            "".join(self._pieces),
            calls,
            self.output.usage,
            "length" if self._done_reason == "length" else "tool_calls" if calls else "stop",
            reasoning=self.reasoning.text,
            # None stands for the text: see `Reasoning.fields`.
            reasoning_fields={THINKING_FIELD: None} if self._has_thinking else {},
        )

    def _add_line(self, line: Mapping[str, Any]) -> str:
        if error := line.get("error"):
            raise http_error_from_payload(error)
        self.output.has_begun = True
        text = ""
        if message := line.get("message"):
            self._has_message = True
            # The thinking of a line stands before its text.
            self._add_thinking(as_text(message.get("thinking")))
            for call in message.get("tool_calls") or ():
                self._add_call(call)
            text = self._add_text(as_text(message.get("content")))
        if line.get("done"):
            self.is_ended = True
            self._done_reason = as_text(line.get("done_reason"))
            self._note_usage(line)
        return text

    def _add_text(self, text: str) -> str:
        self.output.note(text)  # with the tags and what is between them
        if self._tags is not None:
            text = self._tags.feed(text)
            self.reasoning.add_text(self._tags.take_reasoning())
        if text:
            add_piece(self._pieces, text)
        return text

    def _add_thinking(self, text: str) -> None:
        if text:
            self._has_thinking = True
            self.output.note(text)
            self.reasoning.add_text(text)

    def _add_call(self, call: Mapping[str, Any]) -> None:
        piece = ToolCallDelta.from_piece(call)
        self.output.note(piece.name)
        self.output.note(piece.arguments)
        self.output.size.add(piece.id)
        self._calls.add_whole(piece, len(self._calls))
        self.output.size.check_call_count(len(self._calls))

    def _note_usage(self, line: Mapping[str, Any]) -> None:
        """Note the usage. The input is not reported if the server had all of it in its cache: the gateway estimates."""
        tokens_in, tokens_out = as_count(line.get("prompt_eval_count")) or 0, as_count(line.get("eval_count")) or 0
        if tokens_in > 0 or tokens_out > 0:
            self.output.usage = Usage(tokens_in, tokens_out)
            self.output.is_half_usage = not (tokens_in and tokens_out)

"""Puts together what a provider answers in OpenAI's shape, whole or in pieces."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, cast

import orjson

from sophon.errors import BadRequest, ProviderUnavailable
from sophon.messages import ToolCall, Usage
from sophon.models.model import ModelResponse
from sophon.models.refusal import told_in
from sophon.models.wire import own_names
from sophon.tools.tool import Tool

BROKEN_OFF = "the answer broke off: its stream ended before the model had finished"


@dataclass(slots=True)
class _Draft:
    """A tool call while its pieces come."""

    id: str = ""
    name: str = ""
    arguments: str = ""


class Assembly:
    """Takes a whole answer or the pieces of a streamed one, then gives the response.

    Fields that are not known are passed over. An answer in another shape raises ProviderUnavailable, an error in place
    of an answer raises Refusal.
    """

    __slots__ = ("_at", "_drafts", "_half", "_pieces", "_usage", "finish")

    def __init__(self) -> None:
        self.finish: str | None = None
        """The provider's finish reason, once it has come."""
        self._pieces: list[str] = []
        self._drafts: list[_Draft] = []
        self._at: dict[object, _Draft] = {}
        self._usage: Usage | None = None
        self._half = ""

    def add(self, chunk: Mapping[str, Any]) -> str:
        """Take an answer or a piece of it; gives the text that came with it, often the empty one."""
        try:
            return self._add(chunk)
        except (AttributeError, KeyError, TypeError, ValueError, IndexError) as error:
            raise ProviderUnavailable(f"the answer cannot be read: {error!r}") from error

    def response(self, tools: Sequence[Tool], *, streamed: bool) -> ModelResponse:
        """The response. A stream without a finish reason was cut, and raises ProviderUnavailable; BadRequest tells that
        the provider's filter withheld the answer.
        """
        if self._half:
            self._pieces.append("?")
        if streamed and self.finish is None:
            raise ProviderUnavailable(BROKEN_OFF)
        if self.finish == "content_filter":
            raise BadRequest("the provider's content filter stopped the answer; ask in other words")
        if self.finish == "error":
            raise ProviderUnavailable("the provider failed in the middle of its answer")
        names = own_names(tools) if self._drafts else {}
        calls = [_call(draft, names) for draft in self._drafts]
        return ModelResponse("".join(self._pieces), calls, self._usage, _finish(self.finish))

    def _add(self, chunk: Mapping[str, Any]) -> str:
        if error := chunk.get("error"):
            raise told_in(error)
        if usage := chunk.get("usage"):
            self._usage = _usage(usage) or self._usage
        choices = chunk.get("choices")
        if not choices:
            return ""
        choice = choices[0]
        self.finish = choice.get("finish_reason") or self.finish
        delta = choice.get("delta") or choice.get("message")
        if not delta:
            return ""
        for position, piece in enumerate(delta.get("tool_calls") or ()):
            self._take(piece, position)
        text = delta.get("content") or delta.get("refusal")
        return self._text(_plain(text)) if text else ""

    def _take(self, piece: Mapping[str, Any], position: int) -> None:
        function: Mapping[str, Any] = piece.get("function") or {}
        draft = self._draft(piece.get("id") or "", piece.get("index"), bool(function.get("name")), position)
        draft.name = draft.name or function.get("name") or ""
        arguments = function.get("arguments")
        if arguments is not None:
            draft.arguments += arguments if isinstance(arguments, str) else orjson.dumps(arguments).decode()

    def _draft(self, call_id: str, index: int | None, named: bool, position: int) -> _Draft:
        """The call a piece belongs to: by its id, else by its index. Some providers send no index, others always 0."""
        if call_id and (known := self._at.get(call_id)) is not None:
            return known
        place = position if index is None else index
        draft = self._at.get(place)
        begins = draft is not None and bool(draft.name) and (bool(call_id and draft.id) or (index is None and named))
        if draft is None or begins:
            draft = self._at[place] = _Draft()
            self._drafts.append(draft)
        if call_id:
            draft.id = call_id
            self._at[call_id] = draft
        return draft

    def _text(self, text: str) -> str:
        """The text with halves of surrogate pairs put together, which may come one by one."""
        if self._half or not text.isascii():
            text, self._half = _whole(self._half + text)
        if text:
            self._pieces.append(text)
        return text


def read_json(data: bytes) -> Mapping[str, Any]:
    """An object of the provider's. Raises ProviderUnavailable for anything else."""
    try:
        value: object = orjson.loads(data)
    except orjson.JSONDecodeError:
        value = _loosely(data)
    if not isinstance(value, dict):
        raise ProviderUnavailable(f"the answer is no JSON object: {data[:200].decode('utf-8', 'replace')}")
    return cast(dict[str, Any], value)


def read_arguments(text: str) -> tuple[dict[str, Any], str | None]:
    """The arguments of a call, and what is wrong with them if they cannot be read. Empty text and null are none."""
    if not text.strip():
        return {}, None
    try:
        # Python's own parser: orjson would round whole numbers of more than 64 bits. Raw line breaks in a text are what
        # models get wrong most, and there is only one way to read them.
        value: object = json.loads(text, strict=False, parse_constant=_refused)
    except (ValueError, RecursionError) as error:
        return {}, f"the arguments are no JSON: {error}"
    if value is None:
        return {}, None
    if not isinstance(value, dict):
        return {}, f"the arguments are no JSON object: {text[:200]}"
    return cast(dict[str, Any], value), None


def _refused(constant: str) -> None:
    raise ValueError(f"{constant} is no number in JSON")


def _call(draft: _Draft, names: Mapping[str, str]) -> ToolCall:
    arguments, malformed = read_arguments(draft.arguments)
    return ToolCall(draft.id, names.get(draft.name, draft.name), arguments, malformed)


def _finish(reason: str | None) -> Literal["stop", "tool_calls", "length"]:
    if reason in ("length", "max_tokens"):
        return "length"
    return "tool_calls" if reason in ("tool_calls", "function_call") else "stop"


def _usage(usage: Mapping[str, Any]) -> Usage | None:
    """What the provider counted; None if it counted nothing, as some do."""
    tokens_in, tokens_out = usage.get("prompt_tokens") or 0, usage.get("completion_tokens") or 0
    details: Mapping[str, Any] = usage.get("prompt_tokens_details") or {}
    cached = details.get("cached_tokens") or 0
    return Usage(int(tokens_in), int(tokens_out), 0, int(cached)) if tokens_in or tokens_out else None


def _plain(content: str | Sequence[Mapping[str, Any]]) -> str:
    """Text as it is; of a list of parts the text parts."""
    if isinstance(content, str):
        return content
    return "".join(part.get("text") or "" for part in content if part.get("type", "text") == "text")


def _whole(text: str) -> tuple[str, str]:
    """Pairs joined, lone halves as a question mark, and a first half at the end kept for what comes."""
    half = text[-1] if "\ud800" <= text[-1] <= "\udbff" else ""
    body = text[:-1] if half else text
    return body.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace"), half


def _loosely(data: bytes) -> object:
    """What Python's own parser still reads: halves of surrogate pairs, NaN."""
    try:
        return json.loads(data)
    except (ValueError, RecursionError):
        return None

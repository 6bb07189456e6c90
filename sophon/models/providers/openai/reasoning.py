"""Reasoning in the messages of OpenAI-compatible providers and litellm: reading it, and sending it back.

Providers put the text into `reasoning_content` (DeepSeek, Qwen, Kimi, vLLM; litellm for all), or `reasoning` (Ollama,
Groq, OpenRouter). With the results of tool calls they require it back unchanged: the text in `reasoning_content`,
Anthropic's signed blocks in `thinking_blocks` (litellm), OpenRouter's in `reasoning_details`, Gemini's signatures in
`extra_content` of the calls. Sources: DeepSeek API docs, Thinking Mode; Gemini API docs, Thought signatures; Anthropic
docs, Extended thinking with tool use; litellm docs, Reasoning content; OpenRouter docs, Reasoning tokens.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from sophon.messages import Message
from sophon.models.providers.third_party_json import as_list, as_mapping, as_text

TEXT_FIELDS = ("reasoning_content", "reasoning")
RETURNED_TEXT_FIELD = "reasoning_content"
"""The text field that is sent back. `reasoning` is not: its providers do not need it, and Groq rejects it."""
BLOCK_FIELDS = ("thinking_blocks", "reasoning_details")
CALL_FIELDS = "call_fields"
"""Name in `Reasoning.fields` of what came with each tool call, in their order: `extra_content`, in which Gemini puts
the signature of the thoughts before a call, and without which it rejects the result of the call.
"""
EXTRA_CONTENT = "extra_content"
FILLING = " "
"""The shortest reasoning that Moonshot and DeepSeek take for a reply whose own is not known any more."""

_JOINED_KEYS = frozenset({"thinking", "text", "summary", "data", "signature"})
"""Keys whose texts arrive in pieces."""


class ReasoningAccumulator:
    """Accumulator for the reasoning of a whole message or of the deltas of a stream."""

    __slots__ = ("_blocks", "_fields", "_pieces", "_taken")

    def __init__(self) -> None:
        self._pieces: list[str] = []
        self._taken = 0
        self._fields: set[str] = set()
        self._blocks: dict[str, list[dict[str, Any]]] = {}

    @property
    def text(self) -> str:
        """The reasoning so far."""
        return "".join(self._pieces)

    def add(self, delta: Mapping[str, Any], *, is_whole: bool) -> str:
        """Add the reasoning in a whole message or a delta; return its text, which is often empty."""
        added = ""
        for name in TEXT_FIELDS:
            text = delta.get(name)
            if isinstance(text, str) and text:
                self._fields.add(name)
                self.add_text(text)
                added = text
                break
        for name in BLOCK_FIELDS:
            for block in filter(None, map(as_mapping, as_list(delta.get(name)))):
                _add_block(self._blocks.setdefault(name, []), block, is_whole=is_whole)
        return added

    def add_parts(self, parts: Sequence[Mapping[str, Any]]) -> str:
        """Add the thoughts among the parts of a content, as Mistral sends them; return their text."""
        thoughts = [as_list(part.get("thinking")) for part in parts if part.get("type") == "thinking"]
        added = "".join(as_text(as_mapping(each).get("text")) for pieces in thoughts for each in pieces)
        self.add_text(added)
        return added

    def add_text(self, text: str) -> None:
        """Add a piece of text."""
        if text:
            # A lone surrogate, or half a pair, cannot be stored.
            self._pieces.append(text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace"))

    @property
    def has_new_text(self) -> bool:
        """Whether text was added since the last call of `take_new_text`."""
        return self._taken < len(self._pieces)

    def take_new_text(self) -> str:
        """Return the text that was added since the last call."""
        new = "".join(self._pieces[self._taken :])
        self._taken = len(self._pieces)
        return new

    def build_fields(self) -> dict[str, Any]:
        """Return the fields to send back, as in `Reasoning.fields`."""
        text_field = {RETURNED_TEXT_FIELD: None} if RETURNED_TEXT_FIELD in self._fields else {}
        return {**text_field, **self._blocks}


def fields_to_return(messages: Sequence[Message], model_id: str) -> dict[int, dict[str, Any]]:
    """Return message index -> reasoning fields to send to a model with that message.

    Only the model that made the reasoning gets it back, and only with the tool calls of the current turn.
    """
    fields: dict[int, dict[str, Any]] = {}
    for index in range(len(messages) - 1, -1, -1):
        message = messages[index]
        if message.role == "user" and not message.origin:
            break
        reasoning = message.reasoning
        if reasoning is not None and reasoning.fields and reasoning.model == model_id and message.tool_calls:
            fields[index] = {
                name: reasoning.text if value is None else value for name, value in reasoning.fields.items()
            }
    return fields


def _add_block(blocks: list[dict[str, Any]], delta: Mapping[str, Any], *, is_whole: bool) -> None:
    """Add a whole block, or the next piece of the last one: a signature ends a block."""
    last = blocks[-1] if blocks and not is_whole else None
    if last is None or last.get("signature") or not _is_same_block(last, delta):
        blocks.append(dict(delta))
        return
    for key, value in delta.items():
        if value is None:
            continue
        known = last.get(key)
        joins = key in _JOINED_KEYS and isinstance(known, str) and isinstance(value, str)
        last[key] = f"{known}{value}" if joins else value


def _is_same_block(block: Mapping[str, Any], delta: Mapping[str, Any]) -> bool:
    same = all(block.get(key) == delta.get(key) for key in ("type", "index", "id"))
    return same and block.get("type") != "redacted_thinking"

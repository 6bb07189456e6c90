"""Thinking blocks of a reply: how they are kept, and where they stand when the reply is sent back.

With the results of tool calls Anthropic requires the blocks of the reply back unchanged and in their order, signatures
and redacted blocks included. Source: Anthropic docs, Extended thinking with tool use.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from sophon.models.providers.third_party_json import as_count, as_list, as_mapping

BLOCKS_FIELD = "thinking_blocks"
"""Field of `Reasoning.fields` with the thinking blocks; litellm uses the same name."""
ORDER_FIELD = "block_order"
"""Field of `Reasoning.fields` with the order of the blocks: `thinking`, `tool_use`, or the length of a text."""

THINKING_TYPES = frozenset({"thinking", "redacted_thinking"})


def build_reasoning_fields(blocks: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return the fields of a reply's blocks, as in `Reasoning.fields`; nothing without thinking blocks."""
    thinking = [dict(block) for block in blocks if block["type"] in THINKING_TYPES]
    if not thinking:
        return {}
    return {BLOCKS_FIELD: thinking, ORDER_FIELD: [_order_entry(block) for block in blocks]}


def arrange_blocks(
    text: str, calls: Sequence[Mapping[str, Any]], fields: Mapping[str, Any] | None
) -> list[Mapping[str, Any]]:
    """Return the content blocks of a reply: thinking, text and calls in the order in which the model wrote them.

    If the reply was changed since, its thinking comes first, then its text.
    """
    thinking = [block for each in as_list((fields or {}).get(BLOCKS_FIELD)) if (block := as_mapping(each))]
    default = [*thinking, *_text_blocks(text), *calls]
    if not thinking:
        return default
    ordered = _order_blocks(text, calls, thinking, as_list((fields or {}).get(ORDER_FIELD)))
    return default if ordered is None else ordered


def _order_entry(block: Mapping[str, Any]) -> str | int:
    if block["type"] == "text":
        return len(block["text"])
    return "tool_use" if block["type"] == "tool_use" else "thinking"


def _order_blocks(
    text: str, calls: Sequence[Mapping[str, Any]], thinking: Sequence[Mapping[str, Any]], order: Sequence[Any]
) -> list[Mapping[str, Any]] | None:
    """Return the blocks in an order that was noted; None if it does not fit them."""
    lengths = [as_count(each) for each in order if not isinstance(each, str)]
    is_same = (order.count("thinking"), order.count("tool_use")) == (len(thinking), len(calls))
    if not is_same or sum(length or 0 for length in lengths) != len(text):
        return None
    ordered: list[Mapping[str, Any]] = []
    next_thinking, next_call, position = iter(thinking), iter(calls), 0
    for each in order:
        if each == "thinking":
            ordered.append(next(next_thinking))
        elif each == "tool_use":
            ordered.append(next(next_call))
        else:
            end = position + (as_count(each) or 0)
            ordered += _text_blocks(text[position:end])
            position = end
    return ordered


def _text_blocks(text: str) -> list[Mapping[str, Any]]:
    """Return a text as blocks: none if it is blank, because Anthropic rejects blank ones."""
    return [{"type": "text", "text": text}] if text and not text.isspace() else []

"""Prompt-cache marks of a request: up to four boundaries behind which later requests differ.

Anthropic caches the prompt up to each mark, in the order tools, system, messages, and looks for what earlier requests
have cached at the marks of a request and at most twenty blocks before each. Writing costs a quarter more than reading
anew. Source: Anthropic docs, Prompt caching.
"""

from collections.abc import Sequence
from typing import Any

MAX_MARKS = 4
"""Marks of a request; more are rejected: one on the tools, one on the system prompt, two on the messages."""

MARK = {"type": "ephemeral"}
"""Value of `cache_control`: cached for five minutes from the last use."""

WRITE_COST_FACTOR = 1.25
"""Price of an input token that is written to the cache for five minutes, as a multiple of the input price."""


def mark_last_block(blocks: Sequence[dict[str, Any]]) -> None:
    """Mark the last block, a tool or a text for example, if there is one."""
    if blocks:
        blocks[-1]["cache_control"] = MARK


def mark_messages(messages: Sequence[dict[str, Any]]) -> None:
    """Mark the end of the messages, and the end of the request before this one, which that has marked.

    The latter is the last message of the user before the last reply: a round with more calls than Anthropic looks back
    over finds it all the same.
    """
    ends = [index for index, message in enumerate(messages) if message["role"] == "user"]
    for index in ends[-2:]:
        mark_last_block(messages[index]["content"])

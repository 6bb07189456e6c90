"""Identity of tool calls and results: keys for detecting repeated calls."""

import hashlib
import logging

from sophon.messages import ToolCall
from sophon.tools.normalization import mask_ids_and_times
from sophon.tools.tool import Tool
from sophon.tools.untrusted_text import unfence_text

log = logging.getLogger("sophon.tools")

_MAX_PLAIN_CHARACTERS = 64
"""Longer texts are replaced by their digest: each checkpoint holds the calls of the loop detector's window."""


def call_key(call: ToolCall) -> str:
    """Return a key that two calls share exactly if name and arguments are equal; id and argument order do not
    matter.
    """
    key = call.identity
    if key is None:
        key = fingerprint(f"{call.name} {call.canonical_arguments().decode()}")
        object.__setattr__(call, "identity", key)
    return key


def comparable_result(tool: Tool | None, text: str) -> str:
    """Return what to compare of a result: without its fence, whose nonce differs each time, and as the tool normalises
    it; of a tool that does not, without times, ids and counters, unless it polls.
    """
    content = unfence_text(text)
    if tool is None or tool.normalize_result is None:
        return content if tool is not None and tool.polls else mask_ids_and_times(content)
    try:
        normalized: object = tool.normalize_result(content)
    except Exception:  # third-party code: detection must not end the turn
        log.warning("normalize_result of tool %s failed", tool.name, exc_info=True)
        return content
    if isinstance(normalized, str):  # pyright: ignore[reportUnnecessaryIsInstance] - of tools without types
        return normalized
    # The text of another object may hold its address, so that no two results would be the same.
    log.warning("normalize_result of tool %s failed: it returned %.60r, and not a text", tool.name, normalized)
    return content


def fingerprint(text: str) -> str:
    """Return a short ASCII text itself, else a digest that is the same in every process."""
    if len(text) <= _MAX_PLAIN_CHARACTERS and text.isascii():
        return text
    return "#" + hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()

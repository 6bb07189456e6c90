"""Identity of tool calls and results: keys for detecting repeated calls."""

import hashlib

from sophon.messages import ToolCall

_MAX_PLAIN_CHARACTERS = 200
"""Longer texts are replaced by their digest."""


def call_key(call: ToolCall) -> str:
    """Return a key that two calls share exactly if name and arguments are equal; id and argument order do not
    matter.
    """
    return fingerprint(f"{call.name} {call.canonical_arguments().decode()}")


def fingerprint(text: str) -> str:
    """Return a short ASCII text itself, else a digest that is the same in every process."""
    if len(text) <= _MAX_PLAIN_CHARACTERS and text.isascii():
        return text
    return "#" + hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()

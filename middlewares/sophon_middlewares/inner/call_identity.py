"""When two tool calls are the same call, and two results the same result."""

import hashlib

from sophon.messages import ToolCall

_SHORT = 200
"""Characters up to which a text stands for itself; a longer one is replaced by its digest."""


def call_key(call: ToolCall) -> str:
    """A text that two calls share exactly if they ask for the same: neither id nor order of arguments matters."""
    return fingerprint(f"{call.name} {call.canonical().decode()}")


def fingerprint(text: str) -> str:
    """The text itself while it is short and plain, else a digest that is the same in every process."""
    if len(text) <= _SHORT and text.isascii():
        return text
    return "#" + hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()

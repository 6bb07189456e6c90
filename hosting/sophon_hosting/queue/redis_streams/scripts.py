"""Lua scripts of the queue: each runs on the server as one step; see lua/state.lua for the keys."""

from functools import cache
from hashlib import sha1
from pathlib import Path

from sophon.lazy_dataclass import dataclass

_FOLDER = Path(__file__).parent / "lua"


@dataclass(frozen=True, slots=True)
class Script:
    """Script with the name under which the server keeps it."""

    text: str
    digest: str


@cache
def load_script(name: str) -> Script:
    """Load a script, with the state's functions before it."""
    text = "\n".join((_FOLDER / f"{each}.lua").read_text(encoding="utf-8") for each in ("state", name))
    return Script(text, sha1(text.encode(), usedforsecurity=False).hexdigest())

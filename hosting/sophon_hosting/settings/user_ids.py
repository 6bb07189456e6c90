"""Ids of hub users: each can be read, and none looks like another."""

import unicodedata
from collections.abc import Iterable

from sophon.invisible_characters import escape_invisible

SEPARATOR_SYMBOL = "\u241f"
"""The picture of the unit separator; it joins the parts of ids in logs and keys."""

_LOOKS_LIKE = str.maketrans(
    "\u0430\u0432\u0435\u043a\u043c\u043d\u043e\u0440\u0441\u0442\u0443\u0445\u0456\u0458\u0455\u04bb\u0501\u051b\u051d"
    "\u03b1\u03b9\u03ba\u03bd\u03bf\u03c1\u03c5\u03c7\u0131\u0261",
    "abekmhopctyxijshdqwaikvopuxig",
)
"""Lower-case Cyrillic and Greek letters, and variants of Latin ones, to the Latin letter that they look like. Source:
the common part of confusables.txt, Unicode Technical Standard 39."""


def find_id_problem(user_id: str) -> str:
    """Return why a text is no id of a user, "" if it is one: a person must be able to see what it consists of. Pure."""
    if escape_invisible(user_id) != user_id or not user_id.isprintable() or SEPARATOR_SYMBOL in user_id:
        return f"{user_id!a} has a character that cannot be seen or is reserved; use printable characters"
    if user_id != user_id.strip():
        return f"{user_id!r} begins or ends with a blank; remove it"
    return ""


def find_look_alikes(user_ids: Iterable[str]) -> list[tuple[str, str]]:
    """Return pairs of ids that a person may take for each other, in order of the later one. Pure."""
    first: dict[str, str] = {}
    return [(other, each) for each in user_ids if (other := first.setdefault(_skeleton(each), each)) != each]


def _skeleton(user_id: str) -> str:
    folded = unicodedata.normalize("NFKC", user_id).casefold().translate(_LOOKS_LIKE)
    return unicodedata.normalize("NFKC", folded)

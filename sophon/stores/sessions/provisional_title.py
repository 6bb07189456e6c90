"""Provisional title of a session: the beginning of its first message, until it has a title."""

import unicodedata
from typing import Final

from sophon.invisible_characters import is_blank
from sophon.security import redact
from sophon.tools.untrusted_text import FENCE_ELEMENT

MAX_TITLE_CHARACTERS: Final = 60
READ_CHARACTERS: Final = 2000
"""Characters of a message that are looked at."""


def provisional_title(text: str) -> str:
    """Return the first line that shows something, in one line without secrets, cut at a word; "" if there is none."""
    lines = [each for each in redact(text[:READ_CHARACTERS]).splitlines() if not is_blank(each)]
    # A line in brackets is the mark of a turn that no person began, `[SCHEDULED TASK: News]`; a tag of a fence is for
    # the model.
    line = next((each for each in lines if not _is_mark(each)), lines[0] if lines else "")
    visible = "".join(" " if each.isspace() else each for each in line if not _is_hidden(each))
    title = " ".join(visible.split())
    if len(title) <= MAX_TITLE_CHARACTERS:
        return title
    head, space, _ = title[: MAX_TITLE_CHARACTERS - 1].rpartition(" ")
    return f"{head if space else title[: MAX_TITLE_CHARACTERS - 1]}…"


def _is_mark(line: str) -> bool:
    in_brackets = line.startswith("[") and line.endswith("]") and line[1:].split(":")[0].isupper()
    return in_brackets or line.startswith((f"<{FENCE_ELEMENT}-", f"</{FENCE_ELEMENT}-"))


def _is_hidden(character: str) -> bool:
    """Return whether a character is a control or format character, or a lone surrogate."""
    return unicodedata.category(character) in ("Cc", "Cf", "Cs", "Co", "Cn") and not character.isspace()

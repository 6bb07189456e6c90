"""Escaping of control characters in text from models, tools, files and users, before it is written to a terminal.

Escape sequences move the cursor, rename windows and write to the clipboard; bidirectional controls and invisible
characters make a command look like another one (Unicode Technical Report 36, 3.1).
"""

import re
import unicodedata

_UNSAFE = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f"  # control characters except tab and newline
    "\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb"  # bidi, invisible, line separators
    "\ud800-\udfff"  # lone surrogates, which cannot be encoded
    "\U000e0000-\U000e007f]"  # tags: invisible ASCII
)
_CONTROL_PICTURES = 0x2400


def escape_control_characters(text: str) -> str:
    """Replace every character that a terminal would interpret by a visible one: `␛`, `⟨U+202E⟩`.

    Tabs and newlines stay; a carriage return before a newline (Windows line ends) is dropped.
    """
    return _UNSAFE.sub(_replacement, text.replace("\r\n", "\n"))


def to_single_line(text: str, width: int | None = None) -> str:
    """Escape control characters, collapse white space to single spaces, and cut to `width` characters with an `…`."""
    line = escape_control_characters(" ".join(text.split()))
    return line if width is None or len(line) <= width else f"{line[: max(width - 1, 0)]}…"


def remove_invisible(text: str) -> str:
    """Return a text in one line: control, format and private characters, and every white space, become one space."""
    visible = (" " if unicodedata.category(char)[0] in "CZ" else char for char in text)
    return " ".join("".join(visible).split())


def _replacement(match: re.Match[str]) -> str:
    code = ord(match[0])
    if code < 0x20:
        return chr(_CONTROL_PICTURES + code)
    if code == 0x7F:
        return "␡"
    return "\ufffd" if 0xD800 <= code <= 0xDFFF else f"⟨U+{code:04X}⟩"

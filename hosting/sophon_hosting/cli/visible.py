"""Text from models, tools, files and people, made safe for a terminal: what would act on it becomes something to see.

Escape sequences move the cursor, rename windows and fill clipboards; bidirectional controls and invisible characters
make a command look like another one (Unicode Technical Report 36, 3.1).
"""

import re

_ACTING = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f"  # control characters but for tab and newline
    "\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb"  # bidi, invisible, line separators
    "\ud800-\udfff"  # halves of surrogate pairs, which cannot be written
    "\U000e0000-\U000e007f]"  # tags: invisible ASCII
)
_CONTROL_PICTURES = 0x2400


def visible(text: str) -> str:
    """The text with every character that acts on a terminal shown instead: `␛`, `⟨U+202E⟩`. Tabs and line ends stay,
    and a carriage return in front of a line end, as Windows writes it, is dropped.
    """
    return _ACTING.sub(_picture, text.replace("\r\n", "\n"))


def on_one_line(text: str, width: int | None = None) -> str:
    """The same on one line: white space is one space, and what is longer than `width` characters is cut with an `…`."""
    line = visible(" ".join(text.split()))
    return line if width is None or len(line) <= width else f"{line[: max(width - 1, 0)]}…"


def _picture(match: re.Match[str]) -> str:
    code = ord(match[0])
    if code < 0x20:
        return chr(_CONTROL_PICTURES + code)
    if code == 0x7F:
        return "␡"
    return "\ufffd" if 0xD800 <= code <= 0xDFFF else f"⟨U+{code:04X}⟩"

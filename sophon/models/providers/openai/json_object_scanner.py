"""Scanner that finds the end of a JSON object which arrives in pieces; it reads every character once."""

import re

from sophon.lazy_dataclass import dataclass

_NO_WHITE_SPACE = re.compile(r"[^ \t\n\r]")
_STRUCTURE = re.compile(r'["{}\[\]]')
_IN_STRING = re.compile(r'["\\]')


@dataclass(slots=True)
class JsonObjectScanner:
    """Whether the text so far is one object whose brackets are closed.

    It says nothing about the validity of what is between them: a closed text has to be parsed, and only that one.
    `is_closed` becomes False again, for good, if anything but white space follows.
    """

    is_closed: bool = False
    _depth: int = 0
    _is_in_string: bool = False
    _is_escaped: bool = False
    _is_broken: bool = False

    def feed(self, text: str) -> None:
        """Read the next piece."""
        position = 0
        while position < len(text) and not self._is_broken:
            if self._is_escaped:
                self._is_escaped = False
                position += 1
                continue
            found = self._next_pattern().search(text, position)
            if found is None:
                return
            self._read(found[0])
            position = found.end()

    def _next_pattern(self) -> re.Pattern[str]:
        if self._is_in_string:
            return _IN_STRING
        return _STRUCTURE if self._depth else _NO_WHITE_SPACE

    def _read(self, character: str) -> None:
        if self._is_in_string:
            self._is_escaped = character == "\\"
            self._is_in_string = self._is_escaped
        elif not self._depth and (self.is_closed or character != "{"):
            self._is_broken, self.is_closed = True, False
        elif character == '"':
            self._is_in_string = True
        else:
            self._depth += 1 if character in "{[" else -1
            self.is_closed = not self._depth

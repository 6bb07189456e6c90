"""Options of `tar`: what a call does, and with which archive and folders."""

from collections.abc import Mapping, Sequence
from typing import Final

from sophon._python.lazy_dataclass import dataclass
from sophon.security.commands.syntax import Word


@dataclass(frozen=True, slots=True)
class TarCall:
    """What a call of `tar` does. With `is_plain` the names of the archive are those of the files, without their first
    `strip` folders; `folders` are those that it changes to.
    """

    archive: Word | None = None
    folders: tuple[Word, ...] = ()
    extracts: bool = False
    creates: bool = False
    strip: int = 0
    is_plain: bool = True


def read_tar(arguments: Sequence[Word]) -> TarCall:
    """Return what a call of `tar` does, from its options in any of their three styles."""
    reader = _Reader(arguments)
    reader.read()
    modes, archives = reader.modes, reader.values.get("f", [])
    archive = archives[-1] if archives and archives[-1].text != "-" else None
    return TarCall(
        archive=archive,
        folders=tuple(reader.values.get("C", ())),
        extracts="x" in modes and "O" not in modes,
        creates=bool(modes & {"c", "r", "u", "A"}) and "x" not in modes,
        strip=reader.strip,
        is_plain=reader.is_plain and not modes - _PLAIN,
    )


class _Reader:
    """Reads the options from the left to the right."""

    def __init__(self, arguments: Sequence[Word]) -> None:
        self._rest = list(arguments)
        self.modes: set[str] = set()
        self.values: dict[str, list[Word]] = {}
        self.strip, self.is_plain = 0, True

    def read(self) -> None:
        if self._rest and not self._rest[0].text.startswith("-"):  # the old style: values follow in their order
            for letter in self._rest.pop(0).text:
                self._add(letter, None)
        while self._rest:
            word = self._rest.pop(0)
            if word.text == "--":
                return
            if word.text.startswith("--"):
                self._read_long(word)
            elif word.text.startswith("-"):
                self._read_cluster(word)

    def _read_cluster(self, word: Word) -> None:
        for index, letter in enumerate(word.text[1:], start=2):
            behind = word.text[index:]
            self._add(letter, Word(behind, word.is_dynamic) if behind else None)
            if letter in _WITH_VALUE:
                return

    def _read_long(self, word: Word) -> None:
        name, _, value = word.text.partition("=")
        given = Word(value, word.is_dynamic) if value else None
        if name in _LONG:
            self._add(_LONG[name], given)
        elif name == "--strip-components":
            count = (given or self._next()).text
            self.is_plain = self.is_plain and count.isdigit()
            self.strip = int(count) if count.isdigit() else 0
        elif name == "--exclude":
            _ = given or self._next()
        else:
            self.is_plain = self.is_plain and name in _HARMLESS

    def _add(self, letter: str, value: Word | None) -> None:
        self.modes.add(letter)
        if letter in _WITH_VALUE:
            self.values.setdefault(letter, []).append(value or self._next())

    def _next(self) -> Word:
        return self._rest.pop(0) if self._rest else Word("", is_dynamic=True)


_LONG: Final[Mapping[str, str]] = {
    "--extract": "x",
    "--get": "x",
    "--create": "c",
    "--append": "r",
    "--update": "u",
    "--concatenate": "A",
    "--file": "f",
    "--directory": "C",
    "--to-stdout": "O",
    "--list": "t",
}
_WITH_VALUE: Final = frozenset("fCbTXgNKVIHL")
_PLAIN: Final = frozenset("xctruAOfCvzjJapkmowSTXbZUd")
"""Options that change no name."""
_HARMLESS: Final = frozenset(
    {
        *("--gzip", "--gunzip", "--ungzip", "--bzip2", "--xz", "--zstd", "--auto-compress", "--verbose", "--touch"),
        *("--keep-old-files", "--skip-old-files", "--keep-newer-files", "--overwrite"),
        *("--no-same-owner", "--no-same-permissions", "--same-permissions"),
    }
)

"""Front matter: YAML between two lines `---` in front of a text, and checked access to its keys.

Skills and agents are such files. A value that is not as it must be becomes a problem with its file and line.
"""

import re
import stat
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from typing import Any, Final, TypeGuard

from sophon._python.lazy_dataclass import dataclass
from sophon._python.strict_yaml import StrictYamlError, parse_yaml_with_lines

MAX_FILE_BYTES: Final = 200_000
"""Maximum size of a file with front matter."""

MAX_NAME_CHARACTERS: Final = 64
MAX_NAMES: Final = 64
"""Names in a list of names."""

_NAME: Final = re.compile(r"[a-z0-9]+(?:-[a-z0-9]+)*")
_FENCE: Final = re.compile(r"^---[ \t]*$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class FileProblem:
    """A problem of a file: the line from 1 (0: the file as a whole), and a sentence."""

    path: Path
    line: int
    message: str

    def __str__(self) -> str:
        return f"{self.path}:{self.line}: {self.message}" if self.line else f"{self.path}: {self.message}"


class FrontMatterFields:
    """The keys of a front matter. A value that is not as it must be becomes a problem, and a default."""

    def __init__(
        self, content: Mapping[object, Any], lines: Mapping[str, int], path: Path, known: Collection[str]
    ) -> None:
        self.content, self.path = content, path
        self._lines = lines
        self.problems: list[FileProblem] = []
        for key in content:
            if key not in known:
                self.note(str(key), f"the key {key!r} is unknown; known are {', '.join(sorted(known))}")

    def find(self, key: str) -> object:
        """Return the value of a key, None without it."""
        return self.content.get(key)

    def read_text(self, key: str, limit: int, *, required_because: str = "") -> str:
        """Return a text, "" without one; `required_because` says what a required one is for."""
        value = self.content.get(key)
        if value is None or value == "":
            if required_because:
                self.note(key, f"a {key} is missing: {required_because}")
        elif not isinstance(value, str):
            self.note(key, f"{key} must be text; put it in quotes")
        elif len(value) > limit:
            self.note(key, f"{key} has {len(value)} characters; at most {limit} are allowed")
        else:
            return value.strip()
        return ""

    def read_names(self, key: str) -> tuple[str, ...] | None:
        """Return names given as a list, or as text between blanks or commas; None if there is no such key."""
        value = self.find(key)
        if value is None:
            return None
        names: object = re.split(r"[\s,]+", value.strip()) if isinstance(value, str) else value
        if not is_text_list(names):
            self.note(key, f"{key} must be a list of names")
        elif len(names) > MAX_NAMES:
            self.note(key, f"{key} has {len(names)} names; at most {MAX_NAMES} are allowed")
        else:
            return tuple(dict.fromkeys(each for each in names if each))
        return ()

    def read_number(self, key: str, least: float, most: float) -> float | None:
        """Return a number, given as one or as text; None without it, and for one out of its bounds."""
        value = self.find(key)
        if value is None:
            return None
        try:
            number = float(value) if isinstance(value, str | int | float) and not isinstance(value, bool) else None
        except (ValueError, OverflowError):
            number = None
        if number is not None and least <= number <= most:
            return number
        self.note(key, f"the {key} {value!r} must be a number from {least:g} to {most:g}")
        return None

    def note(self, key: str, message: str) -> None:
        """Note a problem at the line of a key."""
        self.problems.append(FileProblem(self.path, self._lines.get(key, 0) + 1, message))


def read_text_file(path: Path, problems: list[FileProblem]) -> str | None:
    """Return the text of a file, or None after noting why it cannot be read. Blocks."""
    try:
        mode = path.stat().st_mode
        if not stat.S_ISREG(mode) and not stat.S_ISDIR(mode):  # reading a pipe would wait for whoever writes to it
            problems.append(FileProblem(path, 0, "it is no regular file"))
            return None
        with path.open("rb") as file:
            content = file.read(MAX_FILE_BYTES + 1)
        if len(content) > MAX_FILE_BYTES:
            problems.append(FileProblem(path, 0, f"it is larger than {MAX_FILE_BYTES} bytes"))
            return None
        return content.decode("utf-8-sig").replace("\r\n", "\n")
    except UnicodeDecodeError:
        problems.append(FileProblem(path, 0, "it is not UTF-8 text"))
    except OSError as error:
        problems.append(FileProblem(path, 0, f"it cannot be read: {error.strerror or error}"))
    return None


def parse_front_matter(
    text: str, path: Path, problems: list[FileProblem]
) -> tuple[Mapping[object, Any], Mapping[str, int], str] | None:
    """Return the keys, their lines and the text below; None after noting why there are none."""
    front = split_front_matter(text)
    if front is None:
        problems.append(FileProblem(path, 1, "it does not begin with front matter between two lines `---`"))
        return None
    header, body = front
    try:
        content, lines = parse_yaml_with_lines(header)
    except StrictYamlError as error:
        problems.append(FileProblem(path, error.line + 1, str(error)))  # one line further down: `---`
        return None
    if not is_mapping(content):
        problems.append(FileProblem(path, 2, "the front matter must be a mapping with name and description"))
        return None
    return content, lines, body


def split_front_matter(text: str) -> tuple[str, str] | None:
    """Split a text into its front matter, between two lines `---`, and the rest; None without front matter."""
    fences = list(_fences(text))
    if len(fences) < 2 or fences[0].start() != 0:
        return None
    return text[fences[0].end() + 1 : fences[1].start()], text[fences[1].end() + 1 :]


def find_name_problem(name: str) -> str | None:
    """Return why a text is no name, or None."""
    if len(name) <= MAX_NAME_CHARACTERS and _NAME.fullmatch(name) is not None:
        return None
    return f"the name {name[:80]!r} must have 1 to {MAX_NAME_CHARACTERS} lower-case letters, digits and single hyphens"


def is_mapping(value: object) -> TypeGuard[Mapping[object, Any]]:
    """Return whether a value read from YAML is a mapping."""
    return isinstance(value, Mapping)


def is_text_list(value: object) -> TypeGuard[list[str]]:
    """Return whether a value read from YAML is a list of texts."""
    return isinstance(value, list) and all(isinstance(each, str) for each in value)  # pyright: ignore[reportUnknownVariableType]


def _fences(text: str) -> Iterator[re.Match[str]]:
    for number, match in enumerate(_FENCE.finditer(text)):
        if number == 2:
            return
        yield match

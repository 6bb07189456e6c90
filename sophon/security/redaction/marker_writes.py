"""Marker writes: what a tool call would write that holds a redaction marker, and into which files.

A model reads `[REDACTED]` in place of a secret. If it writes a file back as it has read it, the secret is lost.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final, cast

from sophon._python.lazy_dataclass import dataclass
from sophon.security.action_types import PATH_ARGUMENTS
from sophon.security.file_access import find_file_accesses, read_command_text
from sophon.security.redaction.known_secrets import MARKER
from sophon.security.redaction.text_redaction import redact

_MARKERS: Final = re.compile(r"\[REDACTED\]|%5BREDACTED%5D", re.IGNORECASE)
"""The marker, also percent-encoded."""

_SEARCHED_ARGUMENTS: Final = re.compile(
    r"(?:old|search|find|pattern|before|original|query|match)(?:[_-]?(?:str|string|text|content|value))?",
    re.IGNORECASE,
)
"""Arguments of an edit that are looked for in the file, and not written to it."""

_DIFF_TARGET: Final = re.compile(
    r"^(?:\+\+\+ (?:b/)?(?P<unified>[^\t\n]+)|\*\*\* (?:Add|Update) File: (?P<envelope>[^\n]+))", re.MULTILINE
)


@dataclass(frozen=True, slots=True)
class MarkerWrite:
    """A file that a call would write with `count` markers in the text; `path` is None if it cannot be told.

    With `replaces` the text becomes the whole content of the file.
    """

    path: str | None
    count: int
    replaces: bool = False


def count_markers(text: str) -> int:
    """Return how many redaction markers a text holds."""
    return sum(1 for _ in _MARKERS.finditer(text)) if "REDACTED" in text or "redacted" in text.lower() else 0


def may_hold_marker(canonical: bytes) -> bool:
    """Return whether any text in the arguments, as canonical JSON, can hold a marker: the cheap test."""
    return b"redacted" in canonical.lower()


def find_marker_writes(action_type: str, arguments: Mapping[str, Any], folder: str) -> list[MarkerWrite]:
    """Return the writes of a call that hold a marker; relative paths are taken from `folder`.

    Found are the arguments of file tools, the added lines of patches, and the files that a shell command writes. A
    command with a marker that may write files which cannot be told has a write without a path.
    """
    if action_type == "execute_command":
        return _find_in_command(read_command_text(arguments), folder)
    texts = [text for text in _written_texts(arguments) if count_markers(text)]
    if not texts:
        return []
    patches = [(path, added) for text in texts for path, added in split_patch(text)]
    if patches and action_type != "write_file":
        return [
            MarkerWrite(_resolve(path, folder), count_markers(added)) for path, added in patches if count_markers(added)
        ]
    count = sum(map(count_markers, texts))
    replaces = action_type == "write_file" and not arguments.get("append")
    accesses = find_file_accesses(action_type, arguments, folder)
    return [MarkerWrite(access.path, count, replaces) for access in accesses if access.operation == "write"]


def loses_secret(write: MarkerWrite, content: str | None) -> bool:
    """Return whether a write puts a marker into a file where none stood; `content` is None for a file without text.

    A file that holds the marker may be written with it. If it also holds secrets, its new content may not have more
    markers than it has now: the others stand for the secrets.
    """
    held = count_markers(content) if content is not None else 0
    if content is None or not held:
        return True
    return write.replaces and write.count > held and redact(content) != content


def split_patch(text: str) -> list[tuple[str, str]]:
    """Return the files of a patch with the lines that it adds to each: a unified diff, or `*** Update File:` blocks."""
    headers = list(_DIFF_TARGET.finditer(text))
    ends = [*(each.start() for each in headers[1:]), len(text)]
    return [
        ((header["unified"] or header["envelope"]).strip(), _added_lines(text[header.end() : end]))
        for header, end in zip(headers, ends, strict=False)
    ]


def _added_lines(hunks: str) -> str:
    return "\n".join(line[1:] for line in hunks.splitlines() if line.startswith("+"))


def _written_texts(arguments: Mapping[str, Any]) -> Iterator[str]:
    for name, value in arguments.items():
        if name in PATH_ARGUMENTS or _SEARCHED_ARGUMENTS.fullmatch(name):
            continue
        yield from _texts_of(value)


def _texts_of(value: Any, depth: int = 0) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif depth > _MAX_DEPTH:
        yield MARKER if count_markers(str(value)) else ""
    elif isinstance(value, Mapping):
        for name, each in cast("Mapping[object, Any]", value).items():
            if not _SEARCHED_ARGUMENTS.fullmatch(str(name)):
                yield from _texts_of(each, depth + 1)
    elif isinstance(value, list | tuple):
        for each in cast("list[Any]", value):
            yield from _texts_of(each, depth + 1)


_MAX_DEPTH: Final = 32
_DEVICES: Final = ("/dev/null", "/dev/stdout", "/dev/stderr", "/dev/tty")


def _find_in_command(command: str, folder: str) -> list[MarkerWrite]:
    count = count_markers(command)
    if not count:
        return []
    # Lazy: the grammar of the shell is needed by few processes.
    from sophon.security.commands.write_targets import find_write_targets

    patches = [(path, added) for path, added in split_patch(command) if count_markers(added)]
    targets = find_write_targets(command, folder)
    paths = [_resolve(path, folder) for path, _ in patches]
    # The script of `sed -i` counts as a target, too.
    paths += [path for path in targets.paths if path not in _DEVICES and not count_markers(path)]
    writes = [MarkerWrite(path, count) for path in dict.fromkeys(paths)]
    return writes or ([] if targets.is_complete else [MarkerWrite(None, count)])


def _resolve(path: str, folder: str) -> str:
    return find_file_accesses("write_file", {"path": path}, folder)[0].path if path else folder

"""Globs of paths: `**` for any number of folders, `*` and `?` within one, `[...]`, `{a,b}`, and `~` for the home."""

import os
import re
from collections.abc import Sequence
from pathlib import PurePosixPath
from typing import Final

from sophon.security.linear_patterns import LinearPattern, PatternError, compile_linear

MAX_GLOB_CHARACTERS: Final = 500

MAX_ALTERNATIVES: Final = 20


class GlobError(ValueError):
    """A glob that cannot be read."""


def compile_glob(glob: str, *, widens: bool) -> LinearPattern:
    """Return the pattern that matches the normalised paths of a glob. Raises GlobError.

    With `widens`, for rules that restrict, it matches without regard to case, and a relative glob matches the end of a
    path, from a folder on: `.git/hooks/**` means the hooks of every repository. Without it, for rules that allow, a
    relative glob matches relative paths only.
    """
    if not glob or len(glob) > MAX_GLOB_CHARACTERS or "\0" in glob:
        raise GlobError(f"{glob[:80]!r} is empty, too long, or contains a NUL character")
    normalized = _expand_home(glob.replace("\\", "/"))
    absolute = normalized.startswith(("/", "**")) or re.match(r"[A-Za-z]:/", normalized) is not None
    prefix = r"(?:.*/)?" if widens and not absolute else ""
    try:
        return compile_linear(prefix + _translate(normalized), ignore_case=widens)
    except PatternError as error:
        raise GlobError(f"{glob!r} cannot be read: {error}") from error


def compile_globs(globs: Sequence[str], *, widens: bool) -> LinearPattern:
    """Return one pattern that matches the paths of any of the globs. Raises GlobError."""
    patterns = [compile_glob(glob, widens=widens) for glob in globs]
    try:
        return compile_linear("|".join(f"(?:{each.pattern})" for each in patterns), ignore_case=widens)
    except PatternError as error:
        raise GlobError(f"the {len(globs)} globs are too many for one rule: {error}") from error


def normalize_path(path: str) -> str:
    """Return the path as globs see it: `/` as separator, home expanded, `.` and `..` resolved, links not followed."""
    expanded = _expand_home(path.replace("\\", "/"))
    normalized = os.path.normpath(expanded)
    return "/" + normalized.lstrip("/") if normalized.startswith("//") else normalized


def _expand_home(path: str) -> str:
    if path == "~" or path.startswith("~/"):
        return str(PurePosixPath(os.path.expanduser("~"), path[2:]))  # noqa: PTH111 - Path.home raises without one
    return path


def _translate(glob: str) -> str:
    """Return the regular expression of a glob."""
    parts: list[str] = []
    position = 0
    while position < len(glob):
        text, position = _translate_next(glob, position)
        parts.append(text)
    return "".join(parts)


def _translate_next(glob: str, position: int) -> tuple[str, int]:
    if glob.startswith("**/", position):
        return r"(?:[^/]*/)*", position + 3
    if glob.startswith("/**", position) and position + 3 == len(glob):
        return r"(?:/.*)?", position + 3
    if glob.startswith("**", position):
        return ".*", position + 2
    character = glob[position]
    if character == "*":
        return "[^/]*", position + 1
    if character == "?":
        return "[^/]", position + 1
    if character == "[":
        return _translate_set(glob, position)
    if character == "{":
        return _translate_alternatives(glob, position)
    return re.escape(character), position + 1


def _translate_set(glob: str, position: int) -> tuple[str, int]:
    end = glob.find("]", position + 2)
    if end < 0:
        raise GlobError(f"{glob!r}: a [ is not closed")
    inner = glob[position + 1 : end]
    negated = inner[0] in "!^"
    characters = inner[1:] if negated else inner
    if not characters or "/" in characters:
        raise GlobError(f"{glob!r}: [{inner}] must hold characters other than /")
    content = "".join(f"\\{each}" if each in "\\]^[&~|" else each for each in characters)
    return f"[{'^/' if negated else ''}{content}]", end + 1


def _translate_alternatives(glob: str, position: int) -> tuple[str, int]:
    end = glob.find("}", position)
    options = glob[position + 1 : end].split(",") if end > 0 else []
    if end < 0 or len(options) > MAX_ALTERNATIVES or any(mark in option for option in options for mark in "*?[{"):
        raise GlobError(f"{glob!r}: {{...}} must be closed, and hold at most {MAX_ALTERNATIVES} plain texts")
    return f"(?:{'|'.join(map(re.escape, options))})", end + 1

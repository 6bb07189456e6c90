"""Summary of an old tool result in one line: its size and type, without a model and without any of its text.

Source: OpenParallax. Errors, and what was loaded with `load_tools`, keep their first line. Skills that
were loaded stay whole: there they are a part of the prompt, and the task that needs them may take many turns.
"""

import re
from typing import Final

from sophon._python.lazy_pattern import lazy_pattern
from sophon.tools.untrusted_text import FENCE_ELEMENT, unfence_text

SUMMARY_PREFIX: Final = "[Summary:"
TOOLS_LOADER: Final = "load_tools"
SKILLS_LOADER: Final = "load_skills"
ERROR_PREFIX: Final = "error:"
MAX_ERROR_CHARACTERS: Final = 100
MAX_LINE_CHARACTERS: Final = 500
"""Characters that are kept of the first line of what was loaded."""
SAMPLE_CHARACTERS: Final = 4096
"""Characters from which the type is inferred: the beginning."""

_HTML = lazy_pattern(r"<!doctype html|<(?:html|head|body|div|table|script|p|ul|span)\b", re.IGNORECASE)
_GO = lazy_pattern(r"^package \w+\s*$", re.MULTILINE)
_PYTHON = lazy_pattern(r"^(?:import [\w., ]+|from [\w.]+ import |(?:async )?def \w+\(.*|class \w+.*:)\s*", re.MULTILINE)
_COMMAND = lazy_pattern(r"^(?:\$ |exit (?:code|status)\b|stdout:|stderr:)", re.MULTILINE | re.IGNORECASE)
_MARKDOWN = lazy_pattern(r"^(?:#{1,6} \S|```|[-*] \[|\[[^\]\n]+\]\([^)\n]+\))", re.MULTILINE)
_TYPES: Final = (
    ("HTML", _HTML),
    ("Go", _GO),
    ("Python", _PYTHON),
    ("command output", _COMMAND),
    ("Markdown", _MARKDOWN),
)


def summarise_result(tool: str, text: str, *, origin: str = "") -> str:
    """Return the summary of a tool's result; one that is a summary already is returned as it is.

    `origin` as of its message: `denied` counts as an error. Bytes are those in UTF-8, without fences.
    """
    if text.startswith(SUMMARY_PREFIX):
        return text
    if text.startswith(ERROR_PREFIX) or origin == "denied":
        return f"{SUMMARY_PREFIX} {tool} failed: {_first_line(text.removeprefix(ERROR_PREFIX), MAX_ERROR_CHARACTERS)}]"
    if tool == SKILLS_LOADER:
        return text
    if tool == TOOLS_LOADER:
        return f"{SUMMARY_PREFIX} {tool} returned: {_first_line(text, MAX_LINE_CHARACTERS)}]"
    content = unfence_text(text)
    lines = content.count("\n") + bool(content and not content.endswith("\n"))
    size = len(content.encode("utf-8", "replace"))
    return (
        f"{SUMMARY_PREFIX} {tool} returned {size} bytes ({lines} line{'' if lines == 1 else 's'}) of "
        f"{infer_type(content)}, which are no longer shown; call it again if you need them and nothing is done twice]"
    )


def infer_type(text: str) -> str:
    """Return `HTML`, `Go`, `Python`, `JSON`, `Markdown`, `command output` or `text`, from the beginning of a text."""
    sample = text[:SAMPLE_CHARACTERS].strip()
    if sample[:1] + text[-SAMPLE_CHARACTERS:].rstrip()[-1:] in ("{}", "[]"):
        return "JSON"
    return next((name for name, pattern in _TYPES if pattern.search(sample)), "text")


def _first_line(text: str, limit: int) -> str:
    """Return the first line, at most `limit` characters; it ends before a fence, whose text is untrusted."""
    line = text[: limit * 4].strip().partition("\n")[0].partition(f"<{FENCE_ELEMENT}-")[0].rstrip()
    return line if len(line) <= limit else f"{line[: limit - 1]}…"

"""Every command that a page, a help text or a docstring names exists."""

import re
from collections.abc import Iterator
from pathlib import Path

from typer.main import get_command

from sophon_hosting.cli.app import import_command, load_commands

ROOT = Path(__file__).parents[2]
NAMED = re.compile(r"`(sophon [^`\n]+)`|^ *(sophon [a-z-][^\n]*)$", re.MULTILINE)
OPTION_WITH_VALUE = re.compile(r"--(?:settings|set|user|url)[ =]\S+")
FOLDERS = ("sophon", "middlewares", "hosting/sophon_hosting", "channels", "docs")
PLACEHOLDER = "COMMAND"


def test_each_command_that_a_text_names_exists() -> None:
    verbs = {name: _list_verbs(name) for name in load_commands()}
    unknown = [f"{path}: {text}" for path, text in _list_named() if not _exists(text, verbs)]
    assert not unknown, "\n".join(unknown)


def _list_named() -> Iterator[tuple[str, str]]:
    files = [ROOT / "README.md", *(each for folder in FOLDERS for each in (ROOT / folder).rglob("*.*"))]
    for file in files:
        if file.suffix in (".py", ".md") and "decisions" not in file.parts:
            for named in NAMED.finditer(file.read_text()):
                yield str(file.relative_to(ROOT)), named[1] or named[2]


def _list_verbs(command: str) -> set[str]:
    group = get_command(import_command(command).app)
    return set(getattr(group, "commands", ()))


def _exists(text: str, verbs: dict[str, set[str]]) -> bool:
    words = [each for each in OPTION_WITH_VALUE.sub("", text).split()[1:] if not each.startswith("-")]
    if not words or words[0] == PLACEHOLDER:
        return True
    command = words[0].rstrip(".,;:)")
    if command not in verbs:
        return False
    named = words[1].split("|") if len(words) > 1 and verbs[command] else []
    return all(each in verbs[command] for each in named if re.fullmatch("[a-z][a-z-]*", each))

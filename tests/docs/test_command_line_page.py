"""docs/cli.md is made of the commands, so what `--help` says of them must be whole."""

from collections.abc import Iterator
from typing import Any

import pytest
import typer
from typer.main import get_command

from sophon_hosting.cli.app import import_command, load_commands
from sophon_hosting.reference.command_tables import command_sections, commands_table


@pytest.mark.parametrize("name", load_commands())
def test_a_command_and_its_parameters_have_a_sentence_and_a_named_value(name: str) -> None:
    silent: list[str] = []
    for path, command in _walk(name, get_command(import_command(name).app)):
        context = typer.Context(command)
        silent += [] if command.help else [path]
        for each in command.params:
            usage, sentence = each.get_help_record(context) or ("", "hidden")
            if not each.help or not sentence or (usage.endswith(("<str>", "<int>", "<float>")) and not each.metavar):
                silent.append(f"{path} {usage}")
    assert not silent, "\n".join(silent)


def test_the_list_links_to_the_section_of_each_command() -> None:
    table, sections = commands_table(), command_sections()
    assert all(f"](#sophon-{name})" in table and f"### sophon {name}\n" in sections for name in load_commands())


def test_a_row_has_usage_arguments_options_and_what_many_commands_share() -> None:
    row = next(row for row in command_sections().splitlines() if row.startswith("| `queue retry"))
    assert row == (
        "| `queue retry [ID]` | Queue a dead letter again: a task as a new one, a message to a chat in its old place."
        "<br>`ID`: The task or message of a dead letter.<br>`--all`: Retry all dead letters.<br>Also `--url URL`. |"
    )


def _walk(path: str, command: Any) -> Iterator[tuple[str, Any]]:
    yield path, command
    for verb, each in getattr(command, "commands", {}).items():
        yield from _walk(f"{path} {verb}", each)

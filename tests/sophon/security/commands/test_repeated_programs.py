"""Commands that repeat a program: judged with bounded work, and what is not looked at to its end is hidden."""

from sophon.security import is_safe_command
from sophon.security.commands.evaluation.command_effects import MAX_XARGS
from sophon.security.commands.nested_scripts import MAX_NESTED_CHARACTERS, find_all_commands
from tests.tables import table


@table("program", ["xargs", "sudo xargs -n 1"])
def test_so_many_commands_of_xargs_are_followed(program: str) -> None:
    found = find_all_commands(f"ls | {program} " + f"{program} " * 300 + "rm -rf x")
    assert found.is_hidden
    assert len(found.commands) < 4 * MAX_XARGS
    assert not is_safe_command(f"{program} " * 300 + "ls")


def test_so_many_characters_of_nested_scripts_are_read() -> None:
    found = find_all_commands("find . -exec " * 400)
    assert found.is_hidden
    assert sum(len(word.text) for command in found.commands for word in command.words) < 4 * MAX_NESTED_CHARACTERS


@table("wrapper", ["env", "nice", "xargs", "find . -exec"])
def test_a_short_command_behind_some_programs_is_found(wrapper: str) -> None:
    commands = find_all_commands(f"{wrapper} " * 3 + "rm -rf /srv").commands
    assert any("rm" in [word.text for word in each.words] for each in commands)

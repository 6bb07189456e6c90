"""Input loops of the chat: the interactive prompt, and one turn per line of piped input."""

from collections.abc import Callable
from typing import TypeAlias

from sophon.errors import SophonError
from sophon_hosting.cli.console.stdin_reader import StdinReader
from sophon_hosting.cli.error_reporting import EXIT_FAILURE, EXIT_INTERRUPTED, error_lines
from sophon_hosting.programs.chat.chat_session import Chat
from sophon_hosting.programs.chat.prompt_output import PromptOutput
from sophon_hosting.programs.chat.slash_commands import QuitChat, RunTurn, parse_slash_command
from sophon_hosting.rendering.control_characters import to_single_line

PROMPT = "> "
ECHO_CHARACTERS = 300
"""Maximum characters of a piped line that are echoed above its answer."""


SlashCommandHandler: TypeAlias = Callable[[str, str], list[str]]
"""Runs a slash command, given its name and argument; returns the lines to show. Raises as `run_slash_command`."""


def run_prompt_loop(chat: Chat, stdin: StdinReader, output: PromptOutput, handle_command: SlashCommandHandler) -> int:
    """Prompt for lines and answer them until the end of the input, `/quit`, or the second Ctrl-C in a row.

    Returns the exit code.
    """
    interrupted = False
    while True:
        try:
            line = stdin.read_line(PROMPT)
        except KeyboardInterrupt:
            output.write_lines([""])
            if interrupted or chat.frontend.exit_request.requested:
                return _exit_code_after_interrupt(chat)
            interrupted = True
            output.write_lines(["Press Ctrl-C again or type /quit to leave."])
            continue
        if line is None:
            output.write_lines([""])
            return 0
        try:
            interrupted = _handle_line(chat, line, output, handle_command) == EXIT_INTERRUPTED
        except QuitChat:
            return 0
        except KeyboardInterrupt:  # during a command, or a second one during a cancellation
            if chat.frontend.exit_request.requested:
                raise
            return EXIT_INTERRUPTED


def run_piped_lines(
    chat: Chat, first_line: str, stdin: StdinReader, output: PromptOutput, handle_command: SlashCommandHandler
) -> int:
    """Run one turn per line that is not blank; return 0 if all succeeded, else the code of the last that failed."""
    code = 0
    line: str | None = first_line
    while line is not None:
        if line.strip():
            output.write_lines([PROMPT + to_single_line(line, ECHO_CHARACTERS)])
            try:
                code = _handle_line(chat, line, output, handle_command) or code
            except QuitChat:
                break
        if code == EXIT_INTERRUPTED:
            break
        line = stdin.read_line("")
    return code


def _handle_line(chat: Chat, line: str, output: PromptOutput, handle_command: SlashCommandHandler) -> int:
    command = parse_slash_command(line)
    if command is None:
        return chat.run_turn(line) if line.strip() else 0
    try:
        output.write_lines(handle_command(*command))
    except RunTurn as again:
        return again.run()
    except SophonError as error:
        for each in error_lines(error):
            chat.frontend.write_error(each)
        return EXIT_FAILURE
    return 0


def _exit_code_after_interrupt(chat: Chat) -> int:
    if chat.frontend.exit_request.requested:
        raise KeyboardInterrupt
    return EXIT_INTERRUPTED

"""Input loops of the chat: the interactive prompt, and one turn per line of piped input."""

from collections.abc import Callable
from typing import Protocol, TypeAlias

from sophon._version import __version__
from sophon.errors import SophonError
from sophon_hosting.cli.asking import PromptOutput
from sophon_hosting.cli.commands import QuitChat, parse_slash_command
from sophon_hosting.cli.conversation import LocalChat, ChatFrontend
from sophon_hosting.cli.errors import EXIT_FAILURE, EXIT_INTERRUPTED, error_lines
from sophon_hosting.cli.lines import StdinReader
from sophon_hosting.cli.narration import format_count
from sophon_hosting.cli.visible import to_single_line

PROMPT = "> "
ECHO_CHARACTERS = 300
"""Maximum characters of a piped line that are echoed above its answer."""
OFFLINE_NOTICE = "Offline model. For a real one: OPENAI_API_KEY, ANTHROPIC_API_KEY or Ollama."
UNFINISHED_TURN_NOTICE = "The last turn was interrupted before its answer. Send it again, or continue."


def welcome_lines(chat: LocalChat) -> list[str]:
    """Return the lines shown when an interactive chat starts: version, model, session, basic commands, notices."""
    candidates = chat.services.gateway.candidates()
    model = chat.choices.model or (candidates[0].info.id if candidates else "no model")
    count = chat.count_messages()
    session = f"session {chat.choices.session}, {format_count(count, 'message') if count else 'new'}"
    return [
        f"Sophon {__version__} · {model} · {session}",
        "/help lists the commands, Ctrl-C cancels the turn, /quit ends the chat.",
        *offline_notice_lines(chat),
        *([UNFINISHED_TURN_NOTICE] if chat.is_last_turn_unfinished() else []),
    ]


def offline_notice_lines(chat: LocalChat) -> list[str]:
    """Return the notice how to configure a real model, for a new session that only the offline model can answer."""
    ids = {candidate.info.provider for candidate in chat.services.gateway.candidates()}
    return [OFFLINE_NOTICE] if ids == {"offline"} and not chat.count_messages() else []


class Chat(Protocol):
    """Chat session, in this process (`LocalChat`) or with a host (`RemoteChat`)."""

    @property
    def frontend(self) -> ChatFrontend:
        """Renderer, error output and exit flag of the chat."""
        ...

    def run_turn(self, text: str) -> int:
        """Run one turn and return its exit code."""
        ...


SlashCommandHandler: TypeAlias = Callable[[str, str], list[str]]
"""Runs a slash command, given its name and argument; returns the lines to show. Raises Leave, SophonError."""


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
    chat: Chat, first_line: str, read_line: Callable[[], str | None], output: PromptOutput, handle_command: SlashCommandHandler
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
        line = read_line()
    return code


def _handle_line(chat: Chat, line: str, output: PromptOutput, handle_command: SlashCommandHandler) -> int:
    command = parse_slash_command(line)
    if command is None:
        return chat.run_turn(line) if line.strip() else 0
    try:
        output.write_lines(handle_command(*command))
    except SophonError as error:
        for each in error_lines(error):
            chat.frontend.write_error(each)
        return EXIT_FAILURE
    return 0


def _exit_code_after_interrupt(chat: Chat) -> int:
    if chat.frontend.exit_request.requested:
        raise KeyboardInterrupt
    return EXIT_INTERRUPTED

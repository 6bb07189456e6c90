"""Input loops of the chat: the interactive prompt, and one turn per line of piped input."""

from collections.abc import Callable
from typing import Protocol, TypeAlias

from sophon._version import __version__
from sophon.errors import SophonError
from sophon_hosting.cli.asking import Desk
from sophon_hosting.cli.commands import Leave, command_of
from sophon_hosting.cli.conversation import Conversation, Front
from sophon_hosting.cli.errors import FAILED, INTERRUPTED, lines_of
from sophon_hosting.cli.lines import Lines
from sophon_hosting.cli.narration import counted
from sophon_hosting.cli.visible import on_one_line

PROMPT = "> "
ECHO_WIDTH = 300
"""Maximum characters of a piped line that are echoed above its answer."""
OFFLINE = "Offline model. For a real one: OPENAI_API_KEY, ANTHROPIC_API_KEY or Ollama."
CUT_OFF = "The last turn was interrupted before its answer. Send it again, or continue."


def welcome(chat: Conversation) -> list[str]:
    """Return the lines shown when an interactive chat starts: version, model, session, basic commands, notices."""
    candidates = chat.services.gateway.candidates()
    model = chat.choices.model or (candidates[0].info.id if candidates else "no model")
    count = chat.messages()
    session = f"session {chat.choices.session}, {counted(count, 'message') if count else 'new'}"
    return [
        f"Sophon {__version__} · {model} · {session}",
        "/help lists the commands, Ctrl-C cancels the turn, /quit ends the chat.",
        *offline_note(chat),
        *([CUT_OFF] if chat.cut_off() else []),
    ]


def offline_note(chat: Conversation) -> list[str]:
    """Return the notice how to configure a real model, for a new session that only the offline model can answer."""
    ids = {candidate.info.provider for candidate in chat.services.gateway.candidates()}
    return [OFFLINE] if ids == {"offline"} and not chat.messages() else []


class Talk(Protocol):
    """Chat session, in this process (`Conversation`) or with a host (`RemoteConversation`)."""

    @property
    def front(self) -> Front:
        """Renderer, error output and exit flag of the chat."""
        ...

    def say(self, text: str) -> int:
        """Run one turn and return its exit code."""
        ...


Obey: TypeAlias = Callable[[str, str], list[str]]
"""Runs a slash command, given its name and argument; returns the lines to show. Raises Leave, SophonError."""


def converse(chat: Talk, stdin: Lines, output: Desk, handle_command: Obey) -> int:
    """Prompt for lines and answer them until the end of the input, `/quit`, or the second Ctrl-C in a row.

    Returns the exit code.
    """
    interrupted = False
    while True:
        try:
            line = stdin.prompt(PROMPT)
        except KeyboardInterrupt:
            output.lines([""])
            if interrupted or chat.front.ending.asked:
                return _exit_code_after_interrupt(chat)
            interrupted = True
            output.lines(["Press Ctrl-C again or type /quit to leave."])
            continue
        if line is None:
            output.lines([""])
            return 0
        try:
            interrupted = _handle_line(chat, line, output, handle_command) == INTERRUPTED
        except Leave:
            return 0
        except KeyboardInterrupt:  # during a command, or a second one during a cancellation
            if chat.front.ending.asked:
                raise
            return INTERRUPTED


def answer_lines(
    chat: Talk, first_line: str, read_line: Callable[[], str | None], output: Desk, handle_command: Obey
) -> int:
    """Run one turn per line that is not blank; return 0 if all succeeded, else the code of the last that failed."""
    code = 0
    line: str | None = first_line
    while line is not None:
        if line.strip():
            output.lines([PROMPT + on_one_line(line, ECHO_WIDTH)])
            try:
                code = _handle_line(chat, line, output, handle_command) or code
            except Leave:
                break
        if code == INTERRUPTED:
            break
        line = read_line()
    return code


def _handle_line(chat: Talk, line: str, output: Desk, handle_command: Obey) -> int:
    command = command_of(line)
    if command is None:
        return chat.say(line) if line.strip() else 0
    try:
        output.lines(handle_command(*command))
    except SophonError as error:
        for each in lines_of(error):
            chat.front.tell(each)
        return FAILED
    return 0


def _exit_code_after_interrupt(chat: Talk) -> int:
    if chat.front.ending.asked:
        raise KeyboardInterrupt
    return INTERRUPTED

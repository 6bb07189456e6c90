"""The two ways to have a conversation over standard input: at a prompt, and a line per turn."""

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
"""Characters of a line from a pipe that are shown above its answer."""
OFFLINE = "Offline model. For a real one: OPENAI_API_KEY, ANTHROPIC_API_KEY or Ollama."
CUT_OFF = "The last turn was cut off before its answer. Say it again, or go on."


def welcome(conversation: Conversation) -> list[str]:
    """Where one is, and how to leave."""
    candidates = conversation.services.gateway.candidates()
    model = conversation.choices.model or (candidates[0].info.id if candidates else "no model")
    said = conversation.messages()
    session = f"session {conversation.choices.session}, {counted(said, 'message') if said else 'new'}"
    return [
        f"Sophon {__version__} · {model} · {session}",
        "/help shows the commands, Ctrl-C stops a turn, /quit leaves.",
        *offline_note(conversation),
        *([CUT_OFF] if conversation.cut_off() else []),
    ]


def offline_note(conversation: Conversation) -> list[str]:
    """How to have a real model, where only the offline one is left to answer a session that is new."""
    ids = {candidate.info.provider for candidate in conversation.services.gateway.candidates()}
    return [OFFLINE] if ids == {"offline"} and not conversation.messages() else []


class Talk(Protocol):
    """A conversation, in this process or with a host."""

    @property
    def front(self) -> Front:
        """What it has towards its person."""
        ...

    def say(self, text: str) -> int:
        """One turn; its exit code."""
        ...


Obey: TypeAlias = Callable[[str, str], list[str]]
"""Carries out a command, by its name and what is behind it; the lines to show. Raises Leave, SophonError."""


def converse(conversation: Talk, lines: Lines, desk: Desk, obey: Obey) -> int:
    """Ask for a line, answer it, until the input ends, `/quit`, or the second Ctrl-C in a row."""
    struck = False
    while True:
        try:
            line = lines.prompt(PROMPT)
        except KeyboardInterrupt:
            desk.lines([""])
            if struck or conversation.front.ending.asked:
                return _left(conversation)
            struck = True
            desk.lines(["Ctrl-C again leaves, and so does /quit."])
            continue
        if line is None:
            desk.lines([""])
            return 0
        try:
            struck = _answered(conversation, line, desk, obey) == INTERRUPTED
        except Leave:
            return 0
        except KeyboardInterrupt:  # during a command, or a second one while a turn was being stopped
            if conversation.front.ending.asked:
                raise
            return INTERRUPTED


def answer_lines(conversation: Talk, first: str, rest: Callable[[], str | None], desk: Desk, obey: Obey) -> int:
    """A turn per line that is not blank; 0 if all of them went well, else the code of the last that did not."""
    code = 0
    line: str | None = first
    while line is not None:
        if line.strip():
            desk.lines([PROMPT + on_one_line(line, ECHO_WIDTH)])
            try:
                code = _answered(conversation, line, desk, obey) or code
            except Leave:
                break
        if code == INTERRUPTED:
            break
        line = rest()
    return code


def _answered(conversation: Talk, line: str, desk: Desk, obey: Obey) -> int:
    command = command_of(line)
    if command is None:
        return conversation.say(line) if line.strip() else 0
    try:
        desk.lines(obey(*command))
    except SophonError as error:
        for each in lines_of(error):
            conversation.front.tell(each)
        return FAILED
    return 0


def _left(conversation: Talk) -> int:
    if conversation.front.ending.asked:
        raise KeyboardInterrupt
    return INTERRUPTED

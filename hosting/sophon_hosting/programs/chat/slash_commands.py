"""Slash commands of the chat prompt: `/new`, `/model NAME` and others."""

import difflib
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final, Generic, TypeVar

from sophon._python.lazy_dataclass import dataclass
from sophon.attachments import describe_attachment
from sophon.clock import SystemClock
from sophon.errors import InputError, NotFound
from sophon.preferences import PREFERENCE_NAMES, describe_preferences, parse_preference_command
from sophon.turn.option_checks import parse_planning_mode
from sophon_hosting.programs.chat.chat_session import SHORT_ID_CHARACTERS, Chat
from sophon_hosting.programs.chat.local_chat import LocalChat
from sophon_hosting.rendering.control_characters import to_single_line
from sophon_hosting.rendering.value_formatting import format_usage_cost
from sophon_hosting.store.contract import host_store

C = TypeVar("C", bound=Chat)
C_contra = TypeVar("C_contra", bound=Chat, contravariant=True)

_COMMAND = re.compile(r"/([a-z]+)(?:\s+(.*))?", re.DOTALL)

MAX_READ_BYTES: Final = 1_000_000_000
"""Larger files are not even read; the limits of attachments are those of the settings, or of the host."""

SKILL_CHARACTERS: Final = 60
"""Characters of the call of a skill in the help."""

ALIASES: Mapping[str, str] = {"retry": "regenerate", "plan": "planning"}
"""Other names of commands, those of the web page among them."""


class QuitChat(Exception):
    """Raised by `/quit`: end the chat."""


class RunTurn(Exception):
    """Raised by commands that run a turn: `run` does it and returns its exit code."""

    def __init__(self, run: Callable[[], int]) -> None:
        self.run = run
        super().__init__()


@dataclass(frozen=True, slots=True)
class SlashCommand(Generic[C_contra]):
    """A slash command: its syntax, its help text, and the function that runs it and returns the lines to show."""

    usage: str
    help: str
    handler: Callable[[C_contra, str], list[str]]


def parse_slash_command(line: str) -> tuple[str, str] | None:
    """Return (name, argument) of a slash command, or None for a message.

    A message that begins with a path such as `/etc/hosts` is not a command.
    """
    match = _COMMAND.fullmatch(line.strip())
    return (match[1], (match[2] or "").strip()) if match else None


def run_slash_command(chat: C, commands: Mapping[str, SlashCommand[C]], name: str, argument: str) -> list[str]:
    """Run a slash command and return the lines to show. Raises QuitChat, RunTurn, SophonError."""
    name = ALIASES.get(name, name)
    if name == "quit":
        raise QuitChat
    if name == "help":
        return _help(chat, commands)
    if name in commands:
        return commands[name].handler(chat, argument)
    if any(each.name == name for each in chat.list_callable_skills()):
        raise RunTurn(lambda: chat.run_turn(f"/{name} {argument}".rstrip()))
    near = difflib.get_close_matches(name, [*commands, "quit"], n=2) or ["help"]
    raise NotFound("command", f"/{name}", [f"/{each}" for each in near])


def _help(chat: C, commands: Mapping[str, SlashCommand[C]]) -> list[str]:
    usages = {
        "/help": "show this list",
        **{each.usage: each.help for each in commands.values()},
        "/quit": "leave the chat; the end of the input does too",
    }
    width = max(map(len, usages)) + 2
    for skill in chat.list_callable_skills():
        call = to_single_line(f"/{skill.name} {skill.argument_hint}".rstrip(), SKILL_CHARACTERS)
        usages[call] = to_single_line(skill.description)
    lines = [f"  {usage:<{width}}{text}" for usage, text in usages.items()]
    return [*lines, "  Ctrl-C cancels a turn; answer an approval prompt with approve, reject or edit."]


def _new(chat: Chat, argument: str) -> list[str]:
    chat.choices.session = argument or SystemClock().new_id()[:SHORT_ID_CHARACTERS]
    return [f"  {chat.describe_session()}"]


def _session(chat: Chat, argument: str) -> list[str]:
    if argument:
        chat.enter_session(argument)
    return [f"  {chat.describe_session()}"]


def _sessions(chat: LocalChat, argument: str) -> list[str]:
    found = chat.run_coroutine(host_store(chat.services).sessions.list())
    return [f"  {each.id:<22}{each.message_count:>5} messages  {each.shown_title}" for each in found] or [
        "  no sessions"
    ]


def _usage(chat: LocalChat, argument: str) -> list[str]:
    totals = chat.run_coroutine(host_store(chat.services).usage.list_totals(session_id=chat.choices.session))
    lines = [
        f"  {each.day}  {each.provider}/{each.model}: {each.calls} calls, {each.usage.total_tokens:,} tokens, "
        f"{format_usage_cost(each.usage)}"
        for each in totals
    ]
    return lines or ["  no usage in this session"]


def _model(chat: LocalChat, argument: str) -> list[str]:
    if argument == "auto":
        chat.choices.model = None
    elif argument:
        chat.services.gateway.find(argument)
        chat.choices.model = argument
    candidates = ", ".join(each.info.id for each in chat.services.gateway.candidates()) or "none"
    return [f"  model {chat.choices.model or 'auto'} (available: {candidates}; /model auto uses routing)"]


def _planning(chat: LocalChat, argument: str) -> list[str]:
    if argument:
        chat.choices.planning = parse_planning_mode(argument)
    default = chat.services.settings.planning.mode
    return [f"  planning {chat.choices.planning or default}"]


def _regenerate(chat: Chat, argument: str) -> list[str]:
    raise RunTurn(chat.prepare_regeneration(argument))


def _attach(chat: Chat, argument: str) -> list[str]:
    if argument:
        chat.attach(*_read_file(argument))
    lines = [f"  attached: {to_single_line(describe_attachment(each))}" for each in chat.attached]
    return lines or ["  nothing is attached; /attach FILE sends a file with the next message"]


def _read_file(argument: str) -> tuple[str, bytes]:
    """Return name and content of a file; its path may be in quotes. Raises InputError."""
    path = Path(argument.strip("\"'")).expanduser()
    try:
        if path.stat().st_size > MAX_READ_BYTES:
            raise InputError(f"{path} is too large")
        return path.name, path.read_bytes()
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else error
        raise InputError(f"{path} cannot be read: {reason}") from None


def _preferences(chat: Chat, argument: str) -> list[str]:
    changed = parse_preference_command(argument)
    found = chat.get_preferences()
    if changed is not None:
        found = chat.set_preferences(found.change(*changed))
    return [f"  {line}" for line in describe_preferences(found)] or [
        f"  no preferences; /preferences NAME VALUE sets one: {', '.join(PREFERENCE_NAMES)}"
    ]


COMMANDS: Mapping[str, SlashCommand[Chat]] = {
    "new": SlashCommand("/new [ID]", "start a new session", _new),
    "session": SlashCommand("/session [ID]", "show the session, or switch to another", _session),
    "regenerate": SlashCommand("/regenerate [MODEL]", "answer the last message again, in a new branch", _regenerate),
    "attach": SlashCommand("/attach [FILE]", "send a file with the next message, or list those to be sent", _attach),
    "preferences": SlashCommand("/preferences [NAME VALUE]", "show or set how you want to be answered", _preferences),
}
"""Commands of every chat, beside `/help` and `/quit`."""

LOCAL_COMMANDS: Mapping[str, SlashCommand[LocalChat]] = {
    **COMMANDS,
    "sessions": SlashCommand("/sessions", "list the sessions", _sessions),
    "usage": SlashCommand("/usage", "show tokens and cost of this session", _usage),
    "model": SlashCommand("/model [NAME]", "show the model, or choose one", _model),
    "planning": SlashCommand("/planning [MODE]", "show or set it: Auto, LlmDecides, Always, Never", _planning),
}
"""Commands of a chat in this process."""

"""Slash commands of the chat prompt: `/new`, `/model NAME` and others."""

import difflib
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Final, Protocol

from sophon._python.lazy_dataclass import dataclass
from sophon.attachments import Attachment, describe_attachment
from sophon.errors import InputError, NotFound
from sophon.preferences import PREFERENCE_NAMES, Preferences, describe_preferences, parse_preference_command
from sophon.principals import LOCAL_USER
from sophon.turn_options import parse_planning_mode
from sophon_hosting.cli.chat.local_chat import LocalChat
from sophon_hosting.rendering.control_characters import to_single_line
from sophon_hosting.rendering.value_formatting import format_count, format_usage_cost

_COMMAND = re.compile(r"/([a-z]+)(?:\s+(.*))?", re.DOTALL)

MAX_READ_BYTES: Final = 1_000_000_000
"""Larger files are not even read; the limits of attachments are those of the settings, or of the host."""


def describe_skill_call(name: str, hint: str) -> str:
    """Return how a skill is called, for the help."""
    return to_single_line(f"/{name} {hint}".rstrip(), 60)


class QuitChat(Exception):
    """Raised by `/quit`: end the chat."""


class RunTurn(Exception):
    """Raised by commands that run a turn: `run` does it and returns its exit code."""

    def __init__(self, run: Callable[[], int]) -> None:
        self.run = run
        super().__init__()


@dataclass(frozen=True, slots=True)
class SlashCommand:
    """A slash command: its syntax, its help text, and the function that runs it and returns the lines to show."""

    usage: str
    help: str
    handler: Callable[[LocalChat, str], list[str]]


def parse_slash_command(line: str) -> tuple[str, str] | None:
    """Return (name, argument) of a slash command, or None for a message.

    A message that begins with a path such as `/etc/hosts` is not a command.
    """
    match = _COMMAND.fullmatch(line.strip())
    return (match[1], (match[2] or "").strip()) if match else None


def run_slash_command(chat: LocalChat, name: str, argument: str) -> list[str]:
    """Run a slash command and return the lines to show. Raises QuitChat, RunTurn, SophonError."""
    command = SLASH_COMMANDS.get(ALIASES.get(name, name))
    if command is None and name in chat.find_callable_skills():
        raise RunTurn(lambda: chat.run_turn(f"/{name} {argument}".rstrip()))
    if command is None:
        near = difflib.get_close_matches(name, SLASH_COMMANDS, n=2) or ["help"]
        raise NotFound("command", f"/{name}", [f"/{each}" for each in near])
    return command.handler(chat, argument)


def _help(chat: LocalChat, argument: str) -> list[str]:
    width = max(len(each.usage) for each in SLASH_COMMANDS.values()) + 2
    lines = [f"  {each.usage:<{width}}{each.help}" for each in SLASH_COMMANDS.values()]
    skills = chat.find_callable_skills().values()
    lines += [f"  {describe_skill_call(each.name, each.argument_hint):<{width}}{each.description}" for each in skills]
    return [*lines, "  Ctrl-C cancels a turn; answer an approval prompt with approve, reject or edit."]


def _new(chat: LocalChat, argument: str) -> list[str]:
    chat.choices.session = argument or new_session_id(chat)
    return [f"  session {chat.choices.session}, {format_count(chat.count_messages(), 'message')}"]


def _session(chat: LocalChat, argument: str) -> list[str]:
    if argument:
        chat.run_coroutine(chat.services.store.sessions.get(argument))
        chat.choices.session = argument
    return [f"  session {chat.choices.session}, {format_count(chat.count_messages(), 'message')}"]


def _sessions(chat: LocalChat, argument: str) -> list[str]:
    found = chat.run_coroutine(chat.services.store.sessions.list())
    return [f"  {each.id:<22}{each.message_count:>5} messages  {each.shown_title}" for each in found] or [
        "  no sessions"
    ]


def _usage(chat: LocalChat, argument: str) -> list[str]:
    totals = chat.run_coroutine(chat.services.store.usage.list_totals(session_id=chat.choices.session))
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


def _regenerate(chat: LocalChat, argument: str) -> list[str]:
    if argument:
        chat.services.gateway.find(argument)
        chat.choices.model = argument
    last = chat.branch_before_last_message(new_session_id(chat))
    raise RunTurn(lambda: chat.run_turn(last.content, last.attachments))


def _attach(chat: LocalChat, argument: str) -> list[str]:
    if argument:
        chat.attach(*read_attached_file(argument))
    return describe_attached(chat.attached)


class _LocalPreferences:
    """Preferences of the person at this terminal, in the store of this process."""

    def __init__(self, chat: LocalChat) -> None:
        self._chat, self._store = chat, chat.services.store.preferences

    def get_preferences(self) -> Preferences:
        return self._chat.run_coroutine(self._store.get(LOCAL_USER))

    def set_preferences(self, preferences: Preferences) -> Preferences:
        if preferences.model:
            self._chat.services.gateway.find(preferences.model)
        self._chat.run_coroutine(self._store.put(LOCAL_USER, preferences))
        return preferences


def _preferences(chat: LocalChat, argument: str) -> list[str]:
    return run_preferences_command(_LocalPreferences(chat), argument)


def _quit(chat: LocalChat, argument: str) -> list[str]:
    raise QuitChat


def new_session_id(chat: LocalChat) -> str:
    """Return a new random session id of 12 characters, short enough to be typed."""
    return chat.services.clock.new_id()[:12]


ALIASES: Mapping[str, str] = {"retry": "regenerate", "plan": "planning"}
"""Other names of commands, those of the web page among them."""


def read_attached_file(argument: str) -> tuple[str, bytes]:
    """Return name and content of a file; its path may be in quotes. Raises InputError."""
    path = Path(argument.strip("\"'")).expanduser()
    try:
        if path.stat().st_size > MAX_READ_BYTES:
            raise InputError(f"{path} is too large")
        return path.name, path.read_bytes()
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else error
        raise InputError(f"{path} cannot be read: {reason}") from None


def describe_attached(attached: Sequence[Attachment]) -> list[str]:
    """Return a line per file that the next message has."""
    lines = [f"  attached: {to_single_line(describe_attachment(each))}" for each in attached]
    return lines or ["  nothing is attached; /attach FILE sends a file with the next message"]


class PreferenceAccess(Protocol):
    """Preferences of one person, in a store or behind the API of a host."""

    def get_preferences(self) -> Preferences:
        """Return them. Raises SophonError."""
        ...

    def set_preferences(self, preferences: Preferences) -> Preferences:
        """Replace them and return what is stored. Raises SophonError, for example for an unknown model."""
        ...


def run_preferences_command(access: PreferenceAccess, argument: str) -> list[str]:
    """Run the command with its argument (`language de`, or "") and return the lines to show. Raises SophonError."""
    changed = parse_preference_command(argument)
    found = access.get_preferences()
    if changed is not None:
        found = access.set_preferences(found.change(*changed))
    return [f"  {line}" for line in describe_preferences(found)] or [
        f"  no preferences; /preferences NAME VALUE sets one: {', '.join(PREFERENCE_NAMES)}"
    ]


SLASH_COMMANDS: Mapping[str, SlashCommand] = {
    "help": SlashCommand("/help", "show this list", _help),
    "new": SlashCommand("/new [ID]", "start a new session", _new),
    "sessions": SlashCommand("/sessions", "list the sessions", _sessions),
    "session": SlashCommand("/session [ID]", "show the session, or switch to another", _session),
    "usage": SlashCommand("/usage", "show tokens and cost of this session", _usage),
    "model": SlashCommand("/model [NAME]", "show the model, or choose one", _model),
    "planning": SlashCommand("/planning [MODE]", "show or set it: Auto, LlmDecides, Always, Never", _planning),
    "regenerate": SlashCommand("/regenerate [MODEL]", "answer the last message again, in a new branch", _regenerate),
    "attach": SlashCommand("/attach [FILE]", "send a file with the next message, or list those to be sent", _attach),
    "preferences": SlashCommand("/preferences [NAME VALUE]", "show or set how you want to be answered", _preferences),
    "quit": SlashCommand("/quit", "leave the chat; the end of the input does too", _quit),
}

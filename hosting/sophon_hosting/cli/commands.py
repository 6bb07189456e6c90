"""Slash commands of the chat prompt: `/new`, `/model NAME` and others."""

import difflib
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from sophon.errors import NotFound
from sophon.services import planning_mode
from sophon_hosting.cli.conversation import Conversation
from sophon_hosting.cli.narration import counted, money

_COMMAND = re.compile(r"/([a-z]+)(?:\s+(.*))?", re.DOTALL)


class Leave(Exception):
    """Raised by `/quit`: end the chat."""


@dataclass(frozen=True, slots=True)
class Command:
    """A slash command: its syntax, its help text, and the function that runs it and returns the lines to show."""

    usage: str
    help: str
    act: Callable[[Conversation, str], list[str]]


def command_of(line: str) -> tuple[str, str] | None:
    """Return (name, argument) of a slash command, or None for a message.

    A message that begins with a path such as `/etc/hosts` is not a command.
    """
    match = _COMMAND.fullmatch(line.strip())
    return (match[1], (match[2] or "").strip()) if match else None


def carry_out(chat: Conversation, name: str, argument: str) -> list[str]:
    """Run a slash command and return the lines to show. Raises Leave, SophonError."""
    command = COMMANDS.get(name)
    if command is None:
        near = difflib.get_close_matches(name, COMMANDS, n=2) or ["help"]
        raise NotFound("command", f"/{name}", [f"/{each}" for each in near])
    return command.act(chat, argument)


def _help(chat: Conversation, argument: str) -> list[str]:
    lines = [f"  {each.usage:<20}{each.help}" for each in COMMANDS.values()]
    return [*lines, "  Ctrl-C cancels a turn; answer an approval prompt with approve, reject or edit."]


def _new(chat: Conversation, argument: str) -> list[str]:
    chat.choices.session = argument or new_session(chat)
    return [f"  session {chat.choices.session}, {counted(chat.messages(), 'message')}"]


def _session(chat: Conversation, argument: str) -> list[str]:
    if argument:
        chat.do(chat.services.store.sessions.get(argument))
        chat.choices.session = argument
    return [f"  session {chat.choices.session}, {counted(chat.messages(), 'message')}"]


def _sessions(chat: Conversation, argument: str) -> list[str]:
    found = chat.do(chat.services.store.sessions.list())
    return [f"  {each.id:<22}{each.messages:>5} messages  {each.title}" for each in found] or ["  no sessions"]


def _usage(chat: Conversation, argument: str) -> list[str]:
    totals = chat.do(chat.services.store.usage.totals(session_id=chat.choices.session))
    lines = [
        f"  {each.day}  {each.provider}/{each.model}: {each.calls} calls, {each.usage.total_tokens:,} tokens, "
        f"{money(each.usage.cost_micros)}"
        for each in totals
    ]
    return lines or ["  no usage in this session"]


def _model(chat: Conversation, argument: str) -> list[str]:
    if argument == "auto":
        chat.choices.model = None
    elif argument:
        chat.services.gateway.find(argument)
        chat.choices.model = argument
    candidates = ", ".join(each.info.id for each in chat.services.gateway.candidates()) or "none"
    return [f"  model {chat.choices.model or 'auto'} (available: {candidates}; /model auto uses routing)"]


def _planning(chat: Conversation, argument: str) -> list[str]:
    if argument:
        chat.choices.planning = planning_mode(argument)
    default = chat.services.settings.planning.mode
    return [f"  planning {chat.choices.planning or default}"]


def _quit(chat: Conversation, argument: str) -> list[str]:
    raise Leave


def new_session(chat: Conversation) -> str:
    """Return a new random session id of 12 characters, short enough to be typed."""
    return chat.services.clock.new_id()[:12]


COMMANDS: Mapping[str, Command] = {
    "help": Command("/help", "show this list", _help),
    "new": Command("/new [ID]", "start a new session", _new),
    "sessions": Command("/sessions", "list the sessions", _sessions),
    "session": Command("/session [ID]", "show the session, or switch to another", _session),
    "usage": Command("/usage", "show tokens and cost of this session", _usage),
    "model": Command("/model [NAME]", "show the model, or choose one", _model),
    "planning": Command("/planning [MODE]", "show or set it: Auto, LlmDecides, Always, Never", _planning),
    "quit": Command("/quit", "leave the chat; the end of the input does too", _quit),
}

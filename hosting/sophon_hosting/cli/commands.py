"""What can be typed at the prompt besides messages: `/new`, `/model NAME` and so on."""

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
    """The person wants to leave the conversation."""


@dataclass(frozen=True, slots=True)
class Command:
    """`usage` as it is typed, what it does, and the function that does it and gives the lines to show."""

    usage: str
    help: str
    act: Callable[[Conversation, str], list[str]]


def command_of(line: str) -> tuple[str, str] | None:
    """(name, rest) of a command; None for a message, also for one that begins with a path such as `/etc/hosts`."""
    match = _COMMAND.fullmatch(line.strip())
    return (match[1], (match[2] or "").strip()) if match else None


def carry_out(conversation: Conversation, name: str, rest: str) -> list[str]:
    """Do what a command says and give what is to be shown. Raises Leave, SophonError."""
    command = COMMANDS.get(name)
    if command is None:
        near = difflib.get_close_matches(name, COMMANDS, n=2) or ["help"]
        raise NotFound("command", f"/{name}", [f"/{each}" for each in near])
    return command.act(conversation, rest)


def _help(conversation: Conversation, rest: str) -> list[str]:
    lines = [f"  {each.usage:<20}{each.help}" for each in COMMANDS.values()]
    return [*lines, "  Ctrl-C stops a turn; a question is answered by approve, reject or edit."]


def _new(conversation: Conversation, rest: str) -> list[str]:
    conversation.choices.session = rest or new_session(conversation)
    return [f"  session {conversation.choices.session}, {counted(conversation.messages(), 'message')}"]


def _session(conversation: Conversation, rest: str) -> list[str]:
    if rest:
        conversation.do(conversation.services.store.sessions.get(rest))
        conversation.choices.session = rest
    return [f"  session {conversation.choices.session}, {counted(conversation.messages(), 'message')}"]


def _sessions(conversation: Conversation, rest: str) -> list[str]:
    found = conversation.do(conversation.services.store.sessions.list())
    return [f"  {each.id:<22}{each.messages:>5} messages  {each.title}" for each in found] or ["  no sessions yet"]


def _usage(conversation: Conversation, rest: str) -> list[str]:
    totals = conversation.do(conversation.services.store.usage.totals(session_id=conversation.choices.session))
    lines = [
        f"  {each.day}  {each.provider}/{each.model}: {each.calls} calls, {each.usage.total_tokens:,} tokens, "
        f"{money(each.usage.cost_micros)}"
        for each in totals
    ]
    return lines or ["  nothing used yet in this session"]


def _model(conversation: Conversation, rest: str) -> list[str]:
    if rest == "auto":
        conversation.choices.model = None
    elif rest:
        conversation.services.gateway.find(rest)
        conversation.choices.model = rest
    candidates = ", ".join(each.info.id for each in conversation.services.gateway.candidates())
    return [f"  model {conversation.choices.model or 'auto'} (there are: {candidates or 'none'}; /model auto routes)"]


def _planning(conversation: Conversation, rest: str) -> list[str]:
    if rest:
        conversation.choices.planning = planning_mode(rest)
    default = conversation.services.settings.planning.mode
    return [f"  planning {conversation.choices.planning or default}"]


def _quit(conversation: Conversation, rest: str) -> list[str]:
    raise Leave


def new_session(conversation: Conversation) -> str:
    """A fresh id, short enough to be typed."""
    return conversation.services.clock.new_id()[:12]


COMMANDS: Mapping[str, Command] = {
    "help": Command("/help", "this list", _help),
    "new": Command("/new [ID]", "begin a new session", _new),
    "sessions": Command("/sessions", "the sessions there are", _sessions),
    "session": Command("/session [ID]", "which session this is, or go on with another", _session),
    "usage": Command("/usage", "tokens and cost of this session", _usage),
    "model": Command("/model [NAME]", "which model answers, or choose one", _model),
    "planning": Command("/planning [MODE]", "Auto, LlmDecides, Always or Never", _planning),
    "quit": Command("/quit", "leave; so does the end of the input", _quit),
}

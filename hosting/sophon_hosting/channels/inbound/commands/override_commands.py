"""Commands that show and change the overrides of a chat: /agent, /prompt, /model, /language, /memory, /tools."""

from sophon.errors import InputError
from sophon.security.authorization.permission_levels import Feature
from sophon.services import Services
from sophon.turn.chat_overrides import MEMORIES, NEUTRAL, NO_OVERRIDES, ChatOverrides
from sophon_channels.contract import ChatLocation, InboundMessage
from sophon_hosting.channels.chat_state import ChatState
from sophon_hosting.channels.effective_chat_overrides import EffectiveChatOverrides, find_name_problems, list_agents
from sophon_hosting.channels.inbound.commands.command_request import ChatCommandRequest
from sophon_hosting.host import Host
from sophon_hosting.store.contract import host_store

DEFAULT = "default"
"""Argument with which a chat inherits an override again."""

APPROVERS_ONLY = frozenset({"memory", "tools"})
"""Overrides that a person may not change in a direct chat either: they may widen what a turn reads and does."""

MAX_LISTED = 40
"""Models, agents and tools that an answer lists."""

_CHANGED = {
    "agent": ("{} answers from now on.", "The agent without a file answers from now on."),
    "prompt": ("The prompt was changed.", "There is no prompt of this chat from now on."),
    "model": ("{} answers from now on.", "The host chooses the model from now on."),
    "language": ("Answers are in {} from now on.", "The language of answers is not set from now on."),
    "memory": ("Memory is {} from now on.", "Memory is chat from now on."),
    "tools": ("Only these tools may be used from now on: {}.", "All tools may be used from now on."),
}

_SHOWN = {
    "agent": ("{}", "The agent without a file"),
    "prompt": ("{}", "No prompt of this chat"),
    "model": ("{}", "The host chooses the model"),
    "language": ("{}", "The language is not set"),
    "memory": ("{}", "chat"),
    "tools": ("Only {}", "All tools"),
}
"""Answers of a command, with a value and with the neutral one."""


class OverrideCommands:
    """Executes the commands of one channel; a change is stored for the chat or topic in which it is made.

    In a group only people in Approvers change anything, in a direct chat its person too, except for `APPROVERS_ONLY`.
    The model changes only who has the feature `ChooseModel`.
    """

    def __init__(self, host: Host, chat_state: ChatState, chat_overrides: EffectiveChatOverrides) -> None:
        self._services, self._chat_state, self._chat_overrides = host.services, chat_state, chat_overrides

    async def execute(self, request: ChatCommandRequest) -> str:
        """Execute a command and return the reply. Raises InputError, LevelNeeded, StoreError."""
        name, text = request.command.name, request.command.arguments
        location, person = request.message.location, request.message.person
        if not text:
            overrides = await self._chat_overrides.find(location, person)
            return await self._describe(request, name, overrides)
        if not request.is_approver and (location.kind == "group" or name in APPROVERS_ONLY):
            where = "in a group" if location.kind == "group" else f"with /{name}"
            return f"Only people in Approvers may change this {where}."
        if name == "model":
            await require_feature(self._services, self._chat_state, request.message, "ChooseModel")
        # What an agent may do and a prompt demands is the operator's, where the operator has set them.
        is_fixed = name in ("agent", "prompt") and await self._chat_overrides.is_configured(location, person, name)
        if is_fixed and not request.is_approver:
            return f"The settings of the host say this; only people in Approvers may use /{name}."
        value = None if text.casefold() == DEFAULT else text
        await self._check(name, value)
        await self._chat_overrides.change(location, name, value)
        if name == "model":
            await self._forget_session_model(request)
        if value is not None:
            return _format(_CHANGED[name], name, NO_OVERRIDES.change(name, value))
        found = _format(_SHOWN[name], name, await self._chat_overrides.find(location, person))
        return f"As {_widest(location)} has it from now on: {found}"

    async def _check(self, name: str, value: str | None) -> None:
        if value is None:
            return
        overrides = NO_OVERRIDES.change(name, value)
        problems = await self._services.clock.run_in_thread(
            lambda: list(find_name_problems(self._services, name, overrides))
        )
        if problems:
            raise InputError("; ".join(problems))

    async def _forget_session_model(self, request: ChatCommandRequest) -> None:
        """A model that was chosen for the session, on the page, would go first."""
        session = await host_store(self._services).sessions.find(request.session_id)
        if session is not None and session.model is not None:
            await host_store(self._services).sessions.set_model(session.id, None)

    async def _describe(self, request: ChatCommandRequest, name: str, overrides: ChatOverrides) -> str:
        shown = _format(_SHOWN[name], name, overrides)
        if name == "model":
            session = await host_store(self._services).sessions.find(request.session_id)
            shown = session.model if session is not None and session.model else shown
        choices = await self._list_choices(name)
        return f"{shown}. There are: {', '.join(choices[:MAX_LISTED])}" if choices else f"{shown.rstrip('.')}."

    async def _list_choices(self, name: str) -> list[str]:
        if name == "model":
            return [each.info.id for each in self._services.gateway.candidates()]
        if name == "agent":
            return await self._services.clock.run_in_thread(lambda: list_agents(self._services))
        if name == "tools":
            return sorted(each.name for each in self._services.registry)
        return [*MEMORIES] if name == "memory" else []


def _widest(location: ChatLocation) -> str:
    return "this chat" if location.thread is not None else "the host"


def _format(texts: tuple[str, str], name: str, overrides: ChatOverrides) -> str:
    """Return the first text with the value of an override, the second if it has no effect."""
    value = overrides.find(name)
    return texts[0].format(value) if value and value != NEUTRAL[name] else texts[1]


async def require_feature(services: Services, chat_state: ChatState, message: InboundMessage, feature: Feature) -> None:
    """Raise LevelNeeded if the level of the person who wrote a message, in its chat, has not a feature."""
    person, location = chat_state.user_id(message.person), message.location
    level = services.settings.permissions.level_of(
        person,
        channel=chat_state.channel_name,
        chat="" if location.kind == "direct" else await chat_state.data_owner(location, message.person),
        is_operator=services.security.operator_policy.is_operator(person),
    )
    services.settings.permissions.levels.require(level, feature)

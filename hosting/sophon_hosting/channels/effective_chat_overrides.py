"""Effective overrides of a chat, from commands and settings, and the check of the names in them."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from sophon.composition.later_tools import LATER_TOOLS
from sophon.errors import NotFound, SettingsError
from sophon.principals import MAIN_AGENT
from sophon.services import Services
from sophon.settings.validation_errors import suggest_nearest
from sophon.turn.chat_overrides import NEUTRAL, NO_OVERRIDES, ChatOverrides
from sophon_channels.channel_settings import ALL_CHATS
from sophon_channels.contract import ChatLocation, Person
from sophon_hosting.channels.chat_state import ChatState


class EffectiveChatOverrides:
    """Overrides of one channel's chats.

    A topic inherits from its chat, a chat from what holds for the whole channel (`*`). Within a chat or topic, what was
    changed by a command goes before the settings. A chat with a new id keeps what its former ids have.
    """

    def __init__(self, settings: Mapping[str, ChatOverrides], chat_state: ChatState) -> None:
        self._settings, self._chat_state = settings, chat_state

    async def find(self, location: ChatLocation, person: Person) -> ChatOverrides:
        """Return what holds in a chat or topic. Raises StoreError."""
        found = NO_OVERRIDES
        for stored, configured in await self._find_levels(location, person):
            found = found.over(stored).over(configured)
        return found.over(self._settings.get(ALL_CHATS, NO_OVERRIDES))

    async def is_configured(self, location: ChatLocation, person: Person, name: str) -> bool:
        """Return whether the settings say what an override is in a chat or topic. Raises StoreError."""
        found = NO_OVERRIDES
        for _, configured in await self._find_levels(location, person):
            found = found.over(configured)
        return getattr(found.over(self._settings.get(ALL_CHATS, NO_OVERRIDES)), name) is not None

    async def find_own(self, location: ChatLocation) -> ChatOverrides:
        """Return what commands have changed in this chat or topic itself. Raises StoreError."""
        return await self._find_stored(await self._chat_state.chat_keys(location))

    async def change(self, location: ChatLocation, name: str, value: str | None) -> None:
        """Change one override of a chat or topic; None: it is inherited again. Raises InputError, StoreError."""
        changed = (await self.find_own(location)).change(name, value)
        await self._chat_state.store_overrides(location, changed)

    async def _find_levels(
        self, location: ChatLocation, person: Person
    ) -> Sequence[tuple[ChatOverrides, ChatOverrides]]:
        """Return what is stored and configured for the topic, then for its chat."""
        places = [location] if location.thread is None else [location, replace(location, thread=None)]
        levels: list[tuple[ChatOverrides, ChatOverrides]] = []
        for place in places:
            keys = await self._chat_state.chat_keys(place)
            names = [*keys, *(sorted(person.known_ids) if place.key == place.chat and place.kind == "direct" else ())]
            configured = next((self._settings[each] for each in names if each in self._settings), NO_OVERRIDES)
            levels.append((await self._find_stored(keys), configured))
        return levels

    async def _find_stored(self, keys: Sequence[str]) -> ChatOverrides:
        for key in keys:
            stored = await self._chat_state.find_overrides(key)
            if stored is not None:
                return stored
        return NO_OVERRIDES


def check_chats(services: Services, channel: str, chats: Mapping[str, ChatOverrides]) -> None:
    """Raise SettingsError that names every agent, model and tool of the chats that there is not. Blocks."""
    problems = [
        f"chat {key!r} of the channel {channel}: {problem}"
        for key, overrides in chats.items()
        for name in ("agent", "model", "tools")
        for problem in find_name_problems(services, name, overrides)
    ]
    if problems:
        raise SettingsError(problems)


def find_name_problems(services: Services, name: str, overrides: ChatOverrides) -> Iterator[str]:
    """Yield a problem for the agent, the model or each of the tools of overrides that there is not. Blocks."""
    if name == "agent" and overrides.agent is not None:
        known = list_agents(services)
        if overrides.agent not in known:
            yield f"there is no agent {overrides.agent!r}{suggest_nearest(overrides.agent, known)}"
    if name == "model" and overrides.model not in (None, NEUTRAL["model"]):
        try:
            services.gateway.find(str(overrides.model))
        except NotFound as error:
            yield str(error)
    if name == "tools":
        # lazy: few hosts restrict the tools of chats
        from sophon.agents.unknown_names import KnownNames, names_tool
        from sophon.builtin_tools.custom_tool_management import refresh_custom_tools

        if services.assistant.custom_tools is not None:
            refresh_custom_tools(services.toolbox, services.assistant.custom_tools, services.settings.tools.disabled)
        tools = frozenset((*(each.name for each in services.registry), *LATER_TOOLS, "load_tools"))
        packages = () if services.assistant.skills is None else services.assistant.skills.read().enabled
        servers = [*(prefix for _, prefix in services.settings.list_tool_prefixes()), *packages]
        names = KnownNames(tools, (), lambda _: "", servers)
        for each in overrides.tools or ():
            if not names_tool(each, names):
                yield f"there is no tool {each!r}{suggest_nearest(each, tools)}"


def list_agents(services: Services) -> list[str]:
    """Return the names of the agents, the one without a file first. Blocks."""
    return [
        MAIN_AGENT,
        *(services.assistant.agents.catalog.read().agents if services.assistant.agents is not None else ()),
    ]


def find_model(services: Services, overrides: ChatOverrides) -> str | None:
    """Return the model of a chat, None without one and for one that no provider has any more."""
    name = overrides.find("model")
    try:
        return services.gateway.find(name).info.id if name else None
    except NotFound:
        return None

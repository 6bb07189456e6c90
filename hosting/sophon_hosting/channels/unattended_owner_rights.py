"""Rights of the owners of schedules and goals, now: a run acts for a person who may have been removed since then."""

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from sophon.principals import LOCAL_USER, hub_user_principal
from sophon.services import Services
from sophon_channels.contract import ChatLocation, Person
from sophon_hosting.channels.channel_factory import ConfiguredChannel
from sophon_hosting.channels.chat_state import LINK_KIND, ChatState
from sophon_hosting.channels.identity_links import link_from_note
from sophon_hosting.runs.message_rate import CLIENT_CHANNELS
from sophon_hosting.settings.hub import HubSettings
from sophon_hosting.store.contract import host_store

HOST_CHANNELS = frozenset({"heartbeat", "webhook"})
"""Channels of the host itself, whose runs are those of a user whom the settings name."""


class OwnedWork(Protocol):
    """Schedule or goal: what runs for its owner, on the channel and with the origin of the message that made it."""

    @property
    def owner(self) -> str: ...
    @property
    def channel(self) -> str: ...
    @property
    def origin(self) -> Mapping[str, Any]: ...


class OwnerRights:
    """Says why the owner of a schedule or goal may not run it: they may not write to the host now, or may not chat."""

    def __init__(self, services: Services, channels: Sequence[ConfiguredChannel]) -> None:
        self._services = services
        self._channels = {each.channel.name: each for each in channels}

    async def find_problem(self, work: OwnedWork) -> str:
        """Return why the owner may not run their schedule or goal; "" if they may."""
        return await self._find_sender_problem(work) or find_level_problem(self._services, work.owner, work.channel)

    async def _find_sender_problem(self, work: OwnedWork) -> str:
        platform = work.owner.partition(":")[0]
        if work.channel in HOST_CHANNELS and platform in self._channels:
            return ""  # the settings name the person, in Webhooks
        if work.channel in CLIENT_CHANNELS | HOST_CHANNELS or platform != work.channel:
            users = self._services.settings.section(HubSettings).users
            return find_client_problem([user.id for user in users], work.owner)
        configured = self._channels.get(work.channel)
        if configured is None:
            return f"the channel {work.channel} is not enabled"
        person = await self._find_person(configured, work.owner)
        place = work.origin.get("place")
        if person is None or not place:
            return f"{work.owner} is nobody on {work.channel}"
        location = ChatLocation(**place)
        state = ChatState(configured.channel, host_store(self._services), self._services.clock)
        chats = await state.chat_ids(location.chat) if location.kind == "group" else [location.chat]
        decision = configured.policy.decide_access(
            person, location, is_mention=True, is_paired=await state.is_paired(person), chat_ids=chats
        )
        return "" if decision == "let_in" else f"{work.owner} may not write in this chat any more"

    async def _find_person(self, configured: ConfiguredChannel, owner: str) -> Person | None:
        """Return the person with the ids under which the settings may name them; None for no person of the channel."""
        channel = configured.channel
        name, _, person_id = owner.partition(":")
        if name != channel.name or not person_id:
            return None
        store = host_store(self._services).channel_state
        note = await store.get(channel.name, channel.account, LINK_KIND, person_id)
        if note is None:
            return Person(person_id)
        link = link_from_note(note)
        return Person(person_id, user_id=link.user_id, number=link.number, listed_ids=link.listed_ids)


def find_level_problem(services: Services, owner: str, channel: str) -> str:
    """Return why nothing may run for a person: their level on the channel has not the feature `Chat`; "" if it has."""
    settings, policy = services.settings.permissions, services.security.operator_policy
    level = settings.level_of(owner, channel=channel, is_operator=policy.is_operator(owner))
    return "" if settings.levels.allows(level, "Chat") else f"{owner} may not chat any more: the level is {level.label}"


def find_client_problem(user_ids: Sequence[str], owner: str) -> str:
    """Return why an owner is no client of a host with these `Hub.Users`; "" if they are. Pure."""
    known = {hub_user_principal(each) for each in user_ids} if user_ids else {LOCAL_USER}
    return "" if owner in known else f"{owner} is no user of this host any more"

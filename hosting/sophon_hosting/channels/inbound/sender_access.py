"""Access of a sender: who wrote, in which chat, and whether the access policy lets them."""

import asyncio
import logging
from collections import defaultdict
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from functools import partial

from sophon._python.lazy_dataclass import dataclass
from sophon.operator_policy import OperatorPolicy
from sophon.principals import channel_person_principal
from sophon_channels.access_policy import AccessDecision, AccessPolicy
from sophon_channels.contract import ButtonPress, Channel, ChatLocation, InboundMessage, MessageReaction, Person
from sophon_hosting.channels.chat_state import ChatState
from sophon_hosting.channels.identity_links import IdentityLink, IdentityLinks
from sophon_hosting.channels.outbound.message_entries import OutboundWriter
from sophon_hosting.channels.pairing import PairingService

log = logging.getLogger("sophon")

PAIRING_MESSAGE = (
    "I do not know you yet. Give this code to the operator of this host, within an hour: {code}\n"
    "(sophon pairing approve {code})"
)
"""Reply to an unknown person, with a pairing code."""


@dataclass(frozen=True, slots=True)
class Admission:
    """Result of the access check of one event: the sender, the chat, and the decision of the access policy."""

    person: Person
    location: ChatLocation
    decision: AccessDecision


class SenderAccessControl:
    """Admission of one channel's events; offers pairing codes to those who may ask for one.

    `identities` links a person's ids; messages that arrive together are checked once per person and chat.
    """

    def __init__(
        self,
        channel: Channel,
        policy: AccessPolicy,
        *,
        chat_state: ChatState,
        identities: IdentityLinks,
        pairing: PairingService,
        writer: OutboundWriter,
        record_ignored: Callable[[InboundMessage], Awaitable[None]],
    ) -> None:
        self._record_ignored = record_ignored
        self._channel, self._policy, self._chat_state = channel, policy, chat_state
        self._identities, self._pairing, self._writer = identities, pairing, writer

    async def admit_messages(self, messages: Sequence[InboundMessage]) -> list[InboundMessage]:
        """Return the messages of people who may write, with these people and chats."""
        by_sender: dict[str, list[InboundMessage]] = defaultdict(list)
        for message in messages:
            by_sender[message.person.number or message.person.id].append(message)
        # Concurrently, so that the store commits together what it learns of many people.
        admitted = await asyncio.gather(*(self._admit_sender(each) for each in by_sender.values()))
        admissions = {external_id: admission for each in admitted for external_id, admission in each.items()}
        identified = [await self._apply(message, admissions[message.external_id]) for message in messages]
        return [message for message in identified if message is not None]

    async def admit_message(self, message: InboundMessage) -> InboundMessage | None:
        """Return the message of a person who may write; None for others."""
        return await self._apply(message, await self.admit(message, mentioned=message.is_mention))

    async def admit(
        self,
        event: InboundMessage | ButtonPress | MessageReaction,
        *,
        mentioned: bool,
        forget: Callable[[], None] | None = None,
    ) -> Admission:
        """Return who wrote and whether they may; `forget` is called if earlier admissions may no longer be true."""
        found = await self._identities.identify(event.person, event.location)
        decision = await self.decide_access(found.person, found.location, mentioned=mentioned)
        if decision == "let_in":
            if found.change is not None and forget is not None:
                forget()
            await self._identities.store(found)
            await self._chat_state.record_person_name(found.person)
        else:
            await self._identities.release(found)
        return Admission(found.person, found.location, decision)

    async def decide_access(self, person: Person, location: ChatLocation, *, mentioned: bool) -> AccessDecision:
        """Return what the policy says of an identified person."""
        chats = await self._chat_state.chat_ids(location.chat) if location.kind == "group" else [location.chat]
        decide = partial(self._policy.decide_access, person, location, is_mention=mentioned, chat_ids=chats)
        decision = decide(is_paired=False)
        if decision == "pair":  # only then does it matter, so that others cost no reads
            decision = decide(is_paired=await self._chat_state.is_paired(person))
        return decision

    async def _admit_sender(self, messages: Sequence[InboundMessage]) -> dict[str, Admission]:
        """Return the admission of each message of one number, or one person, by the message's id."""
        known: dict[tuple[Person, ChatLocation, bool], Admission] = {}
        admissions: dict[str, Admission] = {}
        for message in messages:
            # Only one piece of a media group mentions the bot; this is decided once all pieces have arrived.
            mentioned = message.is_mention or message.media_group_id is not None
            key = (message.person, message.location, mentioned)
            if key not in known:
                known[key] = await self.admit(message, mentioned=mentioned, forget=known.clear)
            admissions[message.external_id] = known[key]
        return admissions

    async def _apply(self, message: InboundMessage, admission: Admission) -> InboundMessage | None:
        identified = replace(message, person=admission.person, location=admission.location)
        if admission.decision == "let_in":
            return identified
        if admission.decision == "pair":
            await self._offer_pairing_code(identified)
        else:
            await self.note_ignored(identified)
            log.info("%s: ignored a message from a person who may not write here", self._channel.name)
        return None

    async def note_ignored(self, message: InboundMessage) -> None:
        """Keep a message that is no turn as history of its group, unless groups are disabled."""
        if message.location.kind == "group" and self._policy.group_policy != "Disabled":
            await self._record_ignored(message)

    async def _offer_pairing_code(self, message: InboundMessage) -> None:
        """Send a pairing code; the message itself is not processed."""
        channel = self._channel
        code = await self._pairing.request_code(
            channel.name, channel.account, message.person, message.location, message.external_id
        )
        if code is not None:
            name = f"pair:{channel.name}:{channel.account}:{message.external_id}"
            await self._writer.write_notice(message.location.key, name, PAIRING_MESSAGE.format(code=code))
            await self._chat_state.mark_processed(message.external_id)


def update_operator(policy: AccessPolicy, operators: OperatorPolicy, channel_name: str, link: IdentityLink) -> None:
    """Make a person an operator whom the setting Approvers names by another id, or no longer."""
    principal = channel_person_principal(channel_name, link.person)
    is_approver = policy.is_approver(Person(link.person, listed_ids=link.listed_ids))
    if is_approver == (principal in operators.operators):
        operators.operator_overrides.pop(principal, None)
    else:
        operators.operator_overrides[principal] = is_approver

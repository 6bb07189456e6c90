"""Inbound handler: access check, then dispatch to the queue, a chat command, a media group or an approval."""

import asyncio
import logging
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import groupby

from sophon.errors import StoreError
from sophon.principals import channel_person_principal
from sophon_channels.access_policy import AccessDecision, AccessPolicy
from sophon_channels.chat_commands import parse_command
from sophon_channels.contract import (
    ButtonPress,
    Channel,
    ChatLocation,
    ChatMigrated,
    DeliveryReceipt,
    IdentityChanged,
    InboundEvent,
    InboundMessage,
    Person,
)
from sophon_hosting.channels.approval_prompts import VERDICT_MARKS, ApprovalPrompts
from sophon_hosting.channels.chat_state import ChatState
from sophon_hosting.channels.identities import IdentityLink, IdentityLinks
from sophon_hosting.channels.inbound.acceptance import MessageAcceptor
from sophon_hosting.channels.inbound.commands import ChatCommandHandler, ChatCommandRequest
from sophon_hosting.channels.inbound.media_groups import MediaGroupAssembler
from sophon_hosting.channels.inbound.press_acknowledgements import PressAcknowledger
from sophon_hosting.channels.outbound.entries import OutboundWriter
from sophon_hosting.channels.pairing import PairingService
from sophon_hosting.host import Host

log = logging.getLogger("sophon")

PAIRING_MESSAGE = (
    "I do not know you yet. Give this code to the operator of this host, within an hour: {code}\n"
    "(sophon pairing approve {code})"
)
"""Reply to an unknown person, with a pairing code."""
PRESS_FAILED_NOTE = "this did not work; the host's log has the error"
"""Note at a button whose press could not be handled."""
MAY_NOT_WRITE_NOTE = "you may not decide this"
"""Note at a button that was pressed by somebody who may not write in the chat."""


@dataclass(frozen=True, slots=True)
class Admission:
    """Who wrote, in which chat, and what the access policy decides about it."""

    person: Person
    location: ChatLocation
    decision: AccessDecision


class InboundHandler:
    """`Inbox` of one channel. An event that is received repeatedly is processed once.

    Messages that arrive together are checked once per person and chat, and are stored together.
    """

    def __init__(
        self,
        host: Host,
        channel: Channel,
        policy: AccessPolicy,
        *,
        chat_state: ChatState,
        writer: OutboundWriter,
        approval_prompts: ApprovalPrompts,
        pairing: PairingService,
    ) -> None:
        self._host, self._channel, self._policy = host, channel, policy
        self._chat_state, self._writer, self._approval_prompts, self._pairing = (
            chat_state,
            writer,
            approval_prompts,
            pairing,
        )
        self._commands = ChatCommandHandler(host, chat_state, approval_prompts)
        self._acceptor = MessageAcceptor(host, channel, chat_state, writer)
        self.identities = IdentityLinks(channel, host.services.store, chat_state, self._update_operator)
        self.media_groups = MediaGroupAssembler(
            channel, host.services.store, host.services.clock, self._handle_media_group
        )
        self._acknowledgements = PressAcknowledger(channel, host.services.clock)
        self._accepts_events = True

    async def receive(self, events: Sequence[InboundEvent]) -> None:
        """Handle the events in their order, as `Inbox.receive`."""
        if not self._accepts_events:
            raise StoreError(self._channel.name, "the host is shutting down; deliver the event again later")
        for are_messages, group in groupby(events, _is_plain_message):
            if are_messages:
                await self._handle_messages([event for event in group if isinstance(event, InboundMessage)])
            else:
                for event in group:
                    await self._handle_safely(event)

    async def close(self) -> None:
        """Reject further events, so that the platform delivers them again later."""
        self._accepts_events = False
        await self.media_groups.stop()
        await self._acceptor.stop()
        await self._acknowledgements.stop()

    async def _handle_safely(self, event: InboundEvent) -> None:
        """Handle one event; of errors only StoreError is raised."""
        try:
            await self._handle(event)
        except StoreError:
            raise
        except Exception:  # a redelivery would fail again, and block all later events
            log.exception("%s: the event %s could not be handled", self._channel.name, event.external_id)

    async def _handle(self, event: InboundEvent) -> None:
        match event:
            case InboundMessage():
                await self._handle_command(event)
            case ButtonPress():
                await self._handle_press(event)
            case ChatMigrated():
                await self._chat_state.migrate_chat(event.old_chat, event.new_chat)
            case IdentityChanged():
                if not await self._chat_state.is_processed(event.external_id):
                    await self.identities.change(event)
                    await self._chat_state.mark_processed(event.external_id)
            case DeliveryReceipt():
                self._handle_receipt(event)

    async def _handle_messages(self, messages: Sequence[InboundMessage]) -> None:
        try:
            await self._accept_messages(messages)
        except StoreError:
            raise
        except Exception:
            log.exception("%s: %d messages could not be handled", self._channel.name, len(messages))
            if len(messages) > 1:  # the others need not suffer for one
                for message in messages:
                    await self._handle_messages([message])

    async def _accept_messages(self, messages: Sequence[InboundMessage]) -> None:
        """Store messages that are no commands: as runs, or as pieces of media groups."""
        admitted = await self._admit_messages(await self._without_processed(messages))
        pieces = [message for message in admitted if message.media_group_id is not None]
        whole = [message for message in admitted if message.media_group_id is None]
        await self.media_groups.add_pieces(pieces)
        await self._acceptor.accept(whole)
        # A redelivery must not meet a full queue and be reported as rejected.
        await self._chat_state.mark_all_processed([message.external_id for message in whole])

    async def _without_processed(self, messages: Sequence[InboundMessage]) -> list[InboundMessage]:
        processed = await self._chat_state.find_processed([message.external_id for message in messages])
        by_id = {message.external_id: message for message in reversed(messages)}
        return [by_id[key] for key in dict.fromkeys(each.external_id for each in messages) if key not in processed]

    async def _admit_messages(self, messages: Sequence[InboundMessage]) -> list[InboundMessage]:
        """Return the messages of people who may write; offer pairing codes to those who may ask for one."""
        by_sender: dict[str, list[InboundMessage]] = defaultdict(list)
        for message in messages:
            by_sender[message.person.number or message.person.id].append(message)
        # Concurrently, so that the store commits together what it learns of many people.
        admitted = await asyncio.gather(*(self._admit_sender(each) for each in by_sender.values()))
        admissions = {external_id: admission for each in admitted for external_id, admission in each.items()}
        identified = [await self._apply_admission(message, admissions[message.external_id]) for message in messages]
        return [message for message in identified if message is not None]

    async def _admit_sender(self, messages: Sequence[InboundMessage]) -> dict[str, Admission]:
        """Return the admission of each message of one number, or one person, by the message's id."""
        known: dict[tuple[Person, ChatLocation, bool], Admission] = {}
        admissions: dict[str, Admission] = {}
        for message in messages:
            # Only one piece of a media group mentions the bot; this is decided once all pieces have arrived.
            mentioned = message.is_mention or message.media_group_id is not None
            key = (message.person, message.location, mentioned)
            if key not in known:
                known[key] = await self._admit(message, mentioned=mentioned, forget=known.clear)
            admissions[message.external_id] = known[key]
        return admissions

    async def _apply_admission(self, message: InboundMessage, admission: Admission) -> InboundMessage | None:
        """Return the message of a person who may write, with that person and chat; None for others."""
        identified = replace(message, person=admission.person, location=admission.location)
        if admission.decision == "let_in":
            return identified
        if admission.decision == "pair":
            await self._offer_pairing_code(identified)
        else:
            log.info("%s: ignored a message from a person who may not write here", self._channel.name)
        return None

    async def _admit(
        self, event: InboundMessage | ButtonPress, *, mentioned: bool, forget: Callable[[], None] | None = None
    ) -> Admission:
        """Return who wrote and whether they may; `forget` is called if earlier admissions may no longer be true."""
        found = await self.identities.identify(event.person, event.location)
        decision = await self._decide_access(found.person, found.location, mentioned=mentioned)
        if decision == "let_in":
            if found.change is not None and forget is not None:
                forget()
            await self.identities.store(found)
            await self._chat_state.record_person_name(found.person)
        return Admission(found.person, found.location, decision)

    async def _handle_media_group(self, message: InboundMessage) -> None:
        if await self._decide_access(message.person, message.location, mentioned=message.is_mention) == "let_in":
            await self._acceptor.accept([message])

    async def _handle_command(self, message: InboundMessage) -> None:
        command = parse_command(message.text)
        if command is None or await self._chat_state.is_processed(message.external_id):
            return
        identified = await self._apply_admission(message, await self._admit(message, mentioned=message.is_mention))
        if identified is None:
            return
        if command.bot_name and message.location.kind == "group" and not message.is_mention:
            return  # addressed to another bot in the group
        session = await self._chat_state.find_session(identified.location, identified.person)
        may_decide = self._policy.is_approver(identified.person)
        reply = await self._commands.execute(ChatCommandRequest(command, identified, session, may_decide))
        await self._writer.write_notice(
            identified.location.key, f"order:{self._event_name(message)}", reply, message.message_id
        )
        await self._chat_state.mark_processed(message.external_id)

    async def _decide_access(self, person: Person, location: ChatLocation, *, mentioned: bool) -> AccessDecision:
        paired = await self._chat_state.is_paired(person)
        chats = await self._chat_state.chat_ids(location.chat) if location.kind == "group" else [location.chat]
        return self._policy.decide_access(person, location, is_mention=mentioned, is_paired=paired, chat_ids=chats)

    async def _offer_pairing_code(self, message: InboundMessage) -> None:
        """Send a pairing code; the message itself is not processed."""
        code = await self._pairing.request_code(
            self._channel.name, self._channel.account, message.person, message.location, message.external_id
        )
        if code is not None:
            await self._writer.write_notice(
                message.location.key, f"pair:{self._event_name(message)}", PAIRING_MESSAGE.format(code=code)
            )
            await self._chat_state.mark_processed(message.external_id)

    async def _handle_press(self, press: ButtonPress) -> None:
        """Handle a button press; every press is acknowledged once, or the button would show progress forever."""
        try:
            note = await self._decide_press(press)
        except StoreError:
            raise  # the press is delivered again
        except Exception:
            log.exception("%s: the button press %s could not be handled", self._channel.name, press.external_id)
            note = PRESS_FAILED_NOTE
        await self._acknowledgements.start(press, note)

    async def _decide_press(self, press: ButtonPress) -> str:
        """Decide by a press, and return the note for the person."""
        admission = await self._admit(press, mentioned=True)
        if admission.decision != "let_in":
            return MAY_NOT_WRITE_NOTE
        identified = replace(press, person=admission.person, location=admission.location)
        note = await self._approval_prompts.decide_by_press(identified)
        if not self._channel.supports_press_notes and not note.startswith(tuple(VERDICT_MARKS.values())):
            # A decision is shown in the chat anyway; a press without effect must be reported there too.
            name = f"pressed:{self._channel.name}:{self._channel.account}:{press.external_id}"
            await self._writer.write_notice(identified.location.key, name, note)
        return note

    def _handle_receipt(self, receipt: DeliveryReceipt) -> None:
        counts = self._channel.health.counts
        counts[receipt.status] = counts.get(receipt.status, 0) + 1
        if receipt.status == "failed":
            log.warning(
                "%s: a message was not delivered: %s %s", self._channel.name, receipt.code or "", receipt.reason
            )

    def _update_operator(self, link: IdentityLink) -> None:
        """Make a person an operator whom the setting Approvers names by another id, or no longer."""
        principal = channel_person_principal(self._channel.name, link.person)
        policy = self._host.services.operator_policy
        is_approver = self._policy.is_approver(Person(link.person, listed_ids=link.listed_ids))
        if is_approver == (principal in policy.operators):
            policy.operator_overrides.pop(principal, None)
        else:
            policy.operator_overrides[principal] = is_approver

    def _event_name(self, message: InboundMessage) -> str:
        return f"{self._channel.name}:{self._channel.account}:{message.external_id}"


def _is_plain_message(event: InboundEvent) -> bool:
    return isinstance(event, InboundMessage) and parse_command(event.text) is None

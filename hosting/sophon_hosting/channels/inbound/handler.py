"""Inbound handler: access check, then dispatch to the queue, a chat command, a media group or an approval."""

import logging
from collections.abc import Sequence
from dataclasses import asdict

from sophon.errors import InputError, QueueFull, SessionTaken, StoreError
from sophon_channels.access_policy import AccessDecision, AccessPolicy
from sophon_channels.chat_commands import ChatCommand, parse_command
from sophon_channels.contract import (
    ButtonPress,
    Channel,
    ChatMigrated,
    DeliveryReceipt,
    InboundEvent,
    InboundMessage,
)
from sophon_hosting.channels.approval_prompts import VERDICT_MARKS, ApprovalPrompts
from sophon_hosting.channels.chat_state import ChatState
from sophon_hosting.channels.inbound.commands import ChatCommandHandler, ChatCommandRequest
from sophon_hosting.channels.inbound.delivery_receipts import DeliveryReceiptHandler
from sophon_hosting.channels.inbound.media_groups import MediaGroupAssembler
from sophon_hosting.channels.inbound.message_lookup import MessageLookup
from sophon_hosting.channels.inbound.press_acknowledgements import PressAcknowledger
from sophon_hosting.channels.inbound.turn_text import build_turn_text, find_foreign_sources
from sophon_hosting.channels.inbound.unreadable_notices import UnreadableNotices, has_readable_content
from sophon_hosting.channels.outbound.entries import OutboundWriter
from sophon_hosting.channels.outbound.undelivered import UndeliveredAnswers
from sophon_hosting.channels.pairing import PairingService
from sophon_hosting.host import Host, RunRequest, TaskReceipt
from sophon_hosting.observability.trace_id import new_trace_id
from sophon_hosting.run_authorship import FOREIGN_SOURCES, OWN_TEXT

log = logging.getLogger("sophon")

QUEUE_FULL_NOTICE_INTERVAL_SECONDS = 60.0
"""Minimum interval between two queue-full notices in a chat. Source: reference/channels.md, rule 6."""

QUEUE_FULL_MESSAGE = "🚦 The queue is full, and your message was not accepted. Try again in a minute."
"""Reply to a message that the full queue rejected."""
SHARE_FULL_MESSAGE = (
    "🚦 {error.owner_waiting} of your messages are waiting already, and this one was not accepted. "
    "Try again in {error.retry_after_seconds} seconds."
)
"""Reply to a message of a person whose share of the queue is full."""
PAIRING_MESSAGE = (
    "I do not know you yet. Give this code to the operator of this host, within an hour: {code}\n"
    "(sophon pairing approve {code})"
)
"""Reply to an unknown person, with a pairing code."""


class InboundHandler:
    """`Inbox` of one channel. An event that is received repeatedly is processed once."""

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
        undelivered: UndeliveredAnswers,
    ) -> None:
        self._host, self._channel, self._policy = host, channel, policy
        self._chat_state, self._writer, self._approval_prompts, self._pairing = (
            chat_state,
            writer,
            approval_prompts,
            pairing,
        )
        self._undelivered = undelivered
        self._commands = ChatCommandHandler(host, chat_state, approval_prompts, writer, undelivered)
        self.media_groups = MediaGroupAssembler(
            channel, host.services.store, host.services.clock, self._handle_media_group
        )
        self._acknowledgements = PressAcknowledger(channel)
        self._unreadable_notices = UnreadableNotices(writer, host.services.clock)
        self._lookup = MessageLookup(host.services.store)
        self._receipts = DeliveryReceiptHandler(channel, chat_state, writer, self._lookup)
        self._queue_full_notices: dict[str, float] = {}
        self._accepts_events = True

    async def receive(self, events: Sequence[InboundEvent]) -> None:
        """Handle the events, as `Inbox.receive`."""
        if not self._accepts_events:
            raise StoreError(self._channel.name, "the host is shutting down; deliver the event again later")
        for event in events:
            try:
                await self._handle(event)
            except StoreError:
                raise
            except Exception:  # a redelivery would fail again, and block all later events
                log.exception("%s: the event %s could not be handled", self._channel.name, event.external_id)

    async def close(self) -> None:
        """Reject further events, so that the platform delivers them again later."""
        self._accepts_events = False
        await self.media_groups.stop()
        await self._acknowledgements.stop()

    async def _handle(self, event: InboundEvent) -> None:
        match event:
            case InboundMessage():
                await self._handle_message(event)
            case ButtonPress():
                await self._handle_press(event)
            case ChatMigrated():
                await self._chat_state.migrate_chat(event.old_chat, event.new_chat)
            case DeliveryReceipt():
                await self._receipts.handle(event)

    async def _handle_message(self, message: InboundMessage) -> None:
        if await self._chat_state.is_processed(message.external_id):
            return
        # Only one piece of a media group mentions the bot; this is decided once all pieces have arrived.
        verdict = await self._decide_access(message, mentioned=message.is_mention or message.media_group_id is not None)
        if verdict == "pair":
            await self._offer_pairing_code(message)
        elif verdict == "let_in":
            await self._chat_state.record_person_name(message.person)
            await self._undelivered.announce(message.location)
            if message.media_group_id is not None:
                await self._handle_media_group_piece(message)
            else:
                await self._process_message(message)
        else:
            log.info("%s: ignored a message from a person who may not write here", self._channel.name)

    async def _handle_media_group_piece(self, message: InboundMessage) -> None:
        if _command_of(message) is None:
            await self.media_groups.add_piece(message)
        else:
            await self._process_message(message)

    async def _handle_media_group(self, message: InboundMessage) -> None:
        if await self._decide_access(message, mentioned=message.is_mention) == "let_in":
            await self._enqueue_or_answer(message)

    async def _enqueue_or_answer(self, message: InboundMessage) -> None:
        if message.unreadable and not has_readable_content(message):
            await self._unreadable_notices.send(message, f"unread:{self._event_name(message)}")
        else:
            await self._enqueue(message)

    async def _process_message(self, message: InboundMessage) -> None:
        command = _command_of(message)
        if command is None:
            await self._enqueue_or_answer(message)
            # A redelivery must not meet a full queue and be reported as rejected.
            await self._chat_state.mark_processed(message.external_id)
            return
        if command.bot_name and message.location.kind == "group" and not message.is_mention:
            return  # addressed to another bot in the group
        session = await self._chat_state.find_session(message.location, message.person)
        may_decide = message.person.id in self._policy.approvers
        reply = await self._commands.execute(ChatCommandRequest(command, message, session, may_decide))
        await self._writer.write_notice(
            message.location.key, f"order:{self._event_name(message)}", reply, message.message_id
        )
        await self._chat_state.mark_processed(message.external_id)

    async def _decide_access(self, message: InboundMessage | ButtonPress, *, mentioned: bool) -> AccessDecision:
        paired = await self._chat_state.is_paired(message.person)
        chats = (
            await self._chat_state.chat_ids(message.location.chat)
            if message.location.kind == "group"
            else [message.location.chat]
        )
        return self._policy.decide_access(
            message.person, message.location, is_mention=mentioned, is_paired=paired, chat_ids=chats
        )

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

    async def _enqueue(self, message: InboundMessage) -> None:
        place = message.location
        try:
            receipt = await self._accept(message)
        except QueueFull as error:
            text = QUEUE_FULL_MESSAGE if error.owner_waiting is None else SHARE_FULL_MESSAGE.format(error=error)
            await self._send_queue_full_notice(message, text, f"full:{self._event_name(message)}")
        except InputError as error:
            await self._writer.write_notice(
                place.key, f"bad:{self._event_name(message)}", f"⚠️ {error}", message.message_id
            )
        else:
            if receipt.created and receipt.position > 0:
                text = f"⏳ Queued, {receipt.position} ahead."
                await self._writer.write_notice(
                    place.key, f"queued:{self._event_name(message)}", text, message.message_id
                )

    async def _accept(self, message: InboundMessage) -> TaskReceipt:
        place = message.location
        session = await self._chat_state.ensure_session(
            await self._chat_state.current_session(place), place, message.person
        )
        message = await self._lookup.add_quotation(message, session.id)
        foreign_sources = find_foreign_sources(message)
        incoming = RunRequest(
            text=build_turn_text(message, self._host.services.clock.new_nonce),
            session_id=session.id,
            session_owner=session.owner,
            owner=self._chat_state.user_id(message.person),
            channel=self._channel.name,
            account=self._channel.account,
            external_id=message.external_id,
            origin={
                "chat": place.key,
                "kind": place.kind,
                "data_owner": await self._chat_state.data_owner(place, message.person),
                "place": asdict(place),
                "reply_to": message.message_id,
                OWN_TEXT: "" if message.is_forwarded else message.text.strip(),
                **({FOREIGN_SOURCES: foreign_sources} if foreign_sources else {}),
                **({"attachments": [asdict(file) for file in message.attachments]} if message.attachments else {}),
            },
            stream=True,
            trace=new_trace_id(),
        )
        try:
            return await self._host.accept(incoming)
        except SessionTaken:  # the session was deleted meanwhile
            return await self._accept(message)

    async def _send_queue_full_notice(self, message: InboundMessage, text: str, name: str) -> None:
        now, chat = self._host.services.clock.monotonic(), message.location.key
        last_notice = self._queue_full_notices.get(chat)
        if last_notice is None or now - last_notice >= QUEUE_FULL_NOTICE_INTERVAL_SECONDS:
            await self._writer.write_notice(chat, name, text, message.message_id)
            self._queue_full_notices = {
                each: at
                for each, at in self._queue_full_notices.items()
                if now - at < QUEUE_FULL_NOTICE_INTERVAL_SECONDS
            } | {chat: now}

    async def _handle_press(self, press: ButtonPress) -> None:
        """Handle a button press; every press is acknowledged, or the button would show progress forever."""
        if await self._decide_access(press, mentioned=True) != "let_in":
            await self._acknowledgements.start(press, "you may not decide this")
            return
        await self._chat_state.record_person_name(press.person)
        note = await self._approval_prompts.decide_by_press(press)
        await self._acknowledgements.start(press, note)
        if not self._channel.supports_press_notes and not note.startswith(tuple(VERDICT_MARKS.values())):
            # A decision is shown in the chat anyway; a press without effect must be reported there too.
            name = f"pressed:{self._channel.name}:{self._channel.account}:{press.external_id}"
            await self._writer.write_notice(press.location.key, name, note)

    def _event_name(self, message: InboundMessage) -> str:
        return f"{self._channel.name}:{self._channel.account}:{message.external_id}"


def _command_of(message: InboundMessage) -> ChatCommand | None:
    """Return the command of a message; what somebody else wrote, and was forwarded, is none."""
    return None if message.is_forwarded else parse_command(message.text)

"""Inbound handler: access check, then dispatch to the queue, a chat command, a media group or an approval."""

import logging
from collections.abc import Sequence
from dataclasses import asdict
from datetime import datetime, timedelta

from sophon.errors import InputError, QueueFull, StoreError
from sophon_channels.contract import Arrival, Channel, Delivery, Moved, Pressed, Written
from sophon_channels.rules.commands import command_of
from sophon_channels.rules.policy import Policy, Verdict
from sophon_hosting.channels.acknowledgements import Acknowledgements
from sophon_hosting.channels.albums import Albums
from sophon_hosting.channels.chats import Chats, identity
from sophon_hosting.channels.letters import Letters
from sophon_hosting.channels.orders import Order, Orders
from sophon_hosting.channels.pairing import Pairing
from sophon_hosting.channels.questions import MARKS, Questions
from sophon_hosting.host import Host, Incoming
from sophon_hosting.observing.traces import new_trace

log = logging.getLogger("sophon")

FULL_PAUSE = timedelta(seconds=60)
"""Minimum interval between two queue-full notices in a chat. Source: reference/channels.md, rule 6."""

WORDLESS = "(a file without text)"
"""Text of a message that consists of files only."""
FULL = "🚦 The queue is full, and your message was not accepted. Try again in a minute."
"""Reply to a message that the full queue rejected."""
STRANGER = (
    "I do not know you yet. Give this code to the operator of this host, within an hour: {code}\n"
    "(sophon pairing approve {code})"
)
"""Reply to an unknown person, with a pairing code."""
LATE = "(written {at:%Y-%m-%d %H:%M} UTC, delivered late)"
"""First line of a message that was delivered late."""


class Reception:
    """`Inbox` of one channel. An event that is received repeatedly is processed once."""

    def __init__(
        self,
        host: Host,
        channel: Channel,
        policy: Policy,
        *,
        chats: Chats,
        letters: Letters,
        questions: Questions,
        pairing: Pairing,
    ) -> None:
        self._host, self._channel, self._policy = host, channel, policy
        self._chat_state, self._writer, self._approval_prompts, self._pairing = chats, letters, questions, pairing
        self._commands = Orders(host, chats, questions)
        self.albums = Albums(channel, host.services.store, host.services.clock, self._handle_media_group)
        self._acknowledgements = Acknowledgements(channel)
        self._queue_full_notices: dict[str, datetime] = {}
        self._accepts_events = True

    async def receive(self, arrivals: Sequence[Arrival]) -> None:
        """Handle the events, as `Inbox.receive`."""
        if not self._accepts_events:
            raise StoreError(self._channel.name, "the host is shutting down; deliver the event again later")
        for event in arrivals:
            try:
                await self._handle(event)
            except StoreError:
                raise
            except Exception:  # a redelivery would fail again, and block all later events
                log.exception("%s: the event %s could not be handled", self._channel.name, event.external_id)

    async def close(self) -> None:
        """Reject further events, so that the platform delivers them again later."""
        self._accepts_events = False
        await self.albums.stop()
        await self._acknowledgements.stop()

    async def _handle(self, event: Arrival) -> None:
        match event:
            case Written():
                await self._handle_message(event)
            case Pressed():
                await self._handle_press(event)
            case Moved():
                await self._chat_state.move(event.old, event.new)
            case Delivery():
                self._handle_receipt(event)

    async def _handle_message(self, message: Written) -> None:
        if await self._chat_state.seen(message.external_id):
            return
        # Only one piece of a media group mentions the bot; this is decided once all pieces have arrived.
        verdict = await self._decide_access(message, mentioned=message.mentioned or message.album is not None)
        if verdict == "pair":
            await self._offer_pairing_code(message)
        elif verdict == "let_in":
            await self._chat_state.met(message.person)
            if message.album is not None:
                await self._handle_media_group_piece(message)
            else:
                await self._process_message(message)
        else:
            log.info("%s: ignored a message from a person who may not write here", self._channel.name)

    async def _handle_media_group_piece(self, message: Written) -> None:
        if command_of(message.text) is None:
            await self.albums.keep(message)
        else:
            await self._process_message(message)

    async def _handle_media_group(self, message: Written) -> None:
        if await self._decide_access(message, mentioned=message.mentioned) == "let_in":
            await self._enqueue(message)

    async def _process_message(self, message: Written) -> None:
        command = command_of(message.text)
        if command is None:
            await self._enqueue(message)
            # A redelivery must not meet a full queue and be reported as rejected.
            await self._chat_state.mark(message.external_id)
            return
        if command.bot and message.place.kind == "group" and not message.mentioned:
            return  # addressed to another bot in the group
        session = await self._chat_state.session(message.place)
        may_decide = message.person.id in self._policy.approvers
        reply = await self._commands.carry_out(Order(command, message, session, may_decide))
        await self._writer.note(message.place.key, f"order:{self._event_name(message)}", reply, message.message_id)
        await self._chat_state.mark(message.external_id)

    async def _decide_access(self, message: Written | Pressed, *, mentioned: bool) -> Verdict:
        paired = await self._chat_state.paired(message.person)
        chats = (
            await self._chat_state.ids(message.place.chat) if message.place.kind == "group" else [message.place.chat]
        )
        return self._policy.verdict(message.person, message.place, mentioned=mentioned, paired=paired, chats=chats)

    async def _offer_pairing_code(self, message: Written) -> None:
        """Send a pairing code; the message itself is not processed."""
        code = await self._pairing.ask(
            self._channel.name, self._channel.account, message.person, message.place, message.external_id
        )
        if code is not None:
            await self._writer.note(message.place.key, f"pair:{self._event_name(message)}", STRANGER.format(code=code))
            await self._chat_state.mark(message.external_id)

    async def _enqueue(self, message: Written) -> None:
        place = message.place
        session = await self._chat_state.ensure(await self._chat_state.session(place), place, message.person)
        incoming = Incoming(
            text=_turn_text(message),
            session_id=session,
            owner=self._chat_state.identity(message.person),
            channel=self._channel.name,
            account=self._channel.account,
            external_id=message.external_id,
            origin={
                "chat": place.key,
                "kind": place.kind,
                "place": asdict(place),
                "reply_to": message.message_id,
                **({"attachments": [asdict(file) for file in message.attachments]} if message.attachments else {}),
            },
            stream=True,
            trace=new_trace(),
        )
        try:
            receipt = await self._host.accept(incoming)
        except QueueFull:
            await self._send_queue_full_notice(message, FULL, f"full:{self._event_name(message)}")
        except InputError as error:
            await self._writer.note(place.key, f"bad:{self._event_name(message)}", f"⚠️ {error}", message.message_id)
        else:
            if receipt.created and receipt.position > 0:
                text = f"⏳ Queued, {receipt.position} ahead."
                await self._writer.note(place.key, f"queued:{self._event_name(message)}", text, message.message_id)

    async def _send_queue_full_notice(self, message: Written, text: str, name: str) -> None:
        now, chat = self._host.services.clock.now(), message.place.key
        last_notice = self._queue_full_notices.get(chat)
        if last_notice is None or now - last_notice >= FULL_PAUSE:
            await self._writer.note(chat, name, text, message.message_id)
            self._queue_full_notices = {
                each: at for each, at in self._queue_full_notices.items() if now - at < FULL_PAUSE
            } | {chat: now}

    async def _handle_press(self, press: Pressed) -> None:
        """Handle a button press; every press is acknowledged, or the button would show progress forever."""
        if await self._decide_access(press, mentioned=True) != "let_in":
            await self._acknowledgements.begin(press, "you may not decide this")
            return
        await self._chat_state.met(press.person)
        note = await self._approval_prompts.press(press)
        await self._acknowledgements.begin(press, note)
        if not self._channel.notes_presses and not note.startswith(tuple(MARKS.values())):
            # A decision is shown in the chat anyway; a press without effect must be reported there too.
            name = f"pressed:{identity(self._channel.name, self._channel.account)}:{press.external_id}"
            await self._writer.note(press.place.key, name, note)

    def _handle_receipt(self, receipt: Delivery) -> None:
        counts = self._channel.health.counts
        counts[receipt.status] = counts.get(receipt.status, 0) + 1
        if receipt.status == "failed":
            log.warning(
                "%s: a message was not delivered: %s %s", self._channel.name, receipt.code or "", receipt.reason
            )

    def _event_name(self, message: Written) -> str:
        return f"{identity(self._channel.name, self._channel.account)}:{message.external_id}"


def _turn_text(message: Written) -> str:
    """Return the text for the turn: the quoted text, a note if the message is late, the message."""
    lines = [f"> {line}" for line in message.quoted.splitlines()]
    lines += [LATE.format(at=message.at)] if message.late else []
    return "\n".join([*lines, message.text.strip() or (WORDLESS if message.attachments else "")])

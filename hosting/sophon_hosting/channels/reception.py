"""What arrives from a platform: let in or not, then a message for the queue, a command, or a press of a button."""

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
"""Between two notices in a chat that the queue is full. Source: reference/channels.md, rule 6."""

WORDLESS = "(a file without words)"
FULL = "🚦 There is too much to do at the moment, and your message was not taken. Try again in a minute."
STRANGER = (
    "I do not know you yet. Give whoever runs me this code, within an hour: {code}\n(sophon pairing approve {code})"
)
LATE = "(written {at:%Y-%m-%d %H:%M} UTC, and delivered only now)"


class Reception:
    """The `Inbox` of one channel. What is received twice is dealt with once."""

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
        self._chats, self._letters, self._questions, self._pairing = chats, letters, questions, pairing
        self._orders = Orders(host, chats, questions)
        self.albums = Albums(channel, host.services.store, host.services.clock, self._album)
        self._acknowledgements = Acknowledgements(channel)
        self._full: dict[str, datetime] = {}
        self._is_open = True

    async def receive(self, arrivals: Sequence[Arrival]) -> None:
        """See `Inbox.receive`."""
        if not self._is_open:
            raise StoreError(self._channel.name, "the host stops; deliver it to the next one")
        for arrival in arrivals:
            try:
                await self._received(arrival)
            except StoreError:
                raise
            except Exception:  # delivered again it would fail again, and keep all behind it from being heard
                log.exception("%s: %s could not be dealt with", self._channel.name, arrival.external_id)

    async def close(self) -> None:
        """Take nothing more; the platform is told to deliver it later."""
        self._is_open = False
        await self.albums.stop()
        await self._acknowledgements.stop()

    async def _received(self, arrival: Arrival) -> None:
        match arrival:
            case Written():
                await self._written(arrival)
            case Pressed():
                await self._pressed(arrival)
            case Moved():
                await self._chats.move(arrival.old, arrival.new)
            case Delivery():
                self._delivered(arrival)

    async def _written(self, message: Written) -> None:
        if await self._chats.seen(message.external_id):
            return
        # Only one piece of an album names the bot; whether it does is known when all are there.
        verdict = await self._verdict(message, mentioned=message.mentioned or message.album is not None)
        if verdict == "pair":
            await self._offer_code(message)
        elif verdict == "let_in":
            await self._chats.met(message.person)
            if message.album is not None:
                await self._albums_or_command(message)
            else:
                await self._let_in(message)
        else:
            log.info("%s: a message of somebody who may not write here is left alone", self._channel.name)

    async def _albums_or_command(self, message: Written) -> None:
        if command_of(message.text) is None:
            await self.albums.keep(message)
        else:
            await self._let_in(message)

    async def _album(self, whole: Written) -> None:
        if await self._verdict(whole, mentioned=whole.mentioned) == "let_in":
            await self._accept(whole)

    async def _let_in(self, message: Written) -> None:
        command = command_of(message.text)
        if command is None:
            await self._accept(message)
            # Delivered again it must not meet a full queue, and be told that it was not taken.
            await self._chats.mark(message.external_id)
            return
        if command.bot and message.place.kind == "group" and not message.mentioned:
            return  # to another bot of the group
        session = await self._chats.session(message.place)
        may_decide = message.person.id in self._policy.approvers
        answer = await self._orders.carry_out(Order(command, message, session, may_decide))
        await self._letters.note(message.place.key, f"order:{self._name(message)}", answer, message.message_id)
        await self._chats.mark(message.external_id)

    async def _verdict(self, message: Written | Pressed, *, mentioned: bool) -> Verdict:
        paired = await self._chats.paired(message.person)
        chats = await self._chats.ids(message.place.chat) if message.place.kind == "group" else [message.place.chat]
        return self._policy.verdict(message.person, message.place, mentioned=mentioned, paired=paired, chats=chats)

    async def _offer_code(self, message: Written) -> None:
        """Nothing of what was written goes further, and nothing but the code comes back."""
        code = await self._pairing.ask(
            self._channel.name, self._channel.account, message.person, message.place, message.external_id
        )
        if code is not None:
            await self._letters.note(message.place.key, f"pair:{self._name(message)}", STRANGER.format(code=code))
            await self._chats.mark(message.external_id)

    async def _accept(self, message: Written) -> None:
        place = message.place
        session = await self._chats.ensure(await self._chats.session(place), place, message.person)
        incoming = Incoming(
            text=_text(message),
            session_id=session,
            owner=self._chats.identity(message.person),
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
            await self._refuse(message, FULL, f"full:{self._name(message)}")
        except InputError as error:
            await self._letters.note(place.key, f"bad:{self._name(message)}", f"⚠️ {error}", message.message_id)
        else:
            if receipt.created and receipt.position > 0:
                text = f"⏳ Queued, {receipt.position} ahead."
                await self._letters.note(place.key, f"queued:{self._name(message)}", text, message.message_id)

    async def _refuse(self, message: Written, text: str, name: str) -> None:
        now, chat = self._host.services.clock.now(), message.place.key
        last = self._full.get(chat)
        if last is None or now - last >= FULL_PAUSE:
            await self._letters.note(chat, name, text, message.message_id)
            self._full = {each: at for each, at in self._full.items() if now - at < FULL_PAUSE} | {chat: now}

    async def _pressed(self, press: Pressed) -> None:
        """A stranger's press is acknowledged, too: else the button waits for ever."""
        if await self._verdict(press, mentioned=True) != "let_in":
            await self._acknowledgements.begin(press, "you may not decide this")
            return
        await self._chats.met(press.person)
        note = await self._questions.press(press)
        await self._acknowledgements.begin(press, note)
        if not self._channel.notes_presses and not note.startswith(tuple(MARKS.values())):
            # A decision is told in the chat anyway; that a press did not count would not be told at all.
            name = f"pressed:{identity(self._channel.name, self._channel.account)}:{press.external_id}"
            await self._letters.note(press.place.key, name, note)

    def _delivered(self, delivery: Delivery) -> None:
        counts = self._channel.health.counts
        counts[delivery.status] = counts.get(delivery.status, 0) + 1
        if delivery.status == "failed":
            log.warning(
                "%s: a message was not delivered: %s %s", self._channel.name, delivery.code or "", delivery.reason
            )

    def _name(self, message: Written) -> str:
        return f"{identity(self._channel.name, self._channel.account)}:{message.external_id}"


def _text(message: Written) -> str:
    """What the turn reads: what was written, and what that answers."""
    lines = [f"> {line}" for line in message.quoted.splitlines()]
    lines += [LATE.format(at=message.at)] if message.late else []
    return "\n".join([*lines, message.text.strip() or (WORDLESS if message.attachments else "")])

"""Undelivered answers: noted per chat, shown in the session, told in the chat when it works again, sent again."""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from sophon.clock import Clock
from sophon.errors import IllegalTransition, NotFound
from sophon_channels.contract import Channel, ChatLocation, OutboundMessage, Person
from sophon_channels.outbound_entry import OutboundEntry
from sophon_channels.text.single_line import to_single_line
from sophon_hosting.channels.chat_state import ChatState
from sophon_hosting.channels.direct_chat_recipients import recipient_in_chat
from sophon_hosting.channels.outbound.closed_reply_windows import build_reopening
from sophon_hosting.channels.outbound.message_entries import OutboundWriter, build_entries, build_entry_id
from sophon_hosting.channels.outbound.outbox_dead_letters import mark_dead, report_dead
from sophon_hosting.channels.outbound.retry_rules import UNREACHABLE_REASONS, UndeliveredReason, may_send_again
from sophon_hosting.events.event_bus import EventBus
from sophon_hosting.store.channel_state.channel_state_entry import ChannelStateEntry
from sophon_hosting.store.contract import HostStore

STATE_KIND = "undelivered"
"""Kind of the stored notes: one per person of a direct chat, and per group, not told yet what was not delivered."""

NOTICE_KIND = "undelivered"
"""Kind of the outbound entry that tells them."""

MAX_RUNS = 50
"""Number of runs that a note holds; later ones are delivered by `/last` all the same."""

MAX_REDELIVERED = 1000
"""Maximum number of parts that one `/last` sends again."""

MAX_REASON_LENGTH = 400
"""In characters; a longer reason of the platform is cut."""


class UndeliveredAnswers:
    """`DeliveryListener` of one channel: no answer is given up silently.

    The note of a chat is stored before the answer is given up, so that a kill in between loses nothing, and removed
    when the notice has arrived. A chat that is gone gets the notice after its next message. A chat whose window is
    closed gets one message that tells of the answer, stored before the answer is given up, and after its next message
    the answer itself.
    """

    def __init__(
        self,
        channel: Channel,
        store: HostStore,
        clock: Clock,
        *,
        chat_state: ChatState,
        writer: OutboundWriter,
        event_bus: EventBus,
    ) -> None:
        self._channel, self._store, self._clock = channel, store, clock
        self._chat_state, self._writer, self._event_bus = chat_state, writer, event_bus

    async def give_up(self, entry: OutboundEntry, reason: UndeliveredReason, error: str) -> Sequence[OutboundEntry]:
        """Note that an answer is about to be given up, then store its dead letters with the event of its session."""
        await self._note(entry, reason, error)
        run = None if entry.run_id is None else await self._store.runs.find(entry.run_id)
        if run is None:
            return await mark_dead(self._store.outbox, entry, reason, error)
        return await report_dead(self._store.outbox, self._event_bus, entry, run, reason, error)

    async def _note(self, entry: OutboundEntry, reason: UndeliveredReason, error: str) -> None:
        """Note that an answer is about to be given up; of a file that the platform rejects, tell the chat why.

        The turn that sent the file is over by then, and sending it again would not help.
        """
        if reason == "rejected" and not may_send_again(replace(entry, dead_reason=reason)):
            await report_refusal(self._writer, entry, error)
            return
        if entry.run_id is None:
            return
        recipient = entry.recipient
        note = await self._get(recipient or entry.chat)
        runs = list(note.value["runs"]) if note else []
        if entry.run_id not in runs:
            runs = [*runs, entry.run_id][-MAX_RUNS:]
        since = note.value["since"] if note else (entry.created_at or self._clock.now()).isoformat()
        token = note.value["token"] if note else self._clock.new_id()
        value = {"since": since, "runs": runs, "token": token, "gone": False, "chat": entry.chat}
        value["kept"] = reason == "window_closed" or bool(note and note.value.get("kept"))
        await self._put(recipient or entry.chat, {**value, "recipient": recipient})
        if reason == "window_closed":
            reopening = build_reopening(self._channel, entry, _reopening_id(str(token)), recipient)
            if await self._store.outbox.add(reopening):
                self._writer.wake()

    async def handle_undelivered(self, entries: Sequence[OutboundEntry], reason: UndeliveredReason) -> None:
        """Tell the chat, unless it is gone."""
        first = entries[0]
        if first.run_id is None:
            return
        recipient = first.recipient
        key = recipient or first.chat
        if reason in UNREACHABLE_REASONS:
            if (note := await self._get(key)) is not None:
                await self._put(key, {**note.value, "gone": True})
        else:
            await self._announce(key, first.chat, recipient)

    async def handle_sent(self, entry: OutboundEntry) -> None:
        """Forget the note of a chat whose notice has arrived."""
        if entry.kind == NOTICE_KIND:
            for key in await self._note_keys(entry.recipient, _location_from_key(entry.chat)):
                await self._remove(key)

    async def announce(self, location: ChatLocation, person: Person) -> None:
        """Tell a chat in which a person has just written what was not delivered; in a direct chat what was theirs."""
        recipient = recipient_in_chat(self._channel.name, location, person)
        for key in await self._note_keys(recipient, location):
            if (note := await self._get(key)) is not None:
                await self._send_kept(note, recipient, location)
                await self._announce(key, location.key, recipient)

    async def _send_kept(self, note: ChannelStateEntry, recipient: str, location: ChatLocation) -> None:
        """Put the answers back into the outbox that waited for the window to open."""
        if not note.value.get("kept"):
            return
        with suppress(IllegalTransition, NotFound):  # it was sent, mostly
            await self._store.outbox.withdraw(_reopening_id(str(note.value["token"])), "the person has written")
        for entry in await self._list_dead(recipient, location):
            if entry.run_id is not None and entry.dead_reason == "window_closed":
                with suppress(IllegalTransition, NotFound):
                    await self._store.outbox.retry(entry.id)
        self._writer.wake()

    async def announce_all(self) -> None:
        """Tell all chats, except those that are gone: the channel works again."""
        for note in await self._store.channel_state.list(STATE_KIND, self._channel.name, self._channel.account):
            if not note.value["gone"]:
                await self._announce(note.key, str(note.value["chat"]), str(note.value["recipient"]))

    async def refresh_payload(self, entry: OutboundEntry) -> dict[str, Any] | None:
        """Return the payload of a notice that is about to be sent: more may not have been delivered since."""
        for key in await self._note_keys(entry.recipient, _location_from_key(entry.chat)):
            if (note := await self._get(key)) is not None and entry.position == 0:
                message = OutboundMessage(format_notice(note.value, self._clock.now()), is_markdown=False)
                return build_entries(self._channel, entry.chat, "", message)[0].payload  # type: ignore[return-value]
        return None

    async def redeliver(self, location: ChatLocation, person: Person) -> int:
        """Put the undelivered answers of a chat back into the outbox; return how many answers.

        In a direct chat those of the person, wherever they were sent: the chat may have been somebody else's. What the
        platform rejects is not sent again; see `may_send_again`.
        """
        recipient = recipient_in_chat(self._channel.name, location, person)
        runs: set[str] = set()
        for entry in await self._list_dead(recipient, location):
            if entry.run_id is not None and may_send_again(entry):
                with suppress(IllegalTransition, NotFound):
                    await self._store.outbox.retry(entry.id)
                    runs.add(entry.run_id)
        for key in await self._note_keys(recipient, location):
            if (note := await self._get(key)) is not None:
                await self._remove(key)
                with suppress(IllegalTransition, NotFound):
                    await self._store.outbox.withdraw(self._notice_id(note), "its answers are sent again")
        if runs:
            self._writer.wake()
        return len(runs)

    async def _list_dead(self, recipient: str, location: ChatLocation) -> list[OutboundEntry]:
        """Return the dead letters of a person, or of a group, in order of the store."""
        outbox, name = self._store.outbox, self._channel.name
        found: dict[str, OutboundEntry] = {}
        if recipient:
            for entry in await outbox.list(channel=name, recipient=recipient, status="dead", limit=MAX_REDELIVERED):
                found[entry.id] = entry
        for key in await self._chat_state.chat_keys(location):
            for entry in await outbox.list(channel=name, chat=key, status="dead", limit=MAX_REDELIVERED):
                if entry.id not in found and entry.recipient == recipient:
                    found[entry.id] = entry
        return [entry for entry in found.values() if entry.account == self._channel.account]

    async def _note_keys(self, recipient: str, location: ChatLocation) -> list[str]:
        """Return the keys of the notes of a person, or of a group under each of its ids."""
        return [recipient] if recipient else await self._chat_state.chat_keys(location)

    async def _announce(self, key: str, chat: str, recipient: str) -> None:
        """Store the notice of the note `key` for a chat, or put it back if it was given up itself."""
        note = await self._get(key)
        if note is None:
            return
        if not await self._is_anything_dead(note):  # sent again by an operator, or deleted
            await self._remove(key)
            return
        await self._put(key, {**note.value, "gone": False})
        message = OutboundMessage(format_notice(note.value, self._clock.now()), is_markdown=False)
        await self._writer.write(chat, self._notice_name(note), message, NOTICE_KIND, recipient=recipient)
        notice = await self._store.outbox.get(self._notice_id(note))
        if notice.status == "sent":
            await self._remove(key)
        elif notice.status == "dead":
            await self._store.outbox.retry(notice.id)
            self._writer.wake()

    async def _is_anything_dead(self, note: ChannelStateEntry) -> bool:
        for run_id in note.value["runs"]:
            dead = await self._store.outbox.list(run_id=str(run_id), status="dead", limit=MAX_REDELIVERED)
            if any(may_send_again(entry) for entry in dead):
                return True
        return False

    def _notice_name(self, note: ChannelStateEntry) -> str:
        return f"undelivered:{note.channel}:{note.account}:{note.key}:{note.value['token']}"

    def _notice_id(self, note: ChannelStateEntry) -> str:
        return build_entry_id(self._notice_name(note), 0)

    async def _get(self, key: str) -> ChannelStateEntry | None:
        return await self._store.channel_state.get(self._channel.name, self._channel.account, STATE_KIND, key)

    async def _put(self, key: str, value: dict[str, Any]) -> None:
        await self._store.channel_state.put(
            ChannelStateEntry(self._channel.name, self._channel.account, STATE_KIND, key, value)
        )

    async def _remove(self, key: str) -> None:
        await self._store.channel_state.remove(self._channel.name, self._channel.account, STATE_KIND, key)


def format_notice(value: Any, now: datetime) -> str:
    """Return the text that tells a chat what was not delivered. Pure."""
    since = datetime.fromisoformat(str(value["since"])).astimezone(UTC)
    at = f"{since:%H:%M} UTC" if since.date() == now.astimezone(UTC).date() else f"{since:%Y-%m-%d %H:%M} UTC"
    count = len(value["runs"])
    if count == 1:
        return f"⚠️ An answer from {at} could not be delivered. /last sends it again."
    return f"⚠️ {count} answers since {at} could not be delivered. /last sends them again."


def _reopening_id(token: str) -> str:
    return build_entry_id(f"reopening:{token}", 0)


def _location_from_key(key: str) -> ChatLocation:
    chat, _, thread = key.partition("/")
    return ChatLocation(chat, thread=thread or None)


async def report_refusal(writer: OutboundWriter, entry: OutboundEntry, reason: str) -> None:
    """Tell the chat that an entry was not delivered; once per entry, however often it is called."""
    files = [entry.payload, *entry.payload.get("more_files", ())]
    names = [repr(to_single_line(str(each["file_name"]))) for each in files if each.get("file_name")]
    what = f"The file {', '.join(names)}" if names else "A message"
    if len(names) > 1:
        what = f"The album of {', '.join(names)}"
    text = f"⚠️ {what} was not delivered: {to_single_line(reason, MAX_REASON_LENGTH) or 'the platform gave no reason'}"
    await writer.write_notice(entry.chat, f"{entry.id}:refused", text, recipient=entry.recipient)

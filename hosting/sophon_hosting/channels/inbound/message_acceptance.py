"""Acceptance of messages into the queue: many at once, so that the store commits them together."""

import asyncio
import logging
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any, TypeAlias

from sophon.errors import InputError, SessionTaken, StoreError
from sophon.stores.sessions.contract import SessionSummary
from sophon.traces.trace_context import new_trace_id
from sophon.turn.chat_overrides import ChatOverrides, build_chat_section
from sophon_channels.contract import Channel, ChatLocation, InboundMessage, Person, ReactingChannel
from sophon_hosting.background_tasks import BackgroundTasks
from sophon_hosting.channels.chat_state import ChatState
from sophon_hosting.channels.effective_chat_overrides import EffectiveChatOverrides, find_model
from sophon_hosting.channels.inbound.group_history import GroupHistory, HeardMessages
from sophon_hosting.channels.inbound.message_json import message_to_json
from sophon_hosting.channels.inbound.message_lookup import MessageLookup
from sophon_hosting.channels.inbound.turn_text import build_turn_text, find_foreign_sources
from sophon_hosting.channels.outbound.message_entries import OutboundWriter
from sophon_hosting.host import Host, RunRequest, TaskReceipt
from sophon_hosting.queue.errors import QueueFull, TooManyMessages, TryLater
from sophon_hosting.runs.data_owner_and_chat_overrides import overrides_to_origin
from sophon_hosting.runs.own_text import FOREIGN_SOURCES, OWN_TEXT, PIECES
from sophon_hosting.store.runs.contract import Run

log = logging.getLogger("sophon")

MAX_CONCURRENT = 200
"""Messages accepted at once; the store commits up to 256 concurrent writes in one transaction."""

QUEUE_FULL_NOTICE_INTERVAL_SECONDS = 60.0
"""Minimum interval between two queue-full notices in a chat."""

QUEUE_FULL_MESSAGE = "🚦 The queue is full, and your message was not accepted. Try again in a minute."
"""Reply to a message that the full queue rejected."""

SEVERAL_REJECTED_MESSAGE = (
    "🚦 The queue is full, and {count} of your messages were not accepted. Try again in a minute."
)
"""Reply to the first of several messages that the full queue rejected."""

SHARE_FULL_MESSAGE = (
    "🚦 {error.owner_waiting} of your messages are waiting already, and this one was not accepted. "
    "Try again in {error.retry_after_seconds} seconds."
)
"""Reply to a message of a person whose share of the queue is full."""

SEVERAL_OVER_SHARE_MESSAGE = (
    "🚦 {error.owner_waiting} of your messages are waiting already, and {count} more were not accepted. "
    "Try again in {error.retry_after_seconds} seconds."
)
"""Reply to the first of several messages of a person whose share of the queue is full."""

TOO_MANY_MESSAGE = (
    "🚦 You may send {error.limit} messages per minute, and this one was not accepted. "
    "Try again in {error.retry_after_seconds} seconds."
)
"""Reply to a message beyond the sender's messages per minute."""

SEVERAL_TOO_MANY_MESSAGE = (
    "🚦 You may send {error.limit} messages per minute, and {count} of your messages were not accepted. "
    "Try again in {error.retry_after_seconds} seconds."
)
"""Reply to the first of several messages beyond the sender's messages per minute."""

EDITED = "is_edited"
"""Key, in `Run.origin`, of whether the message is the new version of one that was read before."""

HISTORY = "history"
"""Key, in `Run.origin`, of the group's history that the run's text has."""

MESSAGE_KEYS = frozenset({"reply_to", HISTORY, EDITED, OWN_TEXT, FOREIGN_SOURCES, "attachments", PIECES})
"""Keys of `Run.origin` that the message states."""

Rejections: TypeAlias = dict[str, list[tuple[InboundMessage, TryLater]]]
"""Messages that were rejected for now, by chat."""

MAX_PENDING = 100
"""Reactions that may wait for the platform; further messages get none."""

NOTICE_DELAY_SECONDS = 1.0
"""How long a message must have waited: longer than an idle worker needs to take a burst of messages."""

QUEUED_MESSAGE = "⏳ Queued, {count} ahead."
"""Notice to a chat whose message waits behind others."""


class AckReactions:
    """Acknowledging reactions of one channel with one emoji; none if it is empty, or the channel cannot react.

    A reaction is best effort, and not stored: a message that is delivered again, or a kill, makes no second one, and
    what acknowledges a message for certain is its answer.
    """

    def __init__(self, channel: Channel, emoji: str) -> None:
        self._name, self._emoji = channel.name, emoji
        self._channel = channel if isinstance(channel, ReactingChannel) else None
        self._pending = BackgroundTasks()

    def start(self, message: InboundMessage) -> None:
        """React to a message in the background."""
        if not self._emoji or self._channel is None or len(self._pending) >= MAX_PENDING:
            return
        self._pending.start(self._react(self._channel, message))

    async def stop(self) -> None:
        """Cancel the reactions that were not sent."""
        await self._pending.stop()

    async def _react(self, channel: ReactingChannel, message: InboundMessage) -> None:
        try:
            await channel.send_reaction(message.location, message.message_id, self._emoji)
        except Exception:
            log.exception("%s: a message could not be acknowledged", self._name)


class MessageAcceptor:
    """Acceptor of one channel's messages. The messages of a chat are accepted in their order."""

    def __init__(
        self,
        host: Host,
        channel: Channel,
        chat_state: ChatState,
        writer: OutboundWriter,
        lookup: MessageLookup,
        history: GroupHistory,
        chat_overrides: EffectiveChatOverrides,
        reactions: AckReactions,
    ) -> None:
        self._history, self._chat_overrides, self._reactions = history, chat_overrides, reactions
        self._host, self._channel, self._chat_state, self._writer = host, channel, chat_state, writer
        self._lookup = lookup
        self._queue_notices = QueueNotices(host, writer, channel.name)
        self._queue_full_notices: dict[str, float] = {}

    async def stop(self) -> None:
        """Send no more queue notices and reactions."""
        await self._queue_notices.stop()
        await self._reactions.stop()

    async def accept(self, messages: Sequence[InboundMessage], pieces: Sequence[InboundMessage] = ()) -> None:
        """Accept the messages, or reply why not. Raises StoreError if one could not be stored; the others are.

        A message that was accepted before has no effect. `pieces` are the messages that a single one was merged from.
        """
        rejected: Rejections = defaultdict(list)
        try:
            for start in range(0, len(messages), MAX_CONCURRENT):
                await self._accept_together(messages[start : start + MAX_CONCURRENT], rejected, pieces)
        finally:  # one notice per chat for all of them
            await self._report_rejected(rejected)

    async def replace(self, run: Run, message: InboundMessage, pieces: Sequence[InboundMessage]) -> bool:
        """Replace the message of a run that has not begun; return False if it has. Raises StoreError."""
        message = await self._lookup.add_quotation(message, run.session_id)
        history = str(run.origin.get(HISTORY, ""))
        text = build_turn_text(message, self._host.services.clock.new_nonce, history)
        kept = {key: value for key, value in run.origin.items() if key not in MESSAGE_KEYS}
        return await self._host.replace_text(run.id, text, {**kept, **build_message_origin(message, pieces, history)})

    async def _accept_together(
        self, messages: Sequence[InboundMessage], rejected: Rejections, pieces: Sequence[InboundMessage]
    ) -> None:
        """Accept at most `MAX_CONCURRENT` messages; add those that the queue rejects to `rejected`."""
        heard = await self._read_histories(messages)
        requests = await self._build_requests(messages, pieces, heard)
        # The tasks run in this order up to their write, and the store commits writes in order of arrival.
        results = await asyncio.gather(*(self._host.accept(each) for each in requests), return_exceptions=True)
        accepted: list[tuple[InboundMessage, str, TaskReceipt]] = []
        for message, shown, result in zip(messages, heard, results, strict=True):
            if isinstance(result, SessionTaken):  # the session was deleted meanwhile
                await self._accept_together([message], rejected, pieces)
            elif isinstance(result, TryLater):
                rejected[message.location.key].append((message, result))
            elif isinstance(result, InputError):
                name, text = f"bad:{self._event_name(message)}", f"⚠️ {result}"
                await self._writer.write_reply(message.location, message.person, name, text, message.message_id)
            elif not isinstance(result, BaseException):
                accepted.append((message, f"queued:{self._event_name(message)}", result))
                if result.created:
                    self._reactions.start(message)
                    await self._history.forget(message.location, shown.ids)
        self._queue_notices.schedule(accepted)
        self._raise_first_error(results, messages)

    def _raise_first_error(
        self, results: Sequence[TaskReceipt | BaseException], messages: Sequence[InboundMessage]
    ) -> None:
        failures: list[BaseException] = []
        for message, result in zip(messages, results, strict=True):
            if not isinstance(result, BaseException) or isinstance(result, SessionTaken | TryLater | InputError):
                continue
            if isinstance(result, Exception) and not isinstance(result, StoreError):
                # A redelivery would fail again, and block all later events.
                log.error(
                    "%s: the event %s could not be handled", self._channel.name, message.external_id, exc_info=result
                )
            else:
                failures.append(result)
        if failures:
            raise failures[0]

    async def _read_histories(self, messages: Sequence[InboundMessage]) -> list[HeardMessages]:
        """Return what each message is shown of its group: the first of those that arrived together, all of it."""
        first = {message.location.key: message.external_id for message in reversed(messages)}
        return [
            await self._history.read(message.location)
            if first[message.location.key] == message.external_id
            else HeardMessages()
            for message in messages
        ]

    async def _build_requests(
        self,
        messages: Sequence[InboundMessage],
        pieces: Sequence[InboundMessage],
        heard: Sequence[HeardMessages],
    ) -> list[RunRequest]:
        places = {(each.location.key, each.person.id): (each.location, each.person) for each in messages}
        # Concurrently, so that the store commits new sessions together.
        found = await asyncio.gather(*(self._find_session(*each) for each in places.values()))
        sessions = dict(zip(places, found, strict=True))
        return [
            await self._build_request(message, pieces, shown.text, *sessions[message.location.key, message.person.id])
            for message, shown in zip(messages, heard, strict=True)
        ]

    async def _find_session(self, place: ChatLocation, person: Person) -> tuple[SessionSummary, str, ChatOverrides]:
        """Return the chat's session, the owner of the data that its turns use, and the overrides of the chat."""
        session = await self._chat_state.ensure_session(await self._chat_state.current_session(place), place, person)
        owner = await self._chat_state.data_owner(place, person)
        return session, owner, await self._chat_overrides.find(place, person)

    async def _build_request(
        self,
        message: InboundMessage,
        pieces: Sequence[InboundMessage],
        history: str,
        session: SessionSummary,
        data_owner: str,
        overrides: ChatOverrides,
    ) -> RunRequest:
        place = message.location
        message = await self._lookup.add_quotation(message, session.id)
        return RunRequest(
            text=build_turn_text(message, self._host.services.clock.new_nonce, history),
            session_id=session.id,
            session_owner=session.owner,
            owner=self._chat_state.user_id(message.person),
            channel=self._channel.name,
            account=self._channel.account,
            external_id=message.external_id,
            origin={
                "chat": place.key,
                "kind": place.kind,
                "data_owner": data_owner,
                "place": asdict(place),
                **overrides_to_origin(overrides),
                **build_message_origin(message, pieces, history),
            },
            stream=True,
            model=None if session.model else find_model(self._host.services, overrides),
            instructions=build_chat_section(overrides) or None,
            trace=new_trace_id(),
            sent_at=message.sent_at,
        )

    async def _report_rejected(self, rejected: Rejections) -> None:
        """Tell each chat once how many of its messages were rejected."""
        now = self._host.services.clock.monotonic()
        for chat, refusals in rejected.items():
            last_notice = self._queue_full_notices.get(chat)
            if last_notice is not None and now - last_notice < QUEUE_FULL_NOTICE_INTERVAL_SECONDS:
                continue
            first, error = refusals[0]
            text = format_rejection(error, len(refusals))
            name = f"full:{self._event_name(first)}"
            await self._writer.write_reply(first.location, first.person, name, text, first.message_id)
            self._queue_full_notices = {
                each: at
                for each, at in self._queue_full_notices.items()
                if now - at < QUEUE_FULL_NOTICE_INTERVAL_SECONDS
            } | {chat: now}

    def _event_name(self, message: InboundMessage) -> str:
        return f"{self._channel.name}:{self._channel.account}:{message.external_id}"


def build_message_origin(
    message: InboundMessage, pieces: Sequence[InboundMessage] = (), history: str = ""
) -> dict[str, Any]:
    """Return the part of a run's origin that its message states; `pieces` are those that it was merged from. Pure."""
    foreign_sources = find_foreign_sources(message, history)
    return {
        **({HISTORY: history} if history else {}),
        "reply_to": message.message_id,
        **({EDITED: True} if message.is_edited else {}),
        OWN_TEXT: "" if message.is_forwarded else message.text.strip(),
        **({FOREIGN_SOURCES: foreign_sources} if foreign_sources else {}),
        **({"attachments": [asdict(file) for file in message.attachments]} if message.attachments else {}),
        **({PIECES: [message_to_json(piece) for piece in pieces]} if len(pieces) > 1 else {}),
    }


def format_rejection(error: TryLater, count: int) -> str:
    """Return the reply to the first of `count` messages that were rejected. Pure."""
    if isinstance(error, TooManyMessages) and not error.is_total:
        template = TOO_MANY_MESSAGE if count == 1 else SEVERAL_TOO_MANY_MESSAGE
    elif isinstance(error, QueueFull) and error.owner_waiting is not None:
        template = SHARE_FULL_MESSAGE if count == 1 else SEVERAL_OVER_SHARE_MESSAGE
    else:
        template = QUEUE_FULL_MESSAGE if count == 1 else SEVERAL_REJECTED_MESSAGE
    return template.format(error=error, count=count)


class QueueNotices:
    """Queue notices of one channel: at most one per chat for messages that arrived together.

    The number is what the queue states at the time of the notice. Nothing is sent if the turn has started, or is next.
    """

    def __init__(self, host: Host, writer: OutboundWriter, channel_name: str) -> None:
        self._host, self._writer, self._channel_name = host, writer, channel_name
        self._tasks = BackgroundTasks()

    def schedule(self, accepted: Sequence[tuple[InboundMessage, str, TaskReceipt]]) -> None:
        """Check the accepted messages after `NOTICE_DELAY_SECONDS`; each comes with the name of its notice."""
        waiting = [each for each in accepted if each[2].created and each[2].position > 0]
        if waiting:
            self._tasks.start(self._send_later(waiting))

    async def stop(self) -> None:
        """Send no more notices."""
        await self._tasks.stop()

    async def _send_later(self, accepted: Sequence[tuple[InboundMessage, str, TaskReceipt]]) -> None:
        await self._host.services.clock.sleep(NOTICE_DELAY_SECONDS)
        notified: set[str] = set()
        for message, name, receipt in accepted:
            chat = message.location.key
            if chat in notified:
                continue
            try:
                position = await self._host.find_position(receipt.task_id)
                if position:
                    notified.add(chat)
                    text = QUEUED_MESSAGE.format(count=position)
                    await self._writer.write_reply(message.location, message.person, name, text, message.message_id)
            except StoreError as error:
                log.warning("%s: a queue notice could not be stored: %s", self._channel_name, error)

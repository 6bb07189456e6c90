"""Acceptance of messages into the queue: many at once, so that the store commits them together."""

import asyncio
import logging
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import asdict
from datetime import datetime, timedelta

from sophon.errors import InputError, QueueFull, SessionTaken, StoreError
from sophon.stores.sessions.contract import SessionSummary
from sophon_channels.contract import Channel, ChatLocation, InboundMessage, Person
from sophon_hosting.channels.chat_state import ChatState
from sophon_hosting.channels.inbound.queue_notices import QueueNotices
from sophon_hosting.channels.outbound.entries import OutboundWriter
from sophon_hosting.host import Host, RunRequest, TaskReceipt
from sophon_hosting.observability.trace_id import new_trace_id
from sophon_hosting.run_authorship import FOREIGN_SOURCES, FORWARDED_MESSAGE, OWN_TEXT

log = logging.getLogger("sophon")

MAX_CONCURRENT = 200
"""Messages accepted at once; the store commits up to 256 concurrent writes in one transaction."""

QUEUE_FULL_NOTICE_INTERVAL = timedelta(seconds=60)
"""Minimum interval between two queue-full notices in a chat. Source: reference/channels.md, rule 6."""

NO_TEXT = "(a file without text)"
"""Text of a message that consists of files only."""
QUEUE_FULL_MESSAGE = "🚦 The queue is full, and your message was not accepted. Try again in a minute."
"""Reply to a message that the full queue rejected."""
SEVERAL_REJECTED_MESSAGE = (
    "🚦 The queue is full, and {count} of your messages were not accepted. Try again in a minute."
)
"""Reply to the first of several messages that the full queue rejected."""
LATE_NOTE = "(written {at:%Y-%m-%d %H:%M} UTC, delivered late)"
"""First line of a message that was delivered late."""
FORWARDED_NOTE = "(forwarded message)"
"""First line of a message that somebody else wrote."""


class MessageAcceptor:
    """Acceptor of one channel's messages. The messages of a chat are accepted in their order."""

    def __init__(self, host: Host, channel: Channel, chat_state: ChatState, writer: OutboundWriter) -> None:
        self._host, self._channel, self._chat_state, self._writer = host, channel, chat_state, writer
        self._queue_notices = QueueNotices(host, writer, channel.name)
        self._queue_full_notices: dict[str, datetime] = {}

    async def stop(self) -> None:
        """Send no more queue notices."""
        await self._queue_notices.stop()

    async def accept(self, messages: Sequence[InboundMessage]) -> None:
        """Accept the messages, or reply why not. Raises StoreError if one could not be stored; the others are.

        A message that was accepted before has no effect.
        """
        for start in range(0, len(messages), MAX_CONCURRENT):
            await self._accept_together(messages[start : start + MAX_CONCURRENT])

    async def _accept_together(self, messages: Sequence[InboundMessage]) -> None:
        requests = await self._build_requests(messages)
        # The tasks run in this order up to their write, and the store commits writes in order of arrival.
        results = await asyncio.gather(*(self._host.accept(each) for each in requests), return_exceptions=True)
        accepted: list[tuple[InboundMessage, str, TaskReceipt]] = []
        rejected: dict[str, list[InboundMessage]] = defaultdict(list)
        for message, result in zip(messages, results, strict=True):
            if isinstance(result, SessionTaken):  # the session was deleted meanwhile
                await self._accept_together([message])
            elif isinstance(result, QueueFull):
                rejected[message.location.key].append(message)
            elif isinstance(result, InputError):
                name, text = f"bad:{self._event_name(message)}", f"⚠️ {result}"
                await self._writer.write_notice(message.location.key, name, text, message.message_id)
            elif not isinstance(result, BaseException):
                accepted.append((message, f"queued:{self._event_name(message)}", result))
        await self._report_rejected(rejected)
        self._queue_notices.schedule(accepted)
        self._raise_first_error(results, messages)

    def _raise_first_error(
        self, results: Sequence[TaskReceipt | BaseException], messages: Sequence[InboundMessage]
    ) -> None:
        failures: list[BaseException] = []
        for message, result in zip(messages, results, strict=True):
            if not isinstance(result, BaseException) or isinstance(result, SessionTaken | QueueFull | InputError):
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

    async def _build_requests(self, messages: Sequence[InboundMessage]) -> list[RunRequest]:
        places = {(each.location.key, each.person.id): (each.location, each.person) for each in messages}
        # Concurrently, so that the store commits new sessions together.
        found = await asyncio.gather(*(self._find_session(*each) for each in places.values()))
        sessions = dict(zip(places, found, strict=True))
        return [
            self._build_request(message, *sessions[message.location.key, message.person.id]) for message in messages
        ]

    async def _find_session(self, place: ChatLocation, person: Person) -> tuple[SessionSummary, str]:
        """Return the chat's session, and the owner of the data that its turns use."""
        session = await self._chat_state.ensure_session(await self._chat_state.current_session(place), place, person)
        return session, await self._chat_state.data_owner(place, person)

    def _build_request(self, message: InboundMessage, session: SessionSummary, data_owner: str) -> RunRequest:
        place = message.location
        return RunRequest(
            text=build_turn_text(message),
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
                "reply_to": message.message_id,
                OWN_TEXT: "" if message.is_forwarded else message.text.strip(),
                **({FOREIGN_SOURCES: [FORWARDED_MESSAGE]} if message.is_forwarded else {}),
                **({"attachments": [asdict(file) for file in message.attachments]} if message.attachments else {}),
            },
            stream=True,
            trace=new_trace_id(),
        )

    async def _report_rejected(self, rejected: dict[str, list[InboundMessage]]) -> None:
        """Tell each chat once how many of its messages the full queue rejected."""
        now = self._host.services.clock.now()
        for chat, messages in rejected.items():
            last_notice = self._queue_full_notices.get(chat)
            if last_notice is not None and now - last_notice < QUEUE_FULL_NOTICE_INTERVAL:
                continue
            text = QUEUE_FULL_MESSAGE if len(messages) == 1 else SEVERAL_REJECTED_MESSAGE.format(count=len(messages))
            name = f"full:{self._event_name(messages[0])}"
            await self._writer.write_notice(chat, name, text, messages[0].message_id)
            self._queue_full_notices = {
                each: at for each, at in self._queue_full_notices.items() if now - at < QUEUE_FULL_NOTICE_INTERVAL
            } | {chat: now}

    def _event_name(self, message: InboundMessage) -> str:
        return f"{self._channel.name}:{self._channel.account}:{message.external_id}"


def build_turn_text(message: InboundMessage) -> str:
    """Return the text for the turn: the quoted text, notes if the message is forwarded or late, the message. Pure."""
    lines = [f"> {line}" for line in message.quoted_text.splitlines()]
    lines += [FORWARDED_NOTE] if message.is_forwarded else []
    lines += [LATE_NOTE.format(at=message.sent_at)] if message.is_late else []
    return "\n".join([*lines, message.text.strip() or (NO_TEXT if message.attachments else "")])

"""SQL outbox."""

from collections.abc import Callable, Sequence
from datetime import datetime
from functools import partial

from sqlalchemy import Connection, or_, select

from sophon.clock import Clock
from sophon.stores.events.sql import add_events
from sophon.stores.outbound_entry import OutboundEntry, OutboundStatus, prepare_entries
from sophon.stores.outbox import sql_statements as statements
from sophon.stores.outbox import transitions
from sophon.stores.outbox.contract import DeadLetterEvents
from sophon.stores.sql.database import Database
from sophon.stores.sql.expiry import delete_in_batches, recheck_and_delete_in_batches
from sophon.stores.sql.outbound_rows import add_to_runs
from sophon.stores.sql.schema import IS_DEAD_LETTER, outbound


class SqlOutbox:
    """The outbox of an `SqlStore`; see `Outbox`."""

    def __init__(self, database: Database, clock: Clock) -> None:
        self._database = database
        self._clock = clock

    async def add(self, entries: Sequence[OutboundEntry]) -> int:
        """See `Outbox.add`."""
        new = prepare_entries(entries, self._clock.now())
        return await self._database.write(partial(add_to_runs, new=new))

    async def list_due(self, now: datetime, channel: str, limit: int = 100) -> list[OutboundEntry]:
        """See `Outbox.list_due`."""
        return await self._database.read(
            partial(statements.find_entries, query=statements.SELECT_DUE, channel=channel, now=now, most=max(limit, 0))
        )

    async def find_next_due(self, after: datetime, channel: str) -> datetime | None:
        """See `Outbox.find_next_due`."""
        return await self._database.read(partial(statements.find_next_due, after=after, channel=channel))

    async def mark_sending(self, entry_id: str) -> OutboundEntry:
        """See `Outbox.mark_sending`."""
        return await self._apply_transition(entry_id, transitions.mark_sending)

    async def mark_sent(
        self, entry_id: str, platform_id: str | None = None, *, keep_payload: bool = False
    ) -> OutboundEntry:
        """See `Outbox.mark_sent`."""
        return await self._apply_transition(
            entry_id, partial(transitions.mark_sent, platform_id=platform_id, keep_payload=keep_payload)
        )

    async def mark_delivered(self, entry_id: str) -> OutboundEntry:
        """See `Outbox.mark_delivered`."""
        return await self._apply_transition(entry_id, transitions.mark_delivered)

    async def mark_failed(self, entry_id: str, error: str, reason: str = "") -> OutboundEntry:
        """See `Outbox.mark_failed`."""
        return await self._apply_transition(entry_id, partial(transitions.mark_failed, error=error, reason=reason))

    async def readdress(self, entry_id: str, chat: str) -> OutboundEntry:
        """See `Outbox.readdress`."""
        return await self._apply_transition(entry_id, partial(transitions.readdress, chat=chat))

    async def mark_refused(self, entry_id: str, retry_at: datetime, error: str) -> OutboundEntry:
        """See `Outbox.mark_refused`."""
        return await self._apply_transition(entry_id, partial(transitions.mark_refused, retry_at=retry_at, error=error))

    async def mark_ambiguous(
        self, entry_id: str, error: str = "", *, retry_at: datetime | None = None
    ) -> OutboundEntry:
        """See `Outbox.mark_ambiguous`."""
        return await self._apply_transition(
            entry_id, partial(transitions.mark_ambiguous, error=error, retry_at=retry_at)
        )

    async def mark_dead(self, entry_id: str, error: str, reason: str = "") -> OutboundEntry:
        """See `Outbox.mark_dead`."""
        return await self._apply_transition(entry_id, partial(transitions.mark_dead, error=error, reason=reason))

    async def mark_message_dead(self, entry_id: str, error: str, reason: str = "") -> list[OutboundEntry]:
        """See `Outbox.mark_message_dead`."""
        return await self._database.write(
            partial(statements.mark_message_dead, entry_id=entry_id, error=error, reason=reason)
        )

    async def give_up(
        self,
        entry_id: str,
        error: str,
        session_id: str,
        events: DeadLetterEvents,
        *,
        whole_message: bool,
        reason: str = "",
    ) -> tuple[list[OutboundEntry], int]:
        """See `Outbox.give_up`."""
        give_up = statements.mark_message_dead if whole_message else statements.give_up

        def write(connection: Connection) -> tuple[list[OutboundEntry], int]:
            dead = give_up(connection, entry_id, error, reason)
            return dead, add_events(connection, session_id=session_id, new=events(dead), at=self._clock.now())

        return await self._database.write(write)

    async def withdraw(self, entry_id: str, reason: str) -> OutboundEntry:
        """See `Outbox.withdraw`."""
        return await self._apply_transition(entry_id, partial(transitions.withdraw, reason=reason))

    async def retry(self, entry_id: str) -> OutboundEntry:
        """See `Outbox.retry`."""
        return await self._apply_transition(entry_id, partial(transitions.retry, at=self._clock.now()))

    async def hold(self, entry_id: str, until: datetime) -> OutboundEntry:
        """See `Outbox.hold`."""
        return await self._apply_transition(entry_id, partial(transitions.hold, until=until))

    async def postpone(self, entry_id: str, until: datetime) -> OutboundEntry:
        """See `Outbox.postpone`."""
        return await self._apply_transition(entry_id, partial(transitions.postpone, until=until))

    async def clear_penalties(self, channel: str) -> int:
        """See `Outbox.clear_penalties`."""
        return await self._database.write(partial(statements.clear_penalties, channel=channel))

    async def recover_interrupted(self, channel: str) -> list[OutboundEntry]:
        """See `Outbox.recover_interrupted`."""
        return await self._database.write(partial(statements.recover_interrupted, channel=channel))

    async def expire(self, before: datetime) -> int:
        """See `Outbox.expire`. Uses a transaction per batch."""
        sent = (
            select(outbound.c.number)
            .where(outbound.c.status == "sent", outbound.c.created_at < before)
            .order_by(outbound.c.created_at)
        )
        return await delete_in_batches(self._database, outbound.c.number, sent)

    async def expire_dead(self, before: datetime) -> int:
        """See `Outbox.expire_dead`. Uses a transaction per batch."""
        dead = select(outbound.c.number).where(
            IS_DEAD_LETTER, outbound.c.run_id.is_(None), outbound.c.created_at < before
        )
        return await recheck_and_delete_in_batches(self._database, dead.order_by(outbound.c.number))

    async def get(self, entry_id: str) -> OutboundEntry:
        """See `Outbox.get`."""
        return await self._database.read(partial(statements.get_entry, entry_id=entry_id))

    async def find_by_platform_id(
        self, channel: str, account: str, platform_id: str, *, chat: str | None = None
    ) -> OutboundEntry | None:
        """See `Outbox.find_by_platform_id`."""
        query = statements.SELECT_BY_PLATFORM_ID
        if chat is not None:
            is_thread = outbound.c.chat.startswith(f"{chat}/", autoescape=True)
            query = query.where(or_(outbound.c.chat == chat, is_thread))
        found = await self._database.read(
            partial(statements.find_entries, query=query, channel=channel, account=account, platform_id=platform_id)
        )
        return found[0] if found else None

    async def list(
        self,
        *,
        run_id: str | None = None,
        channel: str | None = None,
        status: OutboundStatus | None = None,
        chat: str | None = None,
        recipient: str | None = None,
        limit: int = 100,
    ) -> list[OutboundEntry]:
        """See `Outbox.list`."""
        query = select(outbound).order_by(outbound.c.number).limit(max(limit, 0))
        wanted = {
            outbound.c.run_id: run_id,
            outbound.c.channel: channel,
            outbound.c.chat: chat,
            outbound.c.recipient: recipient,
        }
        for column, value in wanted.items():
            if value is not None:
                query = query.where(column == value)
        if status is not None:
            query = query.where(IS_DEAD_LETTER if status == "dead" else outbound.c.status == status)
        return await self._database.read(partial(statements.find_entries, query=query))

    async def count_dead(self) -> int:
        """See `Outbox.count_dead`."""
        return await self._database.read(statements.count_dead)

    async def _apply_transition(
        self, entry_id: str, transition: Callable[[OutboundEntry], OutboundEntry]
    ) -> OutboundEntry:
        return await self._database.write(
            partial(statements.apply_transition, entry_id=entry_id, transition=transition)
        )

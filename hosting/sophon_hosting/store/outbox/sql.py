"""The outbox: outbound messages with a delivery status, stored so that no reply is lost."""

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from functools import partial
from typing import Any, TypeAlias

from sqlalchemy import Connection, delete, or_, select

from sophon.stores.sql.batched_deletion import delete_in_batches, recheck_and_delete_in_batches
from sophon.stores.sql.repository import matching
from sophon.stores.sql.store_part import StorePart
from sophon_channels.outbound_entry import OutboundEntry, OutboundStatus, prepare_entries
from sophon_hosting.store.events.logged_event import LoggedEvent
from sophon_hosting.store.events.sql import add_events
from sophon_hosting.store.outbound_rows import add_to_runs
from sophon_hosting.store.outbox import sql_statements as statements
from sophon_hosting.store.outbox import transitions
from sophon_hosting.store.tables import IS_DEAD_LETTER, outbound

DeadLetterEvents: TypeAlias = Callable[[Sequence[OutboundEntry]], Sequence[LoggedEvent]]
"""Builds the events that report dead letters; called within a write, possibly in another thread."""


class Outbox(StorePart):
    """The outbox: at-least-once delivery with an explicit status per entry.

    Unknown ids raise NotFound; transitions other than these raise IllegalTransition::

        | from      | pending | held | sending | sent | refused | ambiguous | dead | withdrawn |
        |-----------|---------|------|---------|------|---------|-----------|------|-----------|
        | pending   |         | yes  | yes     |      |         |           | yes  | yes       |
        | held      | yes     | yes  | yes     |      |         |           | yes  | yes       |
        | sending   |         |      |         | yes  | yes     | yes       | yes  | yes       |
        | refused   |         | yes  | yes     |      |         |           | yes  | yes       |
        | ambiguous |         |      | yes     | yes  |         |           | yes  | yes       |
        | sent      |         |      |         |      |         |           | *    |           |
        | dead      | yes     |      |         |      |         |           |      |           |
        | withdrawn |         |      |         |      |         |           |      |           |

    `sending` is entered when the request is about to leave, not when a sender takes the entry: an entry that waits for
    a limit is never in doubt after a kill. An ambiguous entry becomes sent when the platform confirms it later; only
    `mark_failed` (*) makes a sent one a dead letter. A dead entry is a dead letter, which can be retried; a withdrawn
    one is no longer needed. Of two concurrent senders of one entry, one gets IllegalTransition. Every transition
    returns the updated entry.
    """

    @classmethod
    def forget_person(cls, connection: Connection, person: str) -> Mapping[str, int]:
        """See `StorePart.forget_person`."""
        return {"messages": connection.execute(delete(outbound).where(outbound.c.recipient == person)).rowcount}

    async def add(self, entries: Sequence[OutboundEntry]) -> int:
        """Add entries in order of position, all or none; return how many were new.

        An entry with a known id stays unchanged. Raises NotFound for a `run_id` that does not exist.
        """
        new = prepare_entries(entries, self._clock.now())
        return await self._database.write(partial(add_to_runs, new=new))

    async def list_due(self, now: datetime, channel: str, limit: int = 100) -> list[OutboundEntry]:
        """Return the entries to send now, oldest first: pending, held, refused or ambiguous, `not_before` reached.

        At most one per chat: the first that is open (neither sent, dead nor withdrawn) and is not held until later. So
        entries of a chat never overtake each other, except for those that are held.
        """
        return await self._database.read(partial(statements.list_due, channel=channel, now=now, most=max(limit, 0)))

    async def find_next_due(self, after: datetime, channel: str) -> datetime | None:
        """Return the earliest time after `after` at which an entry becomes due, as `list_due` defines it; None if there
        is none.
        """
        return await self._database.read(partial(statements.find_next_due, after=after, channel=channel))

    async def mark_sending(self, entry_id: str, payload: Mapping[str, Any] | None = None) -> OutboundEntry:
        """Mark an entry as sending: its request is about to leave, with another payload than before if one is given."""
        return await self._apply_transition(entry_id, partial(transitions.mark_sending, payload=payload))

    async def mark_sent(
        self, entry_id: str, platform_id: str | None = None, *, keep_payload: bool = False
    ) -> OutboundEntry:
        """Mark an entry as sent: the platform accepted it. Counts an attempt, unless it confirms an earlier one.

        Of the payload only the beginning of short values is kept, which shows what a reply quotes; with `keep_payload`
        all of it until `mark_delivered`: the platform may report later that the delivery failed.
        """
        return await self._apply_transition(
            entry_id, partial(transitions.mark_sent, platform_id=platform_id, keep_payload=keep_payload)
        )

    async def mark_delivered(self, entry_id: str) -> OutboundEntry:
        """Record that a sent entry has arrived; the payload is shortened, as by `mark_sent`.

        Raises IllegalTransition for another status.
        """
        return await self._apply_transition(entry_id, transitions.mark_delivered)

    async def mark_failed(self, entry_id: str, error: str, reason: str = "") -> OutboundEntry:
        """Mark a sent entry as a dead letter: the platform reported later that it could not be delivered.

        Raises IllegalTransition for another status, and for an entry that was delivered.
        """
        return await self._apply_transition(entry_id, partial(transitions.mark_failed, error=error, reason=reason))

    async def readdress(self, entry_id: str, chat: str) -> OutboundEntry:
        """Set the chat of a pending, refused or ambiguous entry: its recipient has another address now.

        The entry keeps its place among the others. Raises IllegalTransition for another status.
        """
        return await self._apply_transition(entry_id, partial(transitions.readdress, chat=chat))

    async def mark_refused(self, entry_id: str, retry_at: datetime, error: str) -> OutboundEntry:
        """Mark an entry as refused: the platform definitely did not take it; retry at `retry_at`. Counts a refusal."""
        return await self._apply_transition(entry_id, partial(transitions.mark_refused, retry_at=retry_at, error=error))

    async def mark_ambiguous(
        self, entry_id: str, error: str = "", *, retry_at: datetime | None = None
    ) -> OutboundEntry:
        """Mark an entry as ambiguous: no definite response came, so its delivery is unknown. Counts an attempt.

        It is due again, at once or at `retry_at`.
        """
        return await self._apply_transition(
            entry_id, partial(transitions.mark_ambiguous, error=error, retry_at=retry_at)
        )

    async def mark_dead(self, entry_id: str, error: str, reason: str = "") -> OutboundEntry:
        """Mark an entry as a dead letter: it is not sent, unless it is retried. `reason` is stored as `dead_reason`."""
        return await self._apply_transition(entry_id, partial(transitions.mark_dead, error=error, reason=reason))

    async def mark_message_dead(self, entry_id: str, error: str, reason: str = "") -> list[OutboundEntry]:
        """Mark an entry and the other open parts of its message as dead letters; return them, in order.

        Parts of one message are the entries of one run and chat, or those whose ids (`{name}:{number}`) have one name.
        Parts that are being sent stay as they are.
        """
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
        """Do what `mark_message_dead` (or, without `whole_message`, `mark_dead`, or `mark_failed` for a sent entry)
        does, and append the events that `events` builds from the dead letters to the log of their session, in one
        transaction.

        Return the dead letters and the seq of the last event. Raises NotFound if the session is unknown.
        """
        give_up = statements.mark_message_dead if whole_message else statements.give_up

        def write(connection: Connection) -> tuple[list[OutboundEntry], int]:
            dead = give_up(connection, entry_id, error, reason)
            return dead, add_events(connection, session_id=session_id, new=events(dead), at=self._clock.now())

        return await self._database.write(write)

    async def withdraw(self, entry_id: str, reason: str) -> OutboundEntry:
        """Mark an entry as withdrawn: it is no longer needed, and not a dead letter."""
        return await self._apply_transition(entry_id, partial(transitions.withdraw, reason=reason))

    async def retry(self, entry_id: str) -> OutboundEntry:
        """Make a dead letter pending again, with attempts, refusals and age counted anew; `doubtful` stays."""
        return await self._apply_transition(entry_id, partial(transitions.retry, at=self._clock.now()))

    async def hold(self, entry_id: str, until: datetime) -> OutboundEntry:
        """Hold a pending, held or refused entry back until a time; later entries of its chat are sent meanwhile."""
        return await self._apply_transition(entry_id, partial(transitions.hold, until=until))

    async def postpone(self, entry_id: str, until: datetime) -> OutboundEntry:
        """Set the earliest time of the next send of a pending, held, refused or ambiguous entry; a held one is pending
        then.

        Raises IllegalTransition for another status.
        """
        return await self._apply_transition(entry_id, partial(transitions.postpone, until=until))

    async def clear_penalties(self, channel: str) -> int:
        """Make all refused and postponed entries of a channel due, with no refusals; return how many changed.

        Entries in doubt keep the time of their next send.
        """
        return await self._database.write(partial(statements.clear_penalties, channel=channel))

    async def recover_interrupted(self, channel: str) -> list[OutboundEntry]:
        """Mark all `sending` entries of a channel as ambiguous and return them, oldest first. Counts interruptions.

        Call it before the first delivery of a channel: such entries were left by a process that was killed.
        """
        return await self._database.write(partial(statements.recover_interrupted, channel=channel))

    async def expire(self, before: datetime) -> int:
        """Delete the sent entries that were added before a time; return how many.

        Dead letters stay. Uses a transaction per batch.
        """
        sent = (
            select(outbound.c.number)
            .where(outbound.c.status == "sent", outbound.c.created_at < before)
            .order_by(outbound.c.created_at)
        )
        return await delete_in_batches(self._database, outbound.c.number, sent)

    async def expire_dead(self, before: datetime) -> int:
        """Delete the dead letters that were added before a time and belong to no run; return how many.

        Those of a run are deleted with it. Uses a transaction per batch.
        """
        dead = select(outbound.c.number).where(
            IS_DEAD_LETTER, outbound.c.run_id.is_(None), outbound.c.created_at < before
        )
        return await recheck_and_delete_in_batches(self._database, dead.order_by(outbound.c.number))

    async def get(self, entry_id: str) -> OutboundEntry:
        """Return one entry."""
        return await self._database.read(partial(statements.get_entry, entry_id=entry_id))

    async def find_by_platform_id(
        self, channel: str, account: str, platform_id: str, *, chat: str | None = None
    ) -> OutboundEntry | None:
        """Return the entry that was sent as the platform's message of that id, the newest of several; None if there is
        none.

        With `chat`, an entry to that chat or to one of its threads: ids of some platforms are unique per chat only.
        """
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
        """Return the entries of one run, channel, status, chat or recipient, or all of them, oldest first."""
        query = select(outbound).order_by(outbound.c.number).limit(max(limit, 0))
        wanted = {
            outbound.c.run_id: run_id,
            outbound.c.channel: channel,
            outbound.c.chat: chat,
            outbound.c.recipient: recipient,
        }
        query = query.where(*matching(wanted))
        if status is not None:
            query = query.where(IS_DEAD_LETTER if status == "dead" else outbound.c.status == status)
        return await self._database.read(partial(statements.find_entries, query=query))

    async def count_dead(self) -> int:
        """Return the number of dead letters."""
        return await self._database.read(statements.count_dead)

    async def _apply_transition(
        self, entry_id: str, transition: Callable[[OutboundEntry], OutboundEntry]
    ) -> OutboundEntry:
        return await self._database.write(
            partial(statements.apply_transition, entry_id=entry_id, transition=transition)
        )

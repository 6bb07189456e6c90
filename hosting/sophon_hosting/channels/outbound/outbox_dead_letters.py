"""Dead letters of the outbox: which entries end together, and the event of the session, stored with them."""

from collections.abc import Sequence

from sophon.events import AnswerUndelivered
from sophon_channels.outbound_entry import OutboundEntry
from sophon_hosting.channels.outbound.retry_rules import UndeliveredReason, ends_whole_message
from sophon_hosting.events.event_bus import EventBus
from sophon_hosting.events.session_transactions import BuildRows, Stored
from sophon_hosting.store.outbox.sql import Outbox
from sophon_hosting.store.runs.contract import Run


async def mark_dead(
    outbox: Outbox, entry: OutboundEntry, reason: UndeliveredReason, error: str
) -> Sequence[OutboundEntry]:
    """Store an entry that belongs to no session as a dead letter, and with it the parts that would end the same way.

    A sent entry, of which the platform reported later that it was not delivered, ends alone.
    """
    if entry.status == "sent":
        return [await outbox.mark_failed(entry.id, error, reason)]
    if ends_whole_message(reason):
        return await outbox.mark_message_dead(entry.id, error, reason)
    return [await outbox.mark_dead(entry.id, error, reason)]


async def report_dead(
    outbox: Outbox, event_bus: EventBus, entry: OutboundEntry, run: Run, reason: UndeliveredReason, error: str
) -> Sequence[OutboundEntry]:
    """Do as `mark_dead`, and store the event of the run's session in the same transaction: a kill loses neither."""

    async def write(build_rows: BuildRows) -> Stored[Sequence[OutboundEntry]]:
        return await outbox.give_up(
            entry.id,
            error,
            run.session_id,
            lambda entries: build_rows([build_event(entries, run, reason)]),
            whole_message=entry.status != "sent" and ends_whole_message(reason),
            reason=reason,
        )

    return await event_bus.commit_events(run.session_id, write)


def build_event(dead: Sequence[OutboundEntry], run: Run, reason: UndeliveredReason) -> AnswerUndelivered:
    """Return the event that reports the dead letters of a run. Pure."""
    return AnswerUndelivered(
        session_id=run.session_id,
        task_id=run.id,
        run_id=run.id,
        channel=dead[0].channel,
        reason=reason,
        parts=len(dead),
        may_have_arrived=any(entry.doubtful for entry in dead),
        detail=dead[0].last_error,
    )

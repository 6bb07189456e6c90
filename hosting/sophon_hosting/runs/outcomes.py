"""Outcomes of runs: session records, outcome, outbound entries and last events, written in one transaction."""

import logging
from collections.abc import Sequence
from typing import Any

from sophon.context import TurnFacts
from sophon.context.turn_log import SessionLog, TurnEnd
from sophon.errors import StoreUnavailable
from sophon.events import Emit, Event
from sophon.messages import Response
from sophon.stores.contract import Store
from sophon.stores.runs.contract import FinishResult, Run, RunError, RunOutcome
from sophon.stores.sessions.contract import SessionRecord
from sophon_hosting.events.event_bus import EventBus
from sophon_hosting.runs.active_runs import ActiveRun, ActiveRuns, HeldOutcome
from sophon_hosting.runs.outbound import OutboundBuilder, build_answer_entries

log = logging.getLogger("sophon")


class OutcomeWriter:
    """Writes the outcomes of runs, then publishes their last events in order. All outcomes are written here."""

    def __init__(
        self, store: Store, event_bus: EventBus, build_outbound: OutboundBuilder = build_answer_entries
    ) -> None:
        self._store, self._event_bus, self._build_outbound = store, event_bus, build_outbound

    async def write(
        self, active_run: ActiveRun, run: Run, records: Sequence[SessionRecord], turn_end: TurnEnd
    ) -> FinishResult:
        """Write the outcome; publish its events if it is the run's first outcome. Raises StoreError, NotFound.

        An outcome for which the store is unavailable is held by the run before StoreUnavailable is raised.
        """
        outcome = outcome_from_turn_end(turn_end)
        outbound = self._build_outbound(run, outcome)
        active_run.begin_finalizing()

        def events(last_record_seq: int) -> Sequence[Event]:
            last_events = turn_end.events(last_record_seq)
            for event in last_events:
                event.session_id, event.task_id, event.run_id = run.session_id, run.id, run.id
            return last_events

        try:
            finished = await self._event_bus.commit_outcome(
                run.session_id,
                events,
                lambda rows: self._store.runs.finish(run.id, outcome, records=records, outbound=outbound, events=rows),
            )
        except StoreUnavailable:
            active_run.held_outcome = HeldOutcome(records, turn_end)
            raise
        active_run.has_outcome, active_run.held_outcome = True, None
        return finished


class RunTurnLog:
    """`TurnLog` of a host. Turns that are no active run, and suspensions, are written by `SessionLog`.

    A turn interrupted by its time limit or by shutdown is not recorded as cancelled, because only a user cancels; its
    worker determines the outcome. One that failed because the store is unavailable is not recorded as failed: it
    resumes when the store is available again.
    """

    def __init__(self, active_runs: ActiveRuns, outcome_writer: OutcomeWriter, store: Store) -> None:
        self._active_runs, self._outcome_writer = active_runs, outcome_writer
        self._session_log = SessionLog(store)

    async def conclude(
        self, turn: TurnFacts, records: Sequence[SessionRecord], turn_end: TurnEnd, emit: Emit, /
    ) -> bool:
        """See `TurnLog.conclude`. Also returns False if the run already has an outcome or the store has refused
        one, and True if the run holds the outcome until the store takes it.
        """
        active_run = self._active_runs.get(turn.run_id)
        if active_run is None or active_run.run is None:
            return await self._session_log.conclude(turn, records, turn_end, emit)
        if turn_end.status == "suspended":
            session_log = self._session_log if active_run.store is None else SessionLog(active_run.store)
            return await session_log.conclude(turn, records, turn_end, emit)
        if active_run.outcome_write_failed or (turn_end.status == "cancelled" and not active_run.is_cancel_requested):
            return False
        if turn_end.status == "failed" and turn_end.error.get("code") == StoreUnavailable.code:
            active_run.outcome_write_failed = True
            return False
        try:
            return (await self._outcome_writer.write(active_run, active_run.run, records, turn_end)).is_first
        except StoreUnavailable:
            return True
        except Exception:
            active_run.outcome_write_failed = True
            if turn_end.status == "completed":
                raise
            log.exception("the outcome of run %s could not be recorded", turn.run_id)
            return False


def outcome_from_turn_end(end: TurnEnd) -> RunOutcome:
    """Return the run outcome for the end of a turn. Raises ValueError for a suspended turn, which has no outcome."""
    if end.status == "completed" and end.response is not None:
        return RunOutcome("completed", response=response_to_json(end.response))
    if end.status == "failed":
        error = RunError(end.error["code"], end.error["message"], end.error.get("id", ""))
        return RunOutcome("failed", response=_shown_to_json(end.response), error=error)
    if end.status == "cancelled":
        return RunOutcome("cancelled", response=_shown_to_json(end.response))
    raise ValueError(f"a turn that is {end.status} has no outcome")


def response_to_json(response: Response) -> dict[str, Any]:
    """Return a response as JSON for the run's row."""
    return {
        "text": response.full_text,
        "finish_reason": response.finish_reason,
        "usage": response.usage.to_json(),
        "detail": dict(response.detail),
    }


def _shown_to_json(response: Response | None) -> dict[str, Any] | None:
    """Return what was shown of a turn that did not complete; None if that is nothing."""
    return response_to_json(response) if response is not None and response.text else None

"""Reporter of one session: tells other processes what happens in it here, and keeps its events in their order."""

import logging

from sophon.events import Event
from sophon.failure_log import log_failure
from sophon_hosting.events.elsewhere import EventsElsewhere
from sophon_hosting.events.exchange import EventExchange
from sophon_hosting.events.resume_deduplication import FINAL_EVENTS

log = logging.getLogger("sophon")


class SessionReporter:
    """Reporter of a session; see `sequencer.Reporter`."""

    def __init__(self, session_id: str, exchange: EventExchange, elsewhere: EventsElsewhere) -> None:
        self._session_id, self._exchange, self._elsewhere = session_id, exchange, elsewhere

    def admit(self, event: Event) -> bool:
        """See `Reporter`."""
        return self._elsewhere.admit_own(event.task_id, self._find_start(event))

    def may_deliver(self, event: Event) -> bool:
        """See `Reporter`."""
        return not (event.durable and self._elsewhere.is_behind)

    def report(self, event: Event) -> None:
        """See `Reporter`."""
        if event.durable:
            self._elsewhere.stored = event.seq or 0
            if event.wire_name in FINAL_EVENTS:
                self._elsewhere.note_finished(event.task_id)
            return
        elsewhere = self._elsewhere
        after_seq = max(elsewhere.published or 0, elsewhere.stored)
        self._exchange.tell_streamed(event, self._find_start(event), after_seq)

    def _find_start(self, event: Event) -> int:
        """Return the start of an event's run; of a run that is not active any more, the newest one known."""
        return self._exchange.find_start(event) or self._elsewhere.find_start(event.task_id)

    async def publish_missing(self, seq: int) -> None:
        """See `Reporter`."""
        try:
            await self._elsewhere.catch_up(seq)
        except Exception as error:  # noqa: BLE001 - logged; the events are read from the store later
            self._elsewhere.is_behind = True
            log_failure(log, error, "the events of session %s of other hosts could not be read", self._session_id)

    def tell_stored(self, last: int, count: int) -> None:
        """See `Reporter`."""
        self._elsewhere.note_own(last)
        self._exchange.tell_stored(self._session_id, last, count)
        if self._elsewhere.is_behind:
            self._exchange.look_again(self._session_id)

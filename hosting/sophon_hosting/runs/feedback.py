"""Feedback on the answers of runs: stored per person, told to the session, and learnt from."""

import math

from sophon.errors import InputError
from sophon.events import FeedbackRecorded
from sophon.learning.feedback import MAX_CORRECTION_CHARACTERS, Feedback
from sophon.security import redact
from sophon.services import Services
from sophon.stores.trajectories.trajectory_write import FeedbackResult
from sophon_hosting.events.event_bus import EventBus
from sophon_hosting.runs.late_judgements import learn_later
from sophon_hosting.store.contract import host_store
from sophon_hosting.store.runs.contract import Run


class FeedbackRecorder:
    """Records what people say about answers; the same again changes nothing.

    The trajectory of the run gets another quality, which the moving averages of routing observe, and similar messages
    are routed by it: see `learn_later`.
    """

    def __init__(self, services: Services, event_bus: EventBus) -> None:
        self._services, self._event_bus = services, event_bus

    async def record(
        self, run: Run, principal: str, value: float, *, text: str = "", source: str = "api"
    ) -> FeedbackResult:
        """Record the value (-1 bad to 1 good) and correction of one person; 0 without a text takes them back.

        Raises InputError for another value, a longer text, a run without an answer, and off the record.
        """
        check_feedback(value, text)
        services = self._services
        if not services.learning.is_enabled:
            raise InputError("a conversation off the record keeps no feedback")
        if not run.is_finished:
            raise InputError(f"task {run.id!r} has no answer yet; give feedback when it has ended")
        feedback = Feedback(
            run.id, principal, float(value), services.clock.now(), redact(text.strip()), source, run.session_id
        )
        result = await host_store(services).trajectories.rate(feedback)
        if result.is_changed:
            self._event_bus.emit(
                FeedbackRecorded(
                    session_id=run.session_id, task_id=run.id, run_id=run.id, value=feedback.value, source=source
                )
            )
            if result.after is not None:
                said = result.after.feedback  # None: it was taken back
                await learn_later(services, result.after, said=None if said is None else (said + 1) / 2)
        return result


def check_feedback(value: float, text: str) -> None:
    """Raise InputError for a value outside -1 to 1, or a text that is too long."""
    if not math.isfinite(value) or not -1 <= value <= 1:
        raise InputError(f"the value of feedback is -1 (bad) to 1 (good), not {value}")
    if len(text) > MAX_CORRECTION_CHARACTERS:
        raise InputError(f"a correction has at most {MAX_CORRECTION_CHARACTERS} characters, not {len(text)}")

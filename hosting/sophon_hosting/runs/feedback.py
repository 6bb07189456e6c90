"""Feedback on the answers of runs: stored per person, told to the session, and learnt from."""

import logging
import math

from sophon.errors import InputError, SophonError
from sophon.events import FeedbackRecorded
from sophon.failure_log import log_failure
from sophon.learning.contract import PolicyCache
from sophon.learning.feedback import MAX_CORRECTION_CHARACTERS, Feedback
from sophon.learning.trajectories import Trajectory
from sophon.models.turn_meter import metering
from sophon.security import redact
from sophon.services import Services
from sophon.stores.route_averages.contract import RouteObservation
from sophon.stores.runs.contract import Run
from sophon.stores.trajectories.contract import FeedbackResult
from sophon.stores.vectors.contract import POLICIES
from sophon.stores.vectors.policies import to_vector_row
from sophon_hosting.events.event_bus import EventBus
from sophon_middlewares.outer.host_meter import HostMeter

log = logging.getLogger("sophon")


class FeedbackRecorder:
    """Records what people say about answers; the same again changes nothing.

    The trajectory of the run gets another quality, which the moving averages of routing observe. The route of an answer
    that is not good any more is not reused; that of one which has become good is.
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
        if not services.learns:
            raise InputError("a conversation off the record keeps no feedback")
        if not run.is_finished:
            raise InputError(f"task {run.id!r} has no answer yet; give feedback when it has ended")
        feedback = Feedback(
            run.id, principal, float(value), services.clock.now(), redact(text.strip()), source, run.session_id
        )
        result = await services.store.trajectories.rate(feedback)
        if result.is_changed:
            self._event_bus.emit(
                FeedbackRecorded(
                    session_id=run.session_id, task_id=run.id, run_id=run.id, value=feedback.value, source=source
                )
            )
            if result.after is not None:
                await self._observe_quality(result.after)
                await self._learn(result.after)
        return result

    async def _observe_quality(self, trajectory: Trajectory) -> None:
        """Move the average of what people say about the model, for its tier and task type."""
        services = self._services
        if trajectory.feedback is None:  # it was taken back
            return
        observation = RouteObservation(
            trajectory.model,
            trajectory.tier,
            trajectory.task_type,
            services.clock.now(),
            smoothing=services.settings.routing.quality.smoothing,
            expiry=services.settings.routing.quality.expiry,
            said=(trajectory.feedback + 1) / 2,
        )
        await services.store.route_averages.add([observation])
        if not services.settings.routing.is_default:
            services.router.observe([observation])  # other processes read it from the store: Routing.Refresh

    async def _learn(self, trajectory: Trajectory) -> None:
        """Forget the route of the answer, or keep it. What cannot be learnt is logged: the feedback is stored."""
        policies = self._services.policies
        if policies is None:
            return
        try:
            await policies.warm_up()
            if trajectory.quality >= self._services.settings.learning.good_from and trajectory.tier:
                await self._keep_route(policies, trajectory)
            else:
                await self._services.store.vectors.delete(POLICIES, policies.forget(run_id=trajectory.run_id))
        except SophonError as error:
            log_failure(log, error, "the feedback on run %s changed no route", trajectory.run_id)

    async def _keep_route(self, policies: PolicyCache, trajectory: Trajectory) -> None:
        embedder = self._services.embedder
        run = await self._services.store.runs.find(trajectory.run_id)
        if embedder is None or run is None:
            return
        services = self._services
        meter = HostMeter(
            services.store.usage, services.settings.budget, services.clock, session_id=run.session_id, run_id=run.id
        )
        with metering(meter):
            (vector,) = await embedder.embed([run.text])
        await policies.record(
            vector,
            trajectory.tier,
            trajectory.model,
            trajectory.quality,
            session_id=trajectory.session_id,
            run_id=trajectory.run_id,
        )
        rows = [to_vector_row(policy, embedder.name) for policy in policies.take_pending()]
        await self._services.store.vectors.put(rows)


def check_feedback(value: float, text: str) -> None:
    """Raise InputError for a value outside -1 to 1, or a text that is too long."""
    if not math.isfinite(value) or not -1 <= value <= 1:
        raise InputError(f"the value of feedback is -1 (bad) to 1 (good), not {value}")
    if len(text) > MAX_CORRECTION_CHARACTERS:
        raise InputError(f"a correction has at most {MAX_CORRECTION_CHARACTERS} characters, not {len(text)}")

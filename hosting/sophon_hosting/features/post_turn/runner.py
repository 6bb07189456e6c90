"""Runner of the post-turn jobs: after an answer, extract memories, title and summarise the session, judge it.

A greeting, "ok" and what no model answered give no title: the first message with a subject does. Nor is what no model
answered read for facts by default: it was a command, and answered at no cost.
"""

import asyncio
import logging
from collections import deque
from contextlib import suppress

from sophon._python.lazy_dataclass import dataclass
from sophon.chain.pipeline import Pipeline
from sophon.context import Context
from sophon.decisions.family_patterns import is_internal
from sophon.decisions.low_intent import is_small_talk
from sophon.errors import NotFound, StoreUnavailable
from sophon.events import AgentStatus, Event, EventSink, RouteChosen
from sophon.failure_log import log_failure
from sophon.learning.trajectories import scores_to_json
from sophon.memory.statements_to_remember import may_state_facts
from sophon.messages import Response
from sophon.scheduled_turns import strip_scheduled_prefix
from sophon.services import Services
from sophon.stores.sessions.contract import SessionSummary
from sophon.turn.task_type_chains import PipelineRegistry
from sophon_hosting.events.event_bus import EventBus
from sophon_hosting.events.wire_event import WireEvent
from sophon_hosting.features.post_turn.answer_evaluation import EVALUATION, AnswerEvaluation, wants_evaluation
from sophon_hosting.features.post_turn.events import SessionTitled
from sophon_hosting.features.post_turn.memory_extraction import MemoryExtraction
from sophon_hosting.features.post_turn.session_summary import summarize_session
from sophon_hosting.features.post_turn.title_generation import TitleGeneration, fallback_title
from sophon_hosting.host_chain import place_model_hooks
from sophon_hosting.runs.data_owner_and_chat_overrides import audience_of_run, overrides_of_run
from sophon_hosting.runs.late_judgements import learn_later
from sophon_hosting.runs.own_text import own_text_of_run
from sophon_hosting.runs.run_kinds import is_direct_call, is_unattended
from sophon_hosting.store.contract import host_store
from sophon_hosting.store.runs.contract import Run
from sophon_middlewares.chains.chain_settings import complete_for_chain
from sophon_middlewares.outer.budget.budget import Budget
from sophon_middlewares.outer.capability_routing.capability_routing import PRIORITY, CapabilityRouting

log = logging.getLogger("sophon")

MAX_PENDING = 100
"""Bound of the queue of answers; when it is full, the oldest is dropped."""

TIMEOUT_SECONDS = 30.0
"""Time limit for the jobs of one answer together."""

MESSAGES_OF_AN_EXCHANGE = 2
"""A message of the person and the answer."""

ANSWER_FINISH_REASONS = frozenset({"stop", "length", "max_iterations"})
"""Finish reasons after which the jobs run."""


@dataclass(frozen=True, slots=True)
class PostTurnStatistics:
    """Counts since the start: answers `done`, `dropped` from a full queue, `failed` or timed out; `waiting` now."""

    waiting: int
    done: int
    dropped: int
    failed: int


class PostTurnRunner:
    """Runs the post-turn jobs of one answer at a time, triggered by `task_completed` events.

    Model calls go through Budget and CapabilityRouting, like all others, and emit events of the task they belong to.
    Jobs that are pending at shutdown are lost.
    """

    def __init__(self, services: Services, event_bus: EventBus, pipelines: PipelineRegistry | None = None) -> None:
        self._services, self._event_bus = services, event_bus
        self._pipelines = pipelines
        """The chains of the host's turns, whose model hooks hold here, too."""
        self._title_chain = Pipeline.compose(Budget(), CapabilityRouting(), TitleGeneration())
        self._memory_chain = Pipeline.compose(Budget(), CapabilityRouting(), MemoryExtraction())
        self._pending_task_ids: deque[str] = deque()
        self._wake_up = asyncio.Event()
        self._task: asyncio.Task[None] | None = None
        self._job: asyncio.Task[None] | None = None
        self._job_session = ""
        self._done = self._dropped = self._failed = 0

    def start(self) -> None:
        """Subscribe to the events and start the background task."""
        self._event_bus.subscribe_all(self._on_event)
        self._event_bus.add_deletion_callback(self.end_session)
        self._task = asyncio.create_task(self._run())

    async def stop(self) -> None:
        """Cancel the background task without waiting for pending jobs."""
        if self._task is None:
            return
        self._event_bus.remove_deletion_callback(self.end_session)
        self._event_bus.unsubscribe_all(self._on_event)
        self._task.cancel()
        with suppress(asyncio.CancelledError):
            await self._task
        self._task = None
        await self._end_job()

    async def end_session(self, session_id: str) -> None:
        """Cancel the jobs of a session that is about to be deleted; pending ones find that their task is gone."""
        if self._job_session == session_id:
            await self._end_job()

    def statistics(self) -> PostTurnStatistics:
        """Return the current counts."""
        return PostTurnStatistics(len(self._pending_task_ids), self._done, self._dropped, self._failed)

    def _on_event(self, wire_event: WireEvent) -> None:
        if wire_event.name != "task_completed" or wire_event.data["finish_reason"] not in ANSWER_FINISH_REASONS:
            return
        if len(self._pending_task_ids) >= MAX_PENDING:
            self._pending_task_ids.popleft()
            self._dropped += 1
            log.warning("post-turn jobs of an answer dropped: %d others are waiting", MAX_PENDING)
        self._pending_task_ids.append(wire_event.task_id)
        self._wake_up.set()

    async def _run(self) -> None:
        while True:
            await self._wake_up.wait()
            while self._pending_task_ids:
                self._job = asyncio.create_task(self._run_jobs(self._pending_task_ids.popleft()))
                await asyncio.wait({self._job})
            self._wake_up.clear()

    async def _end_job(self) -> None:
        if self._job is not None:
            self._job.cancel()
            await asyncio.wait({self._job})

    async def _run_jobs(self, task_id: str) -> None:
        try:
            async with self._services.clock.timeout(TIMEOUT_SECONDS):
                run = await host_store(self._services).runs.get(task_id)
                if is_unattended(run):
                    return
                self._job_session = run.session_id
                if not is_direct_call(run):  # it says nothing about the user, and its text is its title
                    await self._extract_memories(run)
                await self._generate_title(run)
                if not is_direct_call(run):
                    await self._summarize(run)
                    await self._evaluate(run)
            self._done += 1
        except NotFound:
            log.debug("task %s was deleted", task_id)
        except StoreUnavailable as error:
            self._failed += 1
            log_failure(log, error, "post-turn jobs of task %s failed", task_id)
        except Exception:
            self._failed += 1
            log.warning("post-turn jobs of task %s failed", task_id, exc_info=True)

    async def _extract_memories(self, run: Run) -> None:
        memory = self._services.settings.memory
        text = own_text_of_run(run)
        wants = asked_a_model(run) and may_state_facts(text) if memory.learn is None else memory.learn
        if memory.enabled and wants and text.strip() and overrides_of_run(run).remembers_for_all:
            await self._run_chain(self._memory_chain, run, text)

    async def _generate_title(self, run: Run) -> None:
        sessions = host_store(self._services).sessions
        settings = complete_for_chain(self._services.settings).agent_execution
        if not settings.titles:
            return
        session = await sessions.get(run.session_id)
        if session.title or not await self._has_messages(session, settings.title_from_messages):
            return
        text = strip_scheduled_prefix(run.text)
        if is_internal(text):
            return  # the report of a goal: its first words are the program's
        title = fallback_title(text)
        if not is_direct_call(run):
            if is_small_talk(own_text_of_run(run) or text) or not asked_a_model(run):
                return  # the first message with a subject gives the title
            response = await self._run_chain(self._title_chain, run, text)
            # A refusal, which Budget gives before any call, is no title.
            title = response.text if response.finish_reason == "stop" else title
        await host_store(self._services).runs.get(
            run.id
        )  # deleted with its session: that id may be another session's by now
        if not (await sessions.get(run.session_id)).title:  # still untitled: a user may have set a title meanwhile
            await sessions.rename(run.session_id, title)
            self._event_bus.emit(SessionTitled(session_id=run.session_id, task_id=run.id, run_id=run.id, title=title))

    async def _has_messages(self, session: SessionSummary, number: int) -> bool:
        """Return whether the session has so many messages, two for each exchange: texts before tool calls are none."""
        if session.message_count < number or number <= MESSAGES_OF_AN_EXCHANGE:
            return session.message_count >= number
        history = await self._services.history(session.id)
        return MESSAGES_OF_AN_EXCHANGE * sum(each.role == "user" and not each.origin for each in history) >= number

    async def _summarize(self, run: Run) -> None:
        memory = self._services.settings.memory
        if memory.enabled and memory.learn is not False and overrides_of_run(run).remembers_for_all:
            title = (await host_store(self._services).sessions.get(run.session_id)).title
            await summarize_session(self._services, run, title)

    async def _evaluate(self, run: Run) -> None:
        """Let a model judge the answer, if it is one of the sample; what it says is kept and learnt from."""
        services = self._services
        if services.settings.learning.scorer != "Evaluator" or not services.learning.is_enabled:
            return
        kept = await host_store(services).trajectories.find(run.id)
        if kept is None or not wants_evaluation(kept, services.settings.learning):
            return
        chain = Pipeline.compose(Budget(), CapabilityRouting(strategy=PRIORITY), AnswerEvaluation(kept.reply))
        ctx = self._create_turn(run, kept.request)
        await self._add_hooks(chain).run(ctx)
        found = ctx.get(EVALUATION)
        scored = None
        if found is not None:
            scored = await host_store(services).trajectories.score(run.id, scores_to_json(found), "evaluator")
        if found is not None and scored is not None:
            await learn_later(services, scored, quality=found.overall)

    async def _run_chain(self, chain: Pipeline, run: Run, text: str) -> Response:
        return await self._add_hooks(chain).run(self._create_turn(run, text))

    def _add_hooks(self, chain: Pipeline) -> Pipeline:
        return chain if self._pipelines is None else place_model_hooks(chain, self._pipelines)

    def _create_turn(self, run: Run, text: str) -> Context:
        audience = audience_of_run(run)
        services = self._services
        return services.with_parts(events=_EventsOfJobs(services.events)).turn(
            text,
            session_id=run.session_id,
            principal=run.owner,
            group=audience.group,
            data_owner=audience.data_owner,
            run_id=run.id,
        )


class _EventsOfJobs:
    """Event sink for jobs behind a task's final event: no status says that it is at work, no route is one of its own.

    Which model a job asks is in its `model_attempt`.
    """

    def __init__(self, events: EventSink) -> None:
        self._events = events

    def emit(self, event: Event, /) -> None:
        if not isinstance(event, AgentStatus | RouteChosen):
            self._events.emit(event)


def asked_a_model(run: Run) -> bool:
    """Return whether a model took part in an answer; a rule or a tool alone may have given it."""
    usage = (run.response or {}).get("usage")
    return not usage or any(usage.values())

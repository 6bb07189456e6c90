"""A month of goals in virtual time: one is made each day, some wait days for their person, all end."""

import time
from datetime import UTC, datetime, timedelta
from typing import Any

from sophon import ModelRequest, ModelResponse, Services
from sophon.testing import EventRecorder, FunctionModel, VirtualClock
from sophon.turn.task_type_chains import PipelineRegistry
from sophon_hosting.events.event_bus import EventBus
from sophon_hosting.features.goals.engine import GoalEngine
from sophon_hosting.features.goals.events import GoalChanged
from sophon_hosting.features.goals.person_actions import GoalCommands
from sophon_hosting.features.goals.settings import GoalsSettings
from sophon_hosting.features.goals.stored_goals import stored_goals
from sophon_hosting.key_locks import KeyLocks
from sophon_hosting.leadership.membership import GroupMembership
from sophon_hosting.runs.run_acceptance import RunRequest, TaskReceipt
from sophon_hosting.store.runs.contract import InboundKey, Run, RunOutcome
from sophon_hosting.store.sql_host_store import SqlHostStore
from sophon_middlewares.chains import twelve
from tests.hosting.features.goals.conftest import plan, step

DAYS = 30


class InstantHost:
    """A host whose runs end as soon as they are accepted; every seventh step fails."""

    def __init__(self, services: Services) -> None:
        self.services = services
        store = services.store
        self.event_bus = EventBus(store.events, store.runs, services.clock, services.events, store.sessions)
        self.membership = GroupMembership(services)
        self.pipelines = PipelineRegistry(twelve(services))
        self.unattended_starts = KeyLocks[str]()
        self.accepted: list[str] = []

    async def accept(self, message: RunRequest) -> TaskReceipt:
        store = self.services.store
        key = InboundKey(message.channel, message.account, message.external_id or "")
        run = Run(f"r{len(self.accepted)}", message.session_id or "", message.owner, message.channel, text=message.text)
        result = await store.runs.accept(run, key)
        if result.created:
            self.accepted.append(message.external_id or "")
            fails = message.autonomy is not None and len(self.accepted) % 7 == 0
            detail = {"tool_outcome": "failed" if fails else "completed"}
            response: dict[str, Any] = {"text": f"out of ink {len(self.accepted)}", "finish_reason": "stop"}
            await store.runs.finish(run.id, RunOutcome("completed", response={**response, "detail": detail}))
        return TaskReceipt(result.run.id, result.run.session_id, 0, result.created)

    async def cancel(self, task_id: str) -> Run:
        return await self.services.store.runs.get(task_id)


async def answer(request: ModelRequest) -> ModelResponse:
    return ModelResponse(plan(*(step(f"s{number}", "calculator", expression="1+1") for number in range(5))))


async def test_a_month_of_goals_runs_in_a_second() -> None:
    clock = VirtualClock()
    store = SqlHostStore("memory://", clock=clock)
    settings = {"Goals": {"Enabled": True, "Review": False, "Tick": "00:30:00"}}
    events = EventRecorder()
    services = Services(models=FunctionModel(answer), store=store, clock=clock, settings=settings, events=events)
    host = InstantHost(services)
    engine = GoalEngine(host)
    await store.sessions.get_or_create("chat", "ada")
    begin, began = clock.now(), time.process_time()
    engine.start()
    commands = GoalCommands(store, clock, services.settings.section(GoalsSettings), host.event_bus)
    waiting: list[tuple[datetime, str]] = []
    for day in range(DAYS):
        goal = await commands.create(owner="ada", title=f"Day {day}", session_id="chat")
        if day % 5 == 0:  # its person goes away for four days
            await commands.pause(goal.id, "ada", by="ada")
            waiting.append((clock.now() + timedelta(days=4), goal.id))
        await clock.sleep(86_400)
        for at, goal_id in [each for each in waiting if each[0] <= clock.now()]:
            waiting.remove((at, goal_id))
            await commands.resume(goal_id, "ada", by="ada")
    await clock.sleep(86_400 * 2)
    took = time.process_time() - began
    found = await stored_goals(store).list(limit=1000)
    assert clock.now() - begin >= timedelta(days=DAYS)
    assert {each.state for each in found} == {"completed", "archived"}
    assert len(found) == DAYS
    assert sum(each.state == "archived" for each in found) >= DAYS - 10
    reports = [name for name in host.accepted if name.endswith("/report")]
    assert len(reports) == len(set(reports)) == DAYS
    assert len(host.accepted) == len(set(host.accepted))
    await engine.stop()
    await host.event_bus.aclose()
    assert {event.state for event in events.of(GoalChanged)} >= {"planning", "active", "paused", "completed"}
    assert took < 10, "a month takes a second; ten is a machine that is busy with something else"
    assert begin == datetime(2026, 1, 1, tzinfo=UTC)

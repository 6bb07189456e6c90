"""A host whose days pass in virtual time: turns with tools, approvals, schedules, goals, feedback, dead letters."""

import asyncio
import json
from collections import Counter
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, func, select

from sophon import Decision, ModelRequest, ModelResponse, Risk, Services, tool
from sophon.attachments import Attachment
from sophon.messages import ToolCall, Usage
from sophon.stores.grants.contract import StandingGrant
from sophon.stores.sql.schema import metadata
from sophon.stores.sub_agents.sub_agent_run import SubAgentRun
from sophon.testing import FunctionModel, VirtualClock
from sophon_channels.outbound_entry import OutboundEntry
from sophon_hosting.channels.chat_state import PROCESSED_KIND
from sophon_hosting.features.goals.engine import GoalEngine
from sophon_hosting.features.goals.person_actions import GoalCommands
from sophon_hosting.features.goals.settings import GoalsSettings
from sophon_hosting.features.goals.stored_goals import stored_goals
from sophon_hosting.features.schedules.requests import ScheduleRequest
from sophon_hosting.features.schedules.schedule import Schedule
from sophon_hosting.features.schedules.schedule_service import Destination, ScheduleService
from sophon_hosting.features.schedules.scheduler import Scheduler
from sophon_hosting.features.schedules.settings import SchedulesSettings
from sophon_hosting.host import Host, RunRequest
from sophon_hosting.host_chain import build_pipelines
from sophon_hosting.retention import RetentionSweep
from sophon_hosting.store.api_tokens.api_token import ApiToken
from sophon_hosting.store.channel_state.channel_state_entry import ChannelStateEntry
from sophon_hosting.store.contract import HostStore
from sophon_hosting.store.sql_host_store import SqlHostStore
from tests.hosting.retention.containers import measure_containers

DAY_SECONDS = 86_400
PATIENCE_SECONDS = 60
LONG = "a text that is stored once for its session. " * 900
"""Longer than 32 KiB."""

SETTINGS: dict[str, Any] = {
    "Retention": {"Sessions": 30, "Events": 30, "Runs": 30, "Usage": 30, "Audit": 30, "Traces": 30},
    "Learning": {"Enabled": True, "Days": 30},
    "Goals": {"Enabled": True, "Review": False, "KeepDays": 30, "Tick": "00:00:10"},
    "Budget": {"Turn": {"ToolCalls": 10}},
    "Guards": {"Snapshot": {"Days": 30}},
    "Memory": {"Learn": False},
    "AgentExecution": {"Titles": False},
}
PLAN = {"goal": "g", "steps": [{"id": "a", "description": "Note", "depends_on": [], "tool": "note", "arguments": {}}]}


class LeapingClock(VirtualClock):
    """Clock whose time passes in leaps: whoever sleeps wakes once, as after the sleep of a computer."""

    async def leap(self, seconds: float) -> None:
        self._elapsed += seconds
        await self.advance(0)


@dataclass
class Year:
    """A host and what it does in a day. `sweeps` off: nothing is deleted by age."""

    store: HostStore
    clock: LeapingClock
    folder: Path
    sweeps: bool = True
    day: int = 0
    used: set[str] = field(default_factory=set)
    host: Host = field(init=False)

    def __post_init__(self) -> None:
        @tool()
        async def note(text: str = "noted") -> str:
            """Keep a note."""
            return f"kept {text}"

        @tool(risk=Risk.HIGH)
        async def pay(text: str) -> str:
            """Pay, once a person allows it."""
            return f"paid {text}"

        self._model = FunctionModel(self._answer)
        services = Services(
            models=self._model,
            tools=[note, pay],
            store=self.store,
            clock=self.clock,
            settings=SETTINGS,
            folder=self.folder,
        )
        self.host = Host(services, build_pipelines(services))
        self.goals = GoalEngine(self.host)
        self.scheduler = Scheduler(self.host, _allow)
        self.sweep = RetentionSweep(self.store, self.clock, services.settings, self.folder, self.host)

    async def _answer(self, request: ModelRequest) -> ModelResponse:
        usage = Usage(input_tokens=10, output_tokens=10, cost_micros=1)
        if request.purpose == "plan":
            return ModelResponse(json.dumps(PLAN), usage=usage)
        last = request.messages[-1]
        if last.role == "user" and request.purpose == "reply":
            name, _, text = last.content.partition(" ")
            if name in ("note", "pay", "files.write"):
                arguments = {"path": "day.txt", "content": text} if name == "files.write" else {"text": text}
                return ModelResponse("", tool_calls=[ToolCall(f"c{self.day}", name, arguments)], usage=usage)
            if name == "long":
                return ModelResponse(LONG + text, usage=usage)
        return ModelResponse("done", usage=usage)

    async def start(self) -> None:
        await self.host.start()
        self.goals.start()
        await self.store.sessions.get_or_create("desk", "ada")
        await self._schedule(cron="0 8 * * *")

    async def stop(self) -> None:
        await self.goals.stop()
        await self.host.shutdown(grace_seconds=0)

    async def live(self, days: int) -> None:
        for _ in range(days):
            await self._live_a_day()
            if self.day % 30 == 0:  # what is there for a day or more in each month
                self.used |= {name for name, count in (await self.count_rows()).items() if count}

    async def _live_a_day(self) -> None:
        self.day += 1
        week_day = self.day % 7
        text = {0: "pay", 1: "long", 2: "files.write"}.get(week_day, "note")
        session_id, owner = ("desk", "ada") if week_day > 3 else (f"day-{self.day}", f"telegram:{self.day}")
        await self.say(session_id, owner, f"{text} of day {self.day}")
        await self._write_of_channels()
        if week_day == 3:
            await self._schedule(at=f"{self.clock.now() + timedelta(hours=1):%Y-%m-%dT%H:%M}")
            await self._rate()
            await self._write_of_operators()
        if week_day == 5:
            await self._pursue_a_goal()
        self._model.requests.clear()  # a fake's own, which refer to whole turns
        await self.clock.leap(DAY_SECONDS)
        await self._fire()
        if self.sweeps:
            await self.sweep.sweep()

    async def say(self, session_id: str, owner: str, text: str) -> None:
        """Send a message and wait for its outcome; whatever asks a person is approved."""
        files = [] if session_id == "desk" else [Attachment(f"sent-{self.day}", "a.txt", "text/plain", 5)]
        for file in (*files, Attachment(f"unsent-{self.day}", "b.txt", "text/plain", 5)):
            await self.store.attachments.add(file, b"hello", owner=owner)
        request = RunRequest(text, session_id, owner, external_id=f"m{self.day}", attachments=files)
        receipt = await self.host.accept(request)
        await self._finish(receipt.task_id)

    async def _finish(self, task_id: str) -> None:
        decided: set[str] = set()
        async with asyncio.timeout(PATIENCE_SECONDS):
            while not (run := await self.store.runs.get(task_id)).is_finished:
                for approval_id in set(run.waiting_for) - decided:
                    await self.host.approvals.decide(approval_id, Decision.approve(), run.owner)
                    decided.add(approval_id)
                await asyncio.sleep(0.001)
        assert run.status == "completed", run.error

    async def _schedule(self, **when: str) -> None:
        service = ScheduleService(self.store, self.clock, self.host.services.settings.section(SchedulesSettings))
        wanted = ScheduleRequest(text="note the news", **when)
        await service.add(wanted, owner="ada", destination=Destination("desk", "hub", {}))

    async def _fire(self) -> None:
        await self.scheduler.fire_due()
        for run in await self.store.runs.list_unfinished():
            await self._finish(run.id)

    async def _pursue_a_goal(self) -> None:
        commands = GoalCommands(
            self.store, self.clock, self.host.services.settings.section(GoalsSettings), self.host.event_bus
        )
        goal = await commands.create(owner="ada", title=f"Day {self.day}", session_id="desk")
        async with asyncio.timeout(PATIENCE_SECONDS):
            while (found := await stored_goals(self.store).find(goal.id)) is not None and (
                found.is_live or not found.reported
            ):
                await asyncio.sleep(0.001)
                await self.clock.leap(1)

    async def _rate(self) -> None:
        run = (await self.store.runs.list(limit=1))[0]
        await self.host.feedback.record(run, "ada", 1.0, text="Good")

    async def _write_of_channels(self) -> None:
        """What a channel and an outgoing webhook leave: one entry that was sent, and a dead letter."""
        name, store = str(self.day), self.store
        seen = ChannelStateEntry("telegram", "bot", PROCESSED_KIND, name)
        await store.channel_state.put(seen)
        await store.channel_state.expire(PROCESSED_KIND, self.clock.now() - timedelta(days=14))
        entries = [OutboundEntry(f"{kind}{name}", None, "webhook", "w", "w", "event") for kind in ("sent", "dead")]
        await store.outbox.add(entries)
        await store.outbox.mark_sending(entries[0].id)
        await store.outbox.mark_sent(entries[0].id, name)
        await store.outbox.mark_dead(entries[1].id, "gone")

    async def _write_of_operators(self) -> None:
        """A token that is revoked, a grant that ends, and a sub-agent."""
        name, store, now = str(self.day), self.store, self.clock.now()
        await store.api_tokens.add(ApiToken(name, name, "ada", "ci", (), now))
        await store.api_tokens.revoke(name, now)
        await store.grants.add(
            StandingGrant(name, "always", "ada", "", "pay", "high", {}, "", "ada", now, now + timedelta(days=1))
        )
        row = SubAgentRun(name, f"r{name}", "", "helper", "desk", "ada", "help", "completed", 1, now, now)
        await store.sub_agents.put([row])

    async def count_rows(self) -> Counter[str]:
        """Return the rows of every table."""
        assert isinstance(self.store, SqlHostStore)

        def read(connection: Connection) -> Counter[str]:
            return Counter(
                {
                    table.name: int(connection.execute(select(func.count()).select_from(table)).scalar_one())
                    for table in metadata.sorted_tables
                }
            )

        return await self.store._database.read(read)  # pyright: ignore[reportPrivateUsage]

    def count_in_memory(self) -> Counter[str]:
        """Return the elements of the collections of the process, those of the store left out."""
        self._model.requests.clear()
        return measure_containers(self.host, self.goals, self.scheduler)

    def count_files(self) -> int:
        """Return how many files there are in the folder of the host, those left out that people wrote with a tool."""
        return sum(1 for each in self.folder.rglob("*") if each.is_file() and each.name != "day.txt")


async def _allow(schedule: Schedule) -> str:
    return ""

"""Resource governor: what the unattended work of one user may use: steps of goals, schedules and the heartbeat.

The times are in the store (`RateWindowStore`), and each question asks it: so hosts that share a store share the
limits. What is known before it happens is checked and then recorded; tokens and model calls are recorded after. Agents
are counted where they run: a step without a tool, a run of a schedule from its acceptance on, and the sub-agents of
both in this process. Who asks holds `Host.unattended_starts` until what is started is stored; of a group, two processes
with different duties may still pass a limit by one. A store that does not answer refuses: its error goes on, and
nothing is started (WASP allows on such a failure). Source: WASP, resource governor.
"""

import logging
import math
from collections.abc import Awaitable, Callable, Iterable, Sequence
from datetime import timedelta
from typing import Final, Literal, TypeAlias

from sophon._python.lazy_dataclass import dataclass
from sophon.clock import Clock
from sophon.errors import StoreError
from sophon.scheduled_turns import SCHEDULED_ORIGIN
from sophon.services import Services
from sophon.stores.rate_windows.contract import RateEvent, RateWindowStore
from sophon.stores.usage.contract import UsageRow
from sophon_hosting.features.goals.rules.state_machine import GoalState
from sophon_hosting.features.goals.rules.task_graph import list_running
from sophon_hosting.features.goals.settings import GoalsSettings, ResourceLimitSettings
from sophon_hosting.features.goals.stored_goals import stored_goals
from sophon_hosting.store.contract import host_store
from sophon_hosting.store.runs.contract import Run, RunStatus

log = logging.getLogger("sophon")

Resource: TypeAlias = Literal["tasks", "llm_calls", "api_calls", "tokens"]

ACTIVE: Final[tuple[GoalState, ...]] = ("active",)
"""The goals whose steps count against a person's limits."""

MAX_COUNTED: Final = 1000

TOKENS_PER_EVENT: Final = 1000
"""Tokens are counted in thousands: a row for each would be many."""

MAX_RECORDED: Final = 1000
"""Events that one step may add to a window; more than any limit needs."""


@dataclass(frozen=True, slots=True)
class ResourceUse:
    """Use of a resource that has nothing left; `str()` is for people."""

    resource: Resource
    used: int
    limit: int
    window: timedelta

    def __str__(self) -> str:
        period = "hour" if self.window >= timedelta(hours=1) else "minute"
        return f"{self.used}/{self.limit} {self.resource.replace('_', ' ')} per {period}"


class ResourceGovernor:
    """Checks and records what the unattended work of users uses."""

    def __init__(self, windows: RateWindowStore, clock: Clock, settings: ResourceLimitSettings) -> None:
        self._windows, self._clock = windows, clock
        minute, hour = timedelta(minutes=1), timedelta(hours=1)
        thousands = max(settings.tokens_per_minute // TOKENS_PER_EVENT, 1)
        self._limits: dict[Resource, tuple[int, timedelta, int]] = {
            "tasks": (settings.tasks_per_hour, hour, 1),
            "llm_calls": (settings.llm_calls_per_minute, minute, 1),
            "api_calls": (settings.api_calls_per_minute, minute, 1),
            "tokens": (thousands, minute, TOKENS_PER_EVENT),
        }

    async def find_exhausted(self, user: str, resources: Iterable[Resource]) -> ResourceUse | None:
        """Return the first of the resources that the user has used up, None if none is. Raises StoreError."""
        now = self._clock.now()
        for resource in resources:
            limit, window, unit = self._limits[resource]
            times = await self._windows.load(build_scope(user, resource), now - window, limit)
            if len(times) >= limit:
                return ResourceUse(resource, len(times) * unit, limit * unit, window)
        return None

    async def find_turn_refusal(self, services: Services, user: str) -> str:
        """Return which limit keeps a turn of the agent from starting unattended; "" if none does. Raises StoreError."""
        found = await self.find_exhausted(user, ["tasks", "llm_calls", "tokens"])
        return await find_agent_refusal(services, user) if found is None else str(found)

    async def record(self, user: str, **used: int) -> None:
        """Record what was used, by resource. Raises StoreError."""
        now = self._clock.now()
        events: list[RateEvent] = []
        for resource, amount in used.items():
            unit = TOKENS_PER_EVENT if resource == "tokens" else 1
            count = min(math.ceil(amount / unit), MAX_RECORDED)
            events += [RateEvent(build_scope(user, resource), now)] * count
        if events:
            await self._windows.add(events)


def create_governor(services: Services) -> ResourceGovernor | None:
    """Return the governor of a host; None with `Goals.Enabled` off: then a person's schedules have their own limits."""
    settings = services.settings.section(GoalsSettings)
    return (
        ResourceGovernor(host_store(services).rate_windows, services.clock, settings.limits)
        if settings.enabled
        else None
    )


async def find_agent_refusal(services: Services, user: str) -> str:
    """Return why no further agent may start for a user; "" if one may. Raises StoreError."""
    limit = services.settings.section(GoalsSettings).limits.running_agents
    running = await count_running_agents(services, user)
    return f"{running}/{limit} running agents" if running >= limit else ""


async def count_running_agents(services: Services, user: str) -> int:
    """Return how many agents work for a user unattended and wait for nobody. Raises StoreError."""
    live = await stored_goals(host_store(services)).list(owner=user, states=ACTIVE, limit=MAX_COUNTED)
    steps = [node for goal in live for node in list_running(goal.nodes) if not node.tool and not node.waits]
    scheduled: list[str] = []
    statuses: tuple[RunStatus, ...] = ("queued", "running")  # one that was accepted a moment before is queued
    for status in statuses:
        runs = await host_store(services).runs.list(owner=user, status=status, limit=MAX_COUNTED, whole=False)
        scheduled += [run.id for run in runs if SCHEDULED_ORIGIN in run.origin and run.id not in scheduled]
    tasks = {*scheduled, *(node.run_id for node in steps)}
    agents = [] if services.assistant.agents is None else services.assistant.agents.running.list(principal=user)
    return len(steps) + len(scheduled) + sum(each.task_id in tasks for each in agents)


def count_use_of_schedules(services: Services) -> Callable[[Run, Sequence[UsageRow]], Awaitable[None]]:
    """Return what records the model calls and tokens of scheduled runs; a step of a goal is counted with its goal.

    A store that does not answer has stored the outcome a moment before, so this is only logged.
    """
    limits = services.settings.section(GoalsSettings).limits
    governor = ResourceGovernor(host_store(services).rate_windows, services.clock, limits)

    async def record(run: Run, rows: Sequence[UsageRow]) -> None:
        if SCHEDULED_ORIGIN not in run.origin:
            return
        calls, tokens = sum(each.calls for each in rows), sum(each.usage.total_tokens for each in rows)
        try:
            await governor.record(run.owner, llm_calls=calls, tokens=tokens)
        except StoreError as error:
            log.warning("what run %s used does not count against the limits of %s: %s", run.id, run.owner, error)

    return record


def build_scope(user: str, resource: str) -> str:
    """Return the scope of a user's resource in the rate windows."""
    return f"goals/{resource}/{user}"

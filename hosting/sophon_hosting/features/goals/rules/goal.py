"""A goal: what a person wants, the plan for it, how far it is, and what it has used."""

from collections.abc import Mapping
from dataclasses import field, fields, replace
from datetime import datetime, timedelta
from typing import Any, Final, Literal, Self, TypeAlias

from sophon._python.lazy_dataclass import dataclass, new_dict
from sophon.goal_autonomy import Autonomy
from sophon_hosting.features.goals.rules.budget import GoalBudget, GoalSpending
from sophon_hosting.features.goals.rules.stability import Stability
from sophon_hosting.features.goals.rules.state_machine import LIVE_STATES, GoalEvent, GoalState, next_state
from sophon_hosting.features.goals.rules.task_graph import compute_progress
from sophon_hosting.features.goals.rules.task_node import TaskNode

PauseKind: TypeAlias = Literal[
    "", "person", "back_off", "budget", "replan_storm", "oscillation", "denied", "blocked", "refused"
]
"""Why a goal is paused. A back-off ends by itself; any other but `person` fails after a while."""

GoalPriority: TypeAlias = Literal["user", "agent", "default", "autonomous"]
PRIORITIES: Final[Mapping[GoalPriority, int]] = {"user": 8, "agent": 6, "default": 5, "autonomous": 3}
"""Priority by who made the goal; of several goals the higher is worked on first. Source: WASP, goal engine."""

WORK_SESSION_PREFIX: Final = "goal"
"""Channel name of the sessions in which goals work; no client can choose such an id."""

MAX_TITLE_CHARACTERS: Final = 120
MAX_DESCRIPTION_CHARACTERS: Final = 4000


@dataclass(frozen=True, slots=True)
class Goal:
    """A goal of `owner`. It reports to the chat `session_id`, on `channel` and to `origin`; "" has no chat.

    `plan_number` counts its plans, and `plan_tries` the tries to make the present one. `reason` says why it is in its
    state, `pause_kind` which rule paused it, until `resume_at` for a back-off. `next_at` is when the host looks at it
    next; None waits for somebody. `steps_in_tick` were started in the tick that began at `tick_at`; its time was last
    counted at `counted_at`. `reported` is whether the report of its end was accepted. `version` counts the changes: the
    store takes changes of the present one only.
    """

    id: str
    owner: str
    title: str
    description: str
    session_id: str = ""
    channel: str = "local"
    origin: Mapping[str, Any] = field(default_factory=new_dict)
    autonomy: Autonomy = "Semi"
    priority: int = PRIORITIES["default"]
    state: GoalState = "planning"
    reason: str = ""
    pause_kind: PauseKind = ""
    nodes: tuple[TaskNode, ...] = ()
    plan_number: int = 0
    plan_tries: int = 0
    limits: GoalBudget = field(default_factory=GoalBudget)
    spent: GoalSpending = field(default_factory=GoalSpending)
    stability: Stability = field(default_factory=Stability)
    created_at: datetime | None = None
    updated_at: datetime | None = None
    paused_at: datetime | None = None
    resume_at: datetime | None = None
    finished_at: datetime | None = None
    next_at: datetime | None = None
    tick_at: datetime | None = None
    counted_at: datetime | None = None
    steps_in_tick: int = 0
    reported: bool = False
    version: int = 1

    @property
    def work_session_id(self) -> str:
        """Id of the session in which its steps run: the chat stays free while a step waits."""
        return f"{WORK_SESSION_PREFIX}-{self.id}"

    @property
    def report_session_id(self) -> str:
        """Id of the session that its events and its report go to."""
        return self.session_id or self.work_session_id

    def list_work_sessions(self) -> list[str]:
        """Return the ids of the sessions in which its steps may run: as many as may run at once."""
        first = self.work_session_id
        return [first, *(f"{first}-{number}" for number in range(2, self.limits.parallel + 1))]

    def find_free_session(self) -> str:
        """Return the first session of work in which no step runs."""
        taken = {node.session_id for node in self.nodes if node.status == "running"}
        return next(each for each in self.list_work_sessions() if each not in taken)

    @property
    def is_live(self) -> bool:
        """Whether it may still do something."""
        return self.state in LIVE_STATES

    @property
    def progress(self) -> int:
        """Percentage of the plan's steps that are done."""
        return compute_progress(self.nodes)

    def get_node(self, node_id: str) -> TaskNode:
        """Return a node of the plan. Raises KeyError."""
        for node in self.nodes:
            if node.id == node_id:
                return node
        raise KeyError(node_id)

    def move(self, event: GoalEvent, reason: str, at: datetime) -> Self:
        """Return the goal after an event. Raises IllegalTransition."""
        state = next_state(self.id, self.state, event)
        is_over = state not in LIVE_STATES
        return replace(
            self,
            state=state,
            reason=reason,
            pause_kind="",
            paused_at=None,
            resume_at=None,
            next_at=None if is_over else at,
            finished_at=(self.finished_at or at) if is_over else None,
        )

    def pause(
        self, kind: PauseKind, reason: str, at: datetime, *, limit: timedelta, until: datetime | None = None
    ) -> Self:
        """Return the goal paused. After a back-off it goes on at `until`; paused by a rule it fails after `limit`."""
        paused = self.move("pause", reason, at)
        next_at = until if kind == "back_off" else None if kind == "person" else at + limit
        return replace(paused, pause_kind=kind, paused_at=at, resume_at=until, next_at=next_at)

    def resume(self, reason: str, at: datetime, *, plans: bool = False) -> Self:
        """Return the paused goal going on, with a new plan if it `plans` or has none."""
        return self.move("resume_planning" if plans or not self.nodes else "resume", reason, at)

    def to_json(self) -> dict[str, Any]:
        """Return plain data, ready for JSON."""
        data = {each.name: getattr(self, each.name) for each in fields(self)}
        for name in _TIMES:
            data[name] = data[name].isoformat() if data[name] else None
        for name in ("limits", "spent", "stability"):
            data[name] = data[name].to_json()
        return {**data, "origin": dict(self.origin), "nodes": [node.to_json() for node in self.nodes]}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Self:
        """Invert `to_json`."""
        times = {name: datetime.fromisoformat(data[name]) if data[name] else None for name in _TIMES}
        values: dict[str, Any] = {
            **data,
            **times,
            "nodes": tuple(TaskNode.from_json(node) for node in data["nodes"]),
            "limits": GoalBudget.from_json(data["limits"]),
            "spent": GoalSpending.from_json(data["spent"]),
            "stability": Stability.from_json(data["stability"]),
        }
        return cls(**values)


_TIMES: Final = (
    "created_at",
    "updated_at",
    "paused_at",
    "resume_at",
    "finished_at",
    "next_at",
    "tick_at",
    "counted_at",
)

"""Task node: one step of a goal's plan, a tool call or a turn of the agent, and how far it is.

::

    pending -> running -> done
       ^          |-----> failed      its dependants, direct or transitive: pending -> blocked
       '--retry---'
"""

from collections.abc import Mapping
from dataclasses import field, replace
from datetime import datetime
from typing import Any, Final, Literal, Self, TypeAlias

from sophon._python.lazy_dataclass import dataclass, new_dict
from sophon.risk import Risk

NodeStatus: TypeAlias = Literal["pending", "running", "done", "failed", "blocked"]

MAX_RETRIES: Final = 2
"""Retries of a node after its first try. Source: WASP, goal engine."""


@dataclass(frozen=True, slots=True)
class TaskNode:
    """A step. With `tool` it is that call with `arguments`; without one it is a turn of the agent on `description`.

    `depends_on` holds the ids of the nodes whose results it needs. `run_id` is the run of the present try, in
    the session `session_id`, `started_at` when that was started, `waits` whether it waits for a person. `result` is its
    answer, `error` why the last try failed. `tries` counts all starts, `retries` those after a failure.
    """

    id: str
    description: str
    tool: str = ""
    arguments: Mapping[str, Any] = field(default_factory=new_dict)
    depends_on: tuple[str, ...] = ()
    risk: Risk = Risk.LOW
    status: NodeStatus = "pending"
    retries: int = 0
    tries: int = 0
    max_retries: int = MAX_RETRIES
    run_id: str = ""
    session_id: str = ""
    started_at: datetime | None = None
    waits: bool = False
    result: str = ""
    error: str = ""

    def start(self, at: datetime) -> Self:
        """Return the node with its next try running; its run is not known yet."""
        return replace(self, status="running", run_id="", started_at=at, waits=False, tries=self.tries + 1)

    def complete(self, result: str) -> Self:
        """Return the node done with its result."""
        return replace(self, status="done", result=result, error="", waits=False)

    def fail(self, error: str, *, may_retry: bool = True) -> Self:
        """Return the node pending for its next try, or failed if it has none left."""
        if may_retry and self.retries < self.max_retries:
            return replace(self, status="pending", retries=self.retries + 1, error=error, waits=False)
        return replace(self, status="failed", error=error, waits=False)

    def stop(self) -> Self:
        """Return the node pending again: its run was cancelled, which is no try that failed."""
        return replace(self, status="pending", waits=False)

    def to_json(self) -> dict[str, Any]:
        """Return plain data, ready for JSON."""
        return {
            "id": self.id,
            "description": self.description,
            "tool": self.tool,
            "arguments": dict(self.arguments),
            "depends_on": list(self.depends_on),
            "risk": self.risk.label,
            "status": self.status,
            "retries": self.retries,
            "tries": self.tries,
            "max_retries": self.max_retries,
            "run_id": self.run_id,
            "session_id": self.session_id,
            "started_at": self.started_at.isoformat() if self.started_at else None,
            "waits": self.waits,
            "result": self.result,
            "error": self.error,
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Self:
        """Invert `to_json`."""
        started_at = data["started_at"]
        values: dict[str, Any] = {
            **data,
            "depends_on": tuple(data["depends_on"]),
            "risk": Risk.parse(data["risk"]),
            "started_at": datetime.fromisoformat(started_at) if started_at else None,
        }
        return cls(**values)

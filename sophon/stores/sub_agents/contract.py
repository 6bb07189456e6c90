"""The contract of the ledger of sub-agents: a row per sub-agent, below the run of its turn."""

from collections.abc import Sequence
from datetime import datetime
from typing import Protocol

from sophon._python.lazy_dataclass import dataclass

FINAL_STATES = frozenset({"completed", "failed", "timed_out", "cancelled"})
"""States that do not change any more; the others are `spawning` and `working`."""


@dataclass(frozen=True, slots=True)
class SubAgentRun:
    """A sub-agent. `id` is its run id, which begins with that of its turn (`task_id`); `parent_id` is who runs it.

    `task` is the beginning of its task, `detail` says why it ended other than completed, or what it waits for.
    """

    id: str
    task_id: str
    parent_id: str
    agent: str
    session_id: str
    principal: str
    task: str
    state: str
    depth: int
    created_at: datetime
    finished_at: datetime | None = None
    detail: str = ""
    cancel_requested: bool = False

    @property
    def is_finished(self) -> bool:
        """Whether its state is final."""
        return self.state in FINAL_STATES


class SubAgentStore(Protocol):
    """Repository of the sub-agents of turns. Rows are deleted with their session."""

    async def put(self, rows: Sequence[SubAgentRun]) -> None:
        """Store sub-agents; of a known one state, end and detail change, and nothing else."""
        ...

    async def find(self, sub_agent_id: str) -> SubAgentRun | None:
        """Return a sub-agent by its run id."""
        ...

    async def list_for_task(self, task_id: str) -> Sequence[SubAgentRun]:
        """Return the sub-agents of a turn, oldest first."""
        ...

    async def list_unfinished(self, principal: str | None = None) -> Sequence[SubAgentRun]:
        """Return those without a final state, of one person or all, oldest first."""
        ...

    async def request_cancel(self, sub_agent_id: str) -> bool:
        """Note that a sub-agent is to be cancelled; return False for one that has ended or is unknown."""
        ...

    async def expire(self, before: datetime) -> int:
        """Delete sub-agents that began before a time; return how many."""
        ...

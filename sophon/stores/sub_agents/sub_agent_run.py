"""Run of a sub-agent: a row per sub-agent, below the run of its turn."""

from datetime import datetime

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

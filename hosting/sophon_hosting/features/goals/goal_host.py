"""Protocol of the host that the goal engine needs: accept and cancel runs."""

from typing import Protocol

from sophon.services import Services
from sophon.turn.task_type_chains import PipelineRegistry
from sophon_hosting.events.event_bus import EventBus
from sophon_hosting.key_locks import KeyLocks
from sophon_hosting.leadership.membership import GroupMembership
from sophon_hosting.runs.run_acceptance import RunRequest, TaskReceipt
from sophon_hosting.store.runs.contract import Run


class GoalHost(Protocol):
    """A host that accepts runs and cancels them."""

    services: Services
    event_bus: EventBus
    pipelines: PipelineRegistry
    """The chains of the turns, whose model hooks hold for the planning of goals, too."""
    membership: GroupMembership
    """What says whether this process works on goals."""
    unattended_starts: KeyLocks[str]
    """See `Host.unattended_starts`."""

    async def accept(self, message: RunRequest) -> TaskReceipt:
        """Accept a run; see `Host.accept`."""
        ...

    async def cancel(self, task_id: str) -> Run:
        """Cancel a run; see `Host.cancel`."""
        ...

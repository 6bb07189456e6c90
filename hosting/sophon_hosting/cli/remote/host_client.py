"""The host client's contract: what the commands ask of a host, over HTTP or in its store."""

from collections.abc import Mapping, Sequence
from typing import Any, Literal, Protocol, TypeAlias

from sophon.approvals import Decision
from sophon.errors import SophonError

JsonRow = Mapping[str, Any]
GoalChange: TypeAlias = Literal["pause", "resume", "cancel"]


class HostError(SophonError):
    """The host answered with an error, or did not answer. `code` is the error code of the host, or `no_host`."""

    def __init__(self, code: str, message: str) -> None:
        self.code = code
        super().__init__(message)


class HostClient(Protocol):
    """Operations on a host that the commands use. Rows are JSON objects of the HTTP API (docs/api.md).

    Every method raises SophonError.
    """

    def list_tasks(
        self, *, status: str | None = None, session_id: str | None = None, limit: int = 50
    ) -> Sequence[JsonRow]:
        """Return tasks, newest first."""
        ...

    def get_task(self, task_id: str) -> JsonRow:
        """Return one task."""
        ...

    def list_task_events(self, task_id: str) -> Sequence[JsonRow]:
        """Return the stored events of a task and its traces, in order."""
        ...

    def list_traces(self, *, session_id: str | None = None, limit: int = 50) -> Sequence[JsonRow]:
        """Return the traces of turns without their parts, newest first."""
        ...

    def find_trace(self, task_id: str) -> JsonRow | None:
        """Return the trace of a task; None if it has none."""
        ...

    def export_trace(self, task_id: str) -> JsonRow:
        """Return the trace of a task as JSON of OTLP."""
        ...

    def replay_turn(self, task_id: str, *, chain: str | None = None, model: str | None = None) -> JsonRow:
        """Replay a turn of the user's own without effects, and return both side by side."""
        ...

    def cancel_task(self, task_id: str) -> str:
        """Cancel a task and return its status."""
        ...

    def list_approvals(self, *, open_only: bool = True) -> Sequence[JsonRow]:
        """Return approvals, oldest first."""
        ...

    def decide_approval(self, approval_id: str, decision: Decision, *, session_id: str | None = None) -> JsonRow:
        """Decide an approval and return it; a given `session_id` must be that of the approval."""
        ...

    def list_grants(self) -> Sequence[JsonRow]:
        """Return the active approvals in advance, oldest first; an operator's list has those of all users."""
        ...

    def revoke_grant(self, grant_id: str) -> JsonRow:
        """Revoke an approval in advance and return it."""
        ...

    def list_goals(self, *, archived: bool = False, limit: int = 50) -> Sequence[JsonRow]:
        """Return goals, newest first; an operator's list has those of all users."""
        ...

    def get_goal(self, goal_id: str) -> JsonRow:
        """Return one goal with its graph."""
        ...

    def create_goal(
        self, title: str, *, description: str = "", autonomy: str | None = None, session_id: str | None = None
    ) -> JsonRow:
        """Create a goal of the user and return it."""
        ...

    def change_goal(self, goal_id: str, change: GoalChange) -> JsonRow:
        """Pause, resume or cancel a goal and return it."""
        ...

    def delete_goal(self, goal_id: str) -> None:
        """Cancel a goal, and delete it with the sessions that it works in."""
        ...

    def list_sub_agents(self) -> Sequence[JsonRow]:
        """Return the sub-agents that work or wait, oldest first; an operator's list has those of all users."""
        ...

    def cancel_sub_agent(self, agent_id: str) -> str:
        """Cancel a sub-agent and return its state."""
        ...

    def list_schedules(self) -> Sequence[JsonRow]:
        """Return the schedules, oldest first; an operator's list has those of all users."""
        ...

    def get_schedule(self, schedule_id: str) -> JsonRow:
        """Return one schedule with its last firings."""
        ...

    def add_schedule(self, body: Mapping[str, Any]) -> JsonRow:
        """Make a schedule of the user and return it."""
        ...

    def change_schedule(self, schedule_id: str, body: Mapping[str, Any]) -> JsonRow:
        """Change, pause or resume a schedule and return it."""
        ...

    def remove_schedule(self, schedule_id: str) -> None:
        """Delete a schedule."""
        ...

    def queue_status(self) -> JsonRow:
        """Return the status of the queue."""
        ...

    def list_dead_letters(self) -> Sequence[JsonRow]:
        """Return the dead letters."""
        ...

    def retry_dead_letter(self, task_id: str) -> None:
        """Queue a dead letter again as a new task."""
        ...

    def attach_channel(self, name: str) -> bool:
        """Start a detached channel at once; return False if it does not wait for that in the process that answers."""
        ...

    def control_queue(self, action: str) -> JsonRow:
        """`pause`, `resume` or `drain` the queue, and return its status."""
        ...

    def list_providers(self) -> Sequence[JsonRow]:
        """Return the providers, by priority."""
        ...

    def reset_provider(self, provider_id: str) -> JsonRow:
        """End cool-downs of a provider, enable its rejected keys and close its circuit; return its state."""
        ...

    def list_mcp_servers(self) -> Sequence[JsonRow]:
        """Return the MCP servers, with state, last error and tools."""
        ...

    def list_webhooks(self) -> Sequence[JsonRow]:
        """Return the webhooks of a running host."""
        ...

    def test_webhook(self, webhook_id: str) -> str:
        """Send a test event to an outgoing webhook; return the id of its delivery."""
        ...

    def accept_mcp_tools(self, server: str, digests: Mapping[str, str]) -> JsonRow:
        """Accept definitions of tools, by name and digest, and return the server."""
        ...

    def restart_mcp_server(self, server: str) -> JsonRow:
        """Connect to an MCP server again, and return it."""
        ...

"""Results of tasks: receipts, tasks with their answers, feedback, streamed text."""

from collections.abc import Mapping
from typing import Any, Literal, NotRequired

from sophon._python.lazy_typed_dict import TypedDict
from sophon.messages import FinishReason, ToolCallOutcome, Usage
from sophon_hosting.client_api.client_message import Mode
from sophon_hosting.features.agents.results import SubAgentView
from sophon_hosting.features.goals.steps.step_option import GOAL
from sophon_hosting.features.iso_time import to_iso
from sophon_hosting.features.sessions.history_results import LoggedEventView
from sophon_hosting.features.usage.results import UsageView, usage_to_json
from sophon_hosting.runs.run_acceptance import TaskReceipt
from sophon_hosting.store.runs.contract import Run, RunStatus

LISTED_ANSWER_CHARACTERS = 4000
"""Length of an answer in a list of tasks; less than what `RunStore.list` returns of a large one."""

DESCRIPTION_CHARACTERS = 100
"""Length of a task's description, in characters. Source: Sophon's guide, tasks."""


class TaskReceiptView(TypedDict):
    """Receipt of a message; `position` counts the waiting tasks ahead. Off the record, with `mode`, the task does not
    survive a restart.
    """

    task_id: str
    session_id: str
    position: int
    mode: NotRequired[Literal["otr"]]
    durable: NotRequired[bool]


class TaskOrigin(TypedDict):
    """The goal and the step whose run a task is."""

    kind: Literal["goal"]
    goal_id: str
    step: str


class TaskError(TypedDict):
    """Why a task failed; `id` is that of the log entry."""

    code: str
    message: str
    id: str


class TaskSummary(TypedDict):
    """A task without the texts of its message and its answer; `description` is the beginning of the message."""

    task_id: str
    session_id: str
    owner: str
    channel: str
    origin: TaskOrigin | None
    status: RunStatus
    description: str
    created_at: str | None
    started_at: str | None
    finished_at: str | None
    starts: int
    cancel_requested: bool
    waiting_for: list[str]
    finish_reason: FinishReason | None
    tool_outcome: ToolCallOutcome | None
    usage: UsageView
    tool_rounds: int
    fallback_attempts: int
    model: str
    error: TaskError | None


class TaskView(TaskSummary):
    """A task: the run of a message, with its answer if it has one."""

    text: str
    answer: str | None


class ListedTask(TaskView):
    """A task of a list; `answer_is_cut` if only the beginning of the answer is there."""

    answer_is_cut: bool


class TaskDetails(TaskView):
    """A task with its place in the queue while it waits there, and its sub-agents."""

    position: int | None
    children: list[SubAgentView]


class TaskPage(TypedDict):
    """A page of tasks, newest first; `more` follow."""

    items: list[ListedTask]
    more: bool


class TaskSlice(TypedDict):
    """As many tasks as fit into an acknowledgement, without their texts; `more` if others follow."""

    items: list[TaskSummary]
    more: NotRequired[bool]


class TaskEvents(TypedDict):
    """The stored events of a task and its traces, in order."""

    items: list[LoggedEventView]


class StreamedText(TypedDict):
    """A part of a text that is being streamed; null once the task or that epoch of its reply has ended."""

    text: str | None


class CancelledTask(TypedDict):
    """Status of a task after a request to cancel it."""

    task_id: str
    status: RunStatus | Literal["cancelling"]


class FeedbackReceipt(TypedDict):
    """Feedback that was recorded."""

    task_id: str
    value: float


class FeedbackView(TypedDict):
    """What a user said about an answer; null if nothing."""

    task_id: str
    value: float | None
    text: str


def receipt_to_json(receipt: TaskReceipt, mode: Mode) -> TaskReceiptView:
    """Return the receipt of a message as JSON. Off the record it says that the task does not survive a restart."""
    fields: TaskReceiptView = {
        "task_id": receipt.task_id,
        "session_id": receipt.session_id,
        "position": receipt.position,
    }
    return {**fields, "mode": mode, "durable": False} if mode == "otr" else fields


def task_summary_to_json(run: Run) -> TaskSummary:
    """Return a run as JSON, without its texts; clients know it as a task."""
    response = dict(run.response or {})
    return {
        "task_id": run.id,
        "session_id": run.session_id,
        "owner": run.owner,
        "channel": run.channel,
        "origin": _find_origin(run),
        "status": run.status,
        "description": run.text[:DESCRIPTION_CHARACTERS],
        "created_at": to_iso(run.created_at),
        "started_at": to_iso(run.started_at),
        "finished_at": to_iso(run.finished_at),
        "starts": run.starts,
        "cancel_requested": run.cancel_requested,
        "waiting_for": list(run.waiting_for),
        "finish_reason": response.get("finish_reason"),
        "tool_outcome": _find_tool_outcome(response),
        "usage": response.get("usage") or usage_to_json(Usage()),
        "tool_rounds": response.get("tool_rounds", 0),
        "fallback_attempts": response.get("fallback_attempts", 0),
        "model": response.get("model", ""),
        "error": {"code": run.error.code, "message": run.error.message, "id": run.error.id} if run.error else None,
    }


def task_to_json(run: Run) -> TaskView:
    """Return a run as JSON; clients know it as a task."""
    return {**task_summary_to_json(run), "text": run.text, "answer": (run.response or {}).get("text")}


def listed_task_to_json(run: Run) -> ListedTask:
    """Return a run of a list as JSON: `answer` has its first `LISTED_ANSWER_CHARACTERS`, and `answer_is_cut` says
    whether there is more, which the task itself has.
    """
    task = task_to_json(run)
    answer = task["answer"] or ""
    is_cut = len(answer) > LISTED_ANSWER_CHARACTERS
    return {**task, "answer": answer[:LISTED_ANSWER_CHARACTERS] if is_cut else task["answer"], "answer_is_cut": is_cut}


def _find_origin(run: Run) -> TaskOrigin | None:
    """Return the goal and the step whose run it is; None for a run that is no step of a goal."""
    goal = run.options.get(GOAL)
    return {"kind": "goal", "goal_id": goal["id"], "step": goal["step"]} if goal else None


def _find_tool_outcome(response: Mapping[str, Any]) -> ToolCallOutcome | None:
    detail: Mapping[str, Any] = response.get("detail") or {}
    return detail.get("tool_outcome")

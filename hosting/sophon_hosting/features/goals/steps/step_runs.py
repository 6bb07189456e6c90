"""Runs of a goal's steps: the request to accept one, and what its outcome means for the step."""

from collections.abc import Sequence
from typing import Any, Final

from sophon.approvals import turn_id_from_request
from sophon.clock import Clock
from sophon.messages import ToolCall
from sophon.stores.sessions.contract import SessionRecord
from sophon_hosting.features.goals.rules.goal import Goal
from sophon_hosting.features.goals.rules.goal_progress import StepOutcome
from sophon_hosting.features.goals.rules.task_node import TaskNode
from sophon_hosting.features.goals.steps.step_option import GOAL
from sophon_hosting.features.goals.steps.step_text import (
    build_call_text,
    build_report_text,
    build_step_text,
    fill_results,
    find_results,
)
from sophon_hosting.runs.own_text import FOREIGN_SOURCES, OWN_TEXT, PIECES
from sophon_hosting.runs.run_acceptance import RunRequest
from sophon_hosting.store.approvals.approval_record import ApprovalRecord
from sophon_hosting.store.runs.contract import Precondition, Run
from sophon_middlewares.inner.tool_execution import INTERRUPTED_RESULT
from sophon_middlewares.stages.direct_call import OUTCOME_FIELD

RESULTS_SOURCE: Final = "results of a goal's steps"
"""Untrusted source of a turn that reads what other sessions of the goal have returned."""

MAX_KEPT_CHARACTERS: Final = 8000
"""Characters of a result that the goal keeps."""

_NOT_OF_STEPS: Final = frozenset({"place", "attachments", "reply_to", FOREIGN_SOURCES, PIECES})
"""Parts of the origin that belong to one message: a step shows no typing indicator and has no files of its own."""


def build_step_request(goal: Goal, node: TaskNode, session_id: str, clock: Clock) -> RunRequest:
    """Return the request for the present try of a node. Its key makes every acceptance of this try the same run."""
    results = find_results(goal.nodes, node)
    is_foreign = bool(results) and (goal.limits.parallel > 1 or bool(node.arguments))
    call = ToolCall("", node.tool, fill_results(node.arguments, results)) if node.tool else None
    return RunRequest(
        text=build_call_text(goal, node) if call else build_step_text(goal, node, results, clock.new_nonce()),
        session_id=session_id,
        owner=goal.owner,
        session_owner=goal.owner,
        channel=goal.channel,
        account=str(goal.origin.get("account", "")),
        external_id=f"goal/{goal.id}/{goal.plan_number}/{node.id}/{node.tries}",
        origin=_build_origin(goal, is_foreign=is_foreign),
        planning="Never",
        call=call,
        autonomy=goal.autonomy,
        options={GOAL: {"id": goal.id, "step": node.id}},
        precondition=Precondition("goal", goal.id, goal.version),
    )


def build_report_request(goal: Goal, clock: Clock) -> RunRequest:
    """Return the request for the report of a goal that is over, to the chat in which it was made."""
    origin = _build_origin(goal, is_foreign=True)
    if "place" in goal.origin:
        origin["place"] = goal.origin["place"]
    return RunRequest(
        text=build_report_text(goal, clock.new_nonce()),
        session_id=goal.session_id or goal.work_session_id,
        owner=goal.owner,
        session_owner=None,
        channel=goal.channel,
        account=str(goal.origin.get("account", "")),
        external_id=f"goal/{goal.id}/report",
        origin=origin,
        planning="Never",
        stream=not goal.origin,
        precondition=Precondition("goal", goal.id, goal.version),
    )


def read_outcome(run: Run) -> StepOutcome:
    """Return what the outcome of a run means for its step."""
    response = run.response or {}
    text, finish = str(response.get("text") or ""), response.get("finish_reason")
    if run.status == "cancelled":
        return StepOutcome("denied", "its task was stopped")
    if run.error is not None:
        return StepOutcome("refused" if run.error.code == "budget_exceeded" else "failed", run.error.message)
    if finish == "budget_exceeded":
        return StepOutcome("refused", text)
    if finish == "rejected":
        return StepOutcome("denied", text)
    outcome = response.get("detail", {}).get(OUTCOME_FIELD)
    if outcome is None:
        is_answer = finish in ("stop", "length", "max_iterations") and bool(text.strip())
        return StepOutcome("done" if is_answer else "failed", text if is_answer else f"it ended with {finish}: {text}")
    return _read_call(str(outcome), text)


def find_cut_off(records: Sequence[SessionRecord], answer: str) -> StepOutcome | None:
    """Return the outcome of a turn, one of whose calls a kill has cut off; None if there is none. Pure."""
    messages = [record.message for record in records if record.message is not None]
    tools = {call.id: call.name for message in messages for call in message.tool_calls}
    for message in messages:
        if message.role == "tool" and message.content == INTERRUPTED_RESULT:
            tool = tools.get(message.tool_call_id or "", "a tool")
            told = f"a call of {tool} was interrupted, and whether it took effect is unknown; the agent says: {answer}"
            return StepOutcome("unknown", told)
    return None


def find_denied(records: Sequence[ApprovalRecord], run_id: str) -> StepOutcome | None:
    """Return the outcome of a turn, one of whose calls, or of its sub-agents', a person rejected or nobody decided in
    time; None if there is none. Pure. What the end of the turn withdrew nobody decided: it has no `decided_by`.
    """
    for record in records:
        request, decision = record.request, record.decision
        if request.kind != "tool" or turn_id_from_request(request) != run_id or decision is None:
            continue
        if decision.verdict == "reject" and decision.decided_by:
            reason = decision.reason or "the person rejected this call"
            return StepOutcome("denied", f"a call of {request.tool} was denied: {reason}")
    return None


def _read_call(outcome: str, text: str) -> StepOutcome:
    if outcome == "completed":
        return StepOutcome("done", text)
    if outcome == "denied" and text.startswith("blocked by "):
        return StepOutcome("blocked", text)
    if outcome == "denied" and text.startswith("denied: "):
        return StepOutcome("denied", text.removeprefix("denied: "))
    return StepOutcome("unknown" if outcome == "interrupted" else "failed", text)


def _build_origin(goal: Goal, *, is_foreign: bool) -> dict[str, Any]:
    """Return where questions go; what is written in it nobody wrote, so that nothing is learnt from it."""
    origin: dict[str, Any] = {name: value for name, value in goal.origin.items() if name not in _NOT_OF_STEPS}
    origin[OWN_TEXT] = ""
    if is_foreign:
        origin[FOREIGN_SOURCES] = [RESULTS_SOURCE]
    return origin

"""Decisions about approvals: what a client may say, and that they are made once, with a running host and without."""

from datetime import UTC, datetime
from typing import Any

import pytest

from sophon import Risk, ToolCall
from sophon.approvals import ApprovalRequest
from sophon.errors import InputError, NotFound
from sophon.settings import Settings
from sophon_hosting.client_api.stored_caller import StoredCaller
from sophon_hosting.features.approvals.argument_depth import is_within_depth
from sophon_hosting.features.approvals.operations import (
    ApprovalDecision,
    decide_approval,
    get_approval,
    list_approvals,
    list_open_approvals,
    submit_decision,
)
from sophon_hosting.features.tasks.message_operations import send_message
from sophon_hosting.runs.approvals.approval_service import DecisionRefused
from sophon_hosting.store.runs.contract import Run
from sophon_hosting.store.sql_host_store import SqlHostStore
from tests.hosting.calls import call


def nested(levels: int) -> Any:
    value: Any = 1
    for _ in range(levels):
        value = {"a": value}
    return value


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"decision": "maybe"}, "decision: it must be 'approve'"),
        ({"decision": "edit"}, "`arguments` are required for the decision `edit`"),
        ({"decision": "approve", "arguments": {}}, "`arguments` are required for the decision `edit`"),
        ({"decision": "edit", "arguments": nested(900)}, "nested more than 32 deep"),
        ({"decision": "reject", "grant": "always"}, "`grant` belongs to the decision `approve`"),
        ({"decision": "approve", "grant": "forever"}, "grant: it must be 'session' or 'always'"),
        ({"decision": "reject", "reason": "x" * 2001}, "reason: it must have at most 2000 characters"),
    ],
)
def test_a_decision_that_cannot_be_is_named(fields: dict[str, Any], words: str) -> None:
    with pytest.raises(InputError) as refused:
        ApprovalDecision.validate({"approval_id": "a", **fields})
    assert words in str(refused.value)


@pytest.mark.parametrize(("levels", "shallow"), [(0, True), (3, True), (4, False), (2000, False)])
def test_depth_is_measured_without_going_down(levels: int, shallow: bool) -> None:
    assert is_within_depth(nested(levels), 3) is shallow


async def test_an_operator_sees_and_decides_what_others_are_asked_and_a_stranger_does_not(office: Any) -> None:
    task = (await call(office.ada, send_message, content="pay Bob", session_id="s"))["task_id"]
    await office.reached(task, "suspended")
    [asked] = (await call(office.ada, list_approvals))["items"]
    named = {"approval_id": asked["approval_id"]}

    assert (await call(office.bob, list_open_approvals))["items"] == []
    for operation, fields in ((get_approval, {}), (submit_decision, {"decision": "approve"})):
        with pytest.raises(NotFound, match=asked["approval_id"]):
            await call(office.bob, operation, **named, **fields)
    assert (await call(office.operator, list_open_approvals))["items"] == [asked]
    decided = await call(office.operator, submit_decision, **named, decision="edit", arguments={"to": "Eve"})
    assert decided == {**named, "task_id": task, "status": "edited"}
    assert await office.over(task) == "completed"
    assert (await call(office.ada, get_approval, **named))["decided_by"] == "olga"


async def test_without_a_host_a_decision_is_made_once_and_says_by_whom() -> None:
    store = SqlHostStore("memory://")
    await store.open()
    await store.runs.accept(Run("r", "s", "ada", text="hello"))
    request = ApprovalRequest.from_call(ToolCall("c", "pay", {}), "r", Risk.HIGH, session_id="s")
    await store.approvals.get_or_create(request, datetime.now(UTC))
    local = StoredCaller(store, Settings())

    for refused, code in (({"session_id": "another"}, "other_session"), ({"grant": "always"}, "not_grantable")):
        with pytest.raises(DecisionRefused) as raised:
            await call(local, decide_approval, approval_id=request.id, decision="approve", **refused)
        assert raised.value.code == code
    decided = await call(local, decide_approval, approval_id=request.id, decision="approve")
    with pytest.raises(DecisionRefused, match="has already decided this: approve") as raised:
        await call(local, decide_approval, approval_id=request.id, decision="reject")
    assert (decided["status"], raised.value.decided_by) == ("decided", decided["decided_by"])
    await store.close()

"""View of histories without the permission FullHistory: only what holds no content of a conversation is shown."""

from dataclasses import fields, replace
from datetime import UTC, datetime
from typing import Any

import pytest

from sophon import Message, Risk, ToolCall
from sophon.approvals import ApprovalRequest, Decision, Escalation
from sophon.events import Event
from sophon.history_redaction import HIDDEN
from sophon.messages import Usage
from sophon.stores.approvals.contract import ApprovalRecord
from sophon.stores.runs.contract import Run, RunError
from sophon.stores.sessions.contract import SessionRecord
from sophon_hosting.client_api.history_view import REASON_EVENTS, SHOWN_FIELDS, TEXT_FIELDS, HistoryView
from sophon_hosting.events.json_encoding import encode_json

SECRET = "the salary of Ada"
AT = datetime(2026, 1, 1, tzinfo=UTC)
VIEW = HistoryView()
TASK = Run("r", "s", "ada", "hub", text=SECRET)
EVENTS = sorted((each for each in Event.__subclasses__()), key=lambda each: each.wire_name)


def payload(event: type[Event]) -> dict[str, Any]:
    """The payload of an event whose every field that may hold content holds the secret."""
    found: dict[str, Any] = {}
    for each in fields(event):
        kind = str(each.type)
        if each.name in SHOWN_FIELDS:
            found[each.name] = Usage().to_json() if each.name == "usage" else "shown"
        elif "Mapping" in kind:
            found[each.name] = {"message": SECRET, "steps": [{"description": SECRET}], "reason": SECRET}
        else:
            found[each.name] = SECRET if "str" in kind else 7
    return {**found, "large": {name: {"url": SECRET} for name in found}, "new_field": [SECRET]}


@pytest.mark.parametrize("event", EVENTS, ids=lambda each: each.wire_name)
def test_nothing_of_anothers_conversation_is_shown_by_any_event(event: type[Event]) -> None:
    shown = VIEW.event_data(event.wire_name, payload(event), is_own=False)
    # These reasons are the host's own, and one of a few words.
    own_reasons = {"reason"} if event.wire_name in REASON_EVENTS else set()

    assert SECRET not in encode_json({name: each for name, each in shown.items() if name not in own_reasons})


@pytest.mark.parametrize("event", EVENTS, ids=lambda each: each.wire_name)
def test_of_ones_own_conversation_only_texts_and_plans_are_shown(event: type[Event]) -> None:
    shown = VIEW.event_data(event.wire_name, payload(event), is_own=True)
    texts = (
        {*TEXT_FIELDS, "attachments", "plan", "error", "large", "reason"}
        if "reasoning" not in event.wire_name
        else set()
    )

    assert SECRET not in encode_json({name: each for name, each in shown.items() if name not in texts})
    assert not (shown["large"].keys() - TEXT_FIELDS)


def test_who_decides_approvals_sees_the_question_as_it_is() -> None:
    data = {"arguments": {"to": "Ada"}, "preview": "pay Ada"}
    assert HistoryView(shows_approvals=True).event_data("approval_requested", data, is_own=False) == data
    assert VIEW.event_data("approval_requested", data, is_own=True) == {"arguments": {"to": HIDDEN}, "preview": HIDDEN}

    request = ApprovalRequest(
        "a", "tool", "r", "c", "pay", {"to": SECRET}, Risk.HIGH, "d", SECRET, full_preview=SECRET, grant_offer=SECRET
    )
    record = ApprovalRecord(request, AT, Decision.edit({"to": SECRET}))
    assert HistoryView(shows_approvals=True).approval(record) == record
    assert SECRET not in repr(VIEW.approval(record))
    asked = ApprovalRecord(
        ApprovalRequest(
            "a", "tool", "r", "c", "pay", {}, Risk.LOW, "d", "", escalation=Escalation("Shield", "rule", SECRET)
        ),
        AT,
    )
    assert SECRET not in repr(VIEW.approval(asked))


@pytest.mark.parametrize(("is_own", "text"), [(True, SECRET), (False, HIDDEN)])
def test_outcomes_and_tasks_show_texts_to_their_owner(is_own: bool, text: str) -> None:
    data = {"message": SECRET, "shown": SECRET, "code": "model", "untrusted_sources": [SECRET]}
    record = VIEW.record(SessionRecord("failed", "r", None, data), is_own=is_own)
    assert record.data == {"message": text, "shown": text, "code": "model"}

    run = replace(TASK, response={"text": SECRET, "finish_reason": "stop"})
    shown = VIEW.run(run, is_own=is_own)
    assert (shown.text, shown.response) == (text, {"text": text, "finish_reason": "stop"})
    failed = VIEW.run(replace(TASK, error=RunError("model", SECRET)), is_own=is_own)
    assert failed.error is not None
    assert failed.error.message == text


def test_a_stream_is_hidden_where_a_secret_could_be_cut_in_two() -> None:
    chunk = {"text": "pass", "epoch": 0}
    assert VIEW.event_data("stream_chunk", chunk, is_own=True) == chunk
    assert HistoryView(hides_streams=True).event_data("stream_chunk", chunk, is_own=True)["text"] == HIDDEN
    assert VIEW.event_data("stream_chunk", chunk, is_own=False)["text"] == HIDDEN


def test_a_record_of_a_call_is_shown_without_its_arguments() -> None:
    message = Message("assistant", "", [ToolCall("c", "pay", {"to": SECRET})])
    assert SECRET not in repr(VIEW.record(SessionRecord("message", "r", message), is_own=True))

"""View of histories without the permission FullHistory: only what holds no content of a conversation is shown."""

from collections.abc import Mapping
from dataclasses import fields, replace
from datetime import UTC, datetime
from typing import Any

import pytest

from sophon import Message, Risk, ToolCall
from sophon.approvals import ApprovalRequest, Decision, Escalation
from sophon.events import Event
from sophon.events.field_visibility_rules import FieldRule, field_rules
from sophon.events.visibility import Visibility
from sophon.stores.sessions.contract import SessionRecord
from sophon.turn.history_redaction import HIDDEN
from sophon_hosting.client_api.history_view import HistoryView
from sophon_hosting.json_text import encode_json
from sophon_hosting.reference.protocol_tables import list_event_types
from sophon_hosting.store.approvals.approval_record import ApprovalRecord
from sophon_hosting.store.runs.contract import Run, RunError

SECRET = "the salary of Ada"
AT = datetime(2026, 1, 1, tzinfo=UTC)
VIEW = HistoryView()
TASK = Run("r", "s", "ada", "hub", text=SECRET)
EVENTS = list_event_types()


def value_of(rule: FieldRule, type_name: str) -> Any:
    """A value of a field: the secret, unless the rule says that the field holds no content."""
    if isinstance(rule, Mapping):
        return {key: value_of(each, "str") for key, each in rule.items()} | {"new_key": SECRET}
    if rule is Visibility.PLAIN:
        return "shown"
    if "Mapping" in type_name:
        return {SECRET: SECRET}
    return [SECRET] if "list" in type_name or "tuple" in type_name or "Sequence" in type_name else SECRET


def payload(event: type[Event]) -> dict[str, Any]:
    """The payload of an event whose every field that may hold content holds the secret."""
    rules = field_rules(event)
    found = {each.name: value_of(rules[each.name], str(each.type)) for each in fields(event)}
    return {**found, "large": {name: {"url": SECRET} for name in found}, "new_field": [SECRET]}


@pytest.mark.parametrize("event", EVENTS, ids=lambda each: each.wire_name)
def test_nothing_of_anothers_conversation_is_shown_by_any_event(event: type[Event]) -> None:
    shown = VIEW.event_data(event.wire_name, payload(event), is_own=False)

    assert SECRET not in encode_json(shown)
    assert shown["task_id"] == "shown"


@pytest.mark.parametrize("event", EVENTS, ids=lambda each: each.wire_name)
def test_of_ones_own_conversation_only_texts_are_shown(event: type[Event]) -> None:
    shown = VIEW.event_data(event.wire_name, payload(event), is_own=True)
    rules = field_rules(event)
    owned = {name for name, rule in rules.items() if rule not in (Visibility.PLAIN, Visibility.CONTENT)}

    assert SECRET not in encode_json({name: each for name, each in shown.items() if name not in {*owned, "large"}})
    assert shown["large"].keys() <= owned


def test_what_may_be_read_by_whom_is_what_the_classes_of_events_declare() -> None:
    texts = {
        f"{kind.wire_name}.{name}"
        for kind in EVENTS
        if kind.__module__.startswith("sophon.events.")
        for name, rule in field_rules(kind).items()
        if rule not in (Visibility.PLAIN, Visibility.CONTENT)
    }
    assert texts == {
        *("message.content", "task_queued.text", "task_queued.attachments", "stream_chunk.text"),
        *("task_completed.text", "task_failed.text", "task_failed.error", "task_cancelled.text"),
        *("session_changed.title", "plan_proposed.plan", "approval_requested.escalation"),
    }


def test_of_the_events_of_features_titles_are_texts_of_the_conversation() -> None:
    features = [kind for kind in EVENTS if kind.__module__.startswith("sophon_hosting.features.")]
    rules = [(name, rule) for kind in features for name, rule in field_rules(kind).items()]
    assert {name for name, rule in rules if rule not in (Visibility.PLAIN, Visibility.CONTENT)} == {"title"}


def test_an_object_is_shown_key_by_key_and_an_unknown_key_not_at_all() -> None:
    step = {"id": "a", "description": "pay Ada", "depends_on": ["b"], "tool_hints": ["bank"], "estimated_risk": "low"}
    plan = {"id": "p", "goal": "pay", "steps": [step], "draft": "pay"}
    hidden = {**step, "description": HIDDEN, "tool_hints": [HIDDEN]}
    seen = VIEW.event_data("plan_proposed", {"plan": plan}, is_own=False)["plan"]
    assert seen == {"id": "p", "goal": HIDDEN, "steps": [hidden]}
    assert VIEW.event_data("plan_proposed", {"plan": plan}, is_own=True)["plan"]["steps"] == [step]

    asked = {"escalation": {"guard": "shield", "rule": "r", "reason": "it says Ada"}}
    assert VIEW.event_data("approval_requested", asked, is_own=True)["escalation"] == {
        "guard": "shield",
        "rule": "r",
        "reason": HIDDEN,
    }


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

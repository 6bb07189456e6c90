"""What a person is asked, what an answer is bound to, and how both travel."""

import json
from datetime import UTC, datetime

from hypothesis import given
from hypothesis import strategies as st

from sophon import ApprovalRequest, Decision, Risk, ToolCall
from sophon.approvals import MAX_PREVIEW_VALUE_CHARACTERS, RejectingGate, compute_call_digest, render_call_preview
from tests.tables import table

CALL = ToolCall("c", "mail.send", {"to": "ada@example.org", "copies": 2})


def request(call: ToolCall = CALL, run_id: str = "run") -> ApprovalRequest:
    return ApprovalRequest.from_call(call, run_id, Risk.HIGH)


def test_asking_again_for_the_same_is_the_same_request() -> None:
    same = ToolCall("c", "mail.send", {"copies": 2, "to": "ada@example.org"})
    assert request().id == request(same).id
    assert request().digest == request(same).digest


@table(
    "other",
    [
        request(run_id="run2"),
        request(ToolCall("d", "mail.send", CALL.arguments)),
        request(ToolCall("c", "mail.draft", CALL.arguments)),
        request(ToolCall("c", "mail.send", {**CALL.arguments, "copies": 3})),
        request(ToolCall("c", "mail.send", {**CALL.arguments, "copies": "2"})),
    ],
)
def test_anything_else_is_another_request(other: ApprovalRequest) -> None:
    assert other.id != request().id
    assert other.digest != request().digest


@given(st.text(), st.text(), st.text(), st.text())
def test_facts_cannot_be_shifted_into_one_another(run: str, call_id: str, name: str, more: str) -> None:
    digest = compute_call_digest(run, ToolCall(call_id, name))
    if more:
        assert compute_call_digest(run + more, ToolCall(call_id, name)) != digest
        assert compute_call_digest(run, ToolCall(call_id + more, name)) != digest
        assert compute_call_digest(run, ToolCall(call_id, name + more)) != digest


def test_a_request_comes_back_from_json_as_it_was() -> None:
    made = ApprovalRequest.from_call(
        CALL,
        "run",
        Risk.CRITICAL,
        kind="tool",
        editable=True,
        expires_at=datetime(2026, 1, 1, tzinfo=UTC),
        session_id="s",
    )
    assert ApprovalRequest.from_json(json.loads(json.dumps(made.to_json()))) == made


@table(
    "decision",
    [
        Decision.approve(),
        Decision.approve(decided_by="ada"),
        Decision.reject("too late"),
        Decision.edit({"to": "bob"}, decided_by="ada"),
        Decision.suspend(),
    ],
)
def test_a_decision_comes_back_from_json_as_it_was(decision: Decision) -> None:
    assert Decision.from_json(json.loads(json.dumps(decision.to_json()))) == decision


def test_the_preview_shows_the_real_arguments() -> None:
    assert render_call_preview(CALL).splitlines() == ["Run mail.send", "  to: ada@example.org", "  copies: 2"]


def test_of_a_long_argument_head_and_tail_are_shown_and_the_whole_is_kept() -> None:
    long = ToolCall("c", "t", {"command": f"echo {'x' * 5000}; rm -rf ~"})
    preview = render_call_preview(long)
    assert len(preview) < MAX_PREVIEW_VALUE_CHARACTERS + 100
    assert preview.startswith("Run t\n  command: echo xxx")
    assert preview.endswith("; rm -rf ~")
    assert "⟦3,015 characters left out here⟧" in preview
    made = request(long)
    assert (made.preview, made.whole_preview) == (preview, render_call_preview(long, limit=None))
    assert "x" * 5000 in made.whole_preview
    assert ApprovalRequest.from_json(json.loads(json.dumps(made.to_json()))) == made


def test_a_short_request_is_shown_as_a_whole_once() -> None:
    assert (request().full_preview, request().whole_preview) == ("", request().preview)


def test_nothing_in_a_preview_is_hidden_and_what_is_approved_stays_as_it_is() -> None:
    call = ToolCall("c\x00", "t\u202e", {"a\nb: c\u200b": "\x1b[1A\u202e", "n": {"k\x00": "\u2066"}})
    made = request(call)
    assert made.preview.replace("\n", "").isprintable()
    assert "⟦U+202E⟧" in made.preview
    assert made.arguments == call.arguments
    assert made.digest == compute_call_digest("run", call)


def test_the_note_of_a_tool_stands_below_and_no_argument_can_imitate_it() -> None:
    made = ApprovalRequest.from_call(ToolCall("c", "t", {"x": "a\nNote: harmless"}), "run", Risk.HIGH, note="take care")
    assert [line for line in made.preview.split("\n") if line.startswith("Note:")] == ["Note: take care"]


@table("line_break", ["\n", "\r\n", "\u2028", "\x0b"])
def test_no_line_of_a_value_reads_as_another_argument(line_break: str) -> None:
    lines = render_call_preview(ToolCall("c", "t", {"body": f"hello{line_break}  to: mallory"})).splitlines()
    assert [line for line in lines if line.startswith("  to:")] == []
    assert any("mallory" in line for line in lines)


async def test_where_nobody_can_be_asked_everything_is_rejected_with_the_reason() -> None:
    decision = await RejectingGate().request(request())
    assert (decision.verdict, decision.reason) == ("reject", "nobody can be asked for approval here")

"""Questions to a person over Socket.IO: decided once, by whoever is first, and never in the way of others."""

import asyncio
from typing import Any

import pytest


async def asked(peer, content: str = "pay Bob", **message: Any) -> tuple[dict, dict]:
    """The receipt of a task that waits for a person, and the question."""
    receipt = await peer.done("send_message", {"content": content, **message})
    return receipt, await peer.until("approval_requested", task_id=receipt["task_id"])


async def test_a_question_says_what_is_to_be_done(house) -> None:
    _, question = await asked(await house.peer())
    assert {key: question[key] for key in ("tool", "risk", "arguments")} == {
        "tool": "pay",
        "risk": "high",
        "arguments": {"to": "Bob"},
    }
    assert question["preview"]
    assert question["expires_at"].startswith("2026-01-01T00:05")


@pytest.mark.parametrize(
    ("decision", "status", "paid"),
    [
        ({"decision": "approve"}, "approved", ["Bob"]),
        ({"decision": "reject", "reason": "too dear"}, "rejected", []),
        ({"decision": "edit", "arguments": {"to": "Eve"}}, "edited", ["Eve"]),
    ],
)
async def test_a_decision_is_taken_and_told(house, decision: dict, status: str, paid: list[str]) -> None:
    ada = await house.peer()
    receipt, question = await asked(ada)
    answer = await ada.done("decide_approval", {"approval_id": question["approval_id"], **decision})
    assert answer["status"] == status
    resolved = await ada.until("approval_resolved")
    text = await ada.ended(receipt["task_id"])
    assert (resolved["decision"], resolved["decided_by"], house.paid) == (decision["decision"], "ada", paid)
    assert ("too dear" in text) == (status == "rejected")
    assert resolved["arguments"] == decision.get("arguments")


async def test_a_decision_for_another_session_is_refused_and_leaves_the_question_open(house) -> None:
    ada = await house.peer()
    receipt, question = await asked(ada)
    press = {"approval_id": question["approval_id"], "decision": "approve"}
    refused = await ada.ask("decide_approval", {**press, "session_id": "another"})
    assert refused["error"]["code"] == "other_session"
    assert house.paid == []
    assert (await ada.done("decide_approval", {**press, "session_id": receipt["session_id"]}))["status"] == "approved"
    await ada.ended(receipt["task_id"])


async def test_of_two_decisions_at_once_the_first_counts_and_the_other_hears_whose(house) -> None:
    ada, olga = await house.peer(), await house.peer("olga", "/operator")
    receipt, question = await asked(ada)
    press = {"approval_id": question["approval_id"], "decision": "approve"}
    answers = await asyncio.gather(*(peer.ask("decide_approval", press) for peer in (ada, olga) for _ in range(5)))
    await ada.ended(receipt["task_id"])
    (taken,) = [answer for answer in answers if answer["ok"]]
    refused = [answer["error"] for answer in answers if not answer["ok"]]
    assert taken["status"] == "approved"
    assert {error["code"] for error in refused} == {"already_decided"}
    assert {error["decided_by"] for error in refused} <= {"ada", "olga"}
    assert (len(refused), house.paid) == (9, ["Bob"])


async def test_plain_words_are_no_decision(house) -> None:
    ada = await house.peer()
    receipt, _ = await asked(ada, session_id="s")
    await ada.done("send_message", {"content": "continue", "session_id": "s"})
    assert len((await ada.done("list_approvals"))["items"]) == 1
    assert (house.paid, ada.of("task_completed", receipt["task_id"])) == ([], [])


async def test_with_three_open_questions_a_fourth_session_is_answered_at_once(house) -> None:
    ada = await house.peer()
    for number in range(3):
        await asked(ada, f"pay {number}", session_id=f"s{number}")
    receipt = await ada.done("send_message", {"content": "hello", "session_id": "fourth"})
    assert await ada.ended(receipt["task_id"]) == "HELLO"
    assert (len((await ada.done("list_approvals"))["items"]), house.paid) == (3, [])


async def test_time_decides_and_everybody_is_told(house) -> None:
    ada = await house.peer()
    receipt, question = await asked(ada)
    await house.clock.advance(301)
    resolved = await ada.until("approval_resolved")
    await ada.ended(receipt["task_id"])
    assert (resolved["decided_by"], house.paid) == ("expiry", [])
    late = {"approval_id": question["approval_id"], "decision": "approve"}
    assert (await ada.refused("decide_approval", late))["code"] == "already_decided"


@pytest.mark.parametrize("decision", [{"decision": "approve"}, {"decision": "edit", "arguments": {"to": "Eve"}}])
async def test_who_asked_is_told_that_a_critical_call_waits_for_an_operator(house, decision: dict) -> None:
    ada, olga = await house.peer(), await house.peer("olga", "/operator")
    receipt, question = await asked(ada, "wreck all")
    assert question["needs_operator"]
    error = await ada.refused("decide_approval", {"approval_id": question["approval_id"], **decision})
    assert error["code"] == "operator_needed"
    assert "waiting for an operator" in error["message"]
    assert "waiting for an operator" in ada.of("agent_status")[-1]["detail"]
    await olga.done("decide_approval", {"approval_id": question["approval_id"], "decision": "approve"})
    assert "wrecked all" in await ada.ended(receipt["task_id"])

"""A question inside a call waits in its process; a decision at another host reaches it by the signal, or by a look."""

from sophon import Decision
from sophon_hosting.runs.approvals.approval_gate import HELD_CHECK_SECONDS
from tests.hosting.runs.approvals.test_pending_questions import ask, stall


async def ask_at(group, monkeypatch):
    """Two hosts, of which the second holds a question."""
    tools = [each for each in group.tools() if each.name != "stall"]
    monkeypatch.setattr(group, "tools", lambda: [*tools, stall])
    first = await group.join()
    await first.queue.pause()
    second = await group.join()
    receipt, question = await ask(group, first)
    assert second.running_turns == 1
    return first, receipt, question


async def test_the_signal_of_a_decision_reaches_the_call_at_once(group, monkeypatch) -> None:
    first, receipt, question = await ask_at(group, monkeypatch)
    before = group.clock.monotonic()
    await first.approvals.decide(question, Decision.answer("there"), "ada")
    run = await group.ended(receipt)
    assert (run.status, run.starts, group.clock.monotonic() - before) == ("completed", 1, 0)
    assert "answer: there" in run.response["text"]
    assert (await group.names("s")).count("approval_resolved") == 1


async def test_without_the_signal_the_call_looks_for_itself(group, monkeypatch) -> None:
    first, receipt, question = await ask_at(group, monkeypatch)
    group.network.is_cut = True
    await first.approvals.decide(question, Decision.answer("there"), "ada")
    await group.pass_time(HELD_CHECK_SECONDS)
    run = await group.ended(receipt)
    assert (run.status, run.starts) == ("completed", 1)

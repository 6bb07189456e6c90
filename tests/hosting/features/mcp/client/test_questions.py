"""Questions of MCP servers: they reach the person whose turn calls the server, and nobody else answers them."""

import asyncio
import logging
from typing import Any

import pytest

from sophon import Decision
from sophon.approvals import RejectingGate
from sophon.events import ApprovalRequested, ApprovalResolved
from sophon_hosting.features.mcp.client import supervisor
from sophon_hosting.features.mcp.client.elicitation import choose_action
from sophon_hosting.features.mcp.events import McpRequested
from tests.hosting.features.mcp.client.sites import Site, call, featured, running

ASKS = {"Approval": {"Questions": True}}

pytestmark = pytest.mark.anyio


def answers(site: Site, *texts: str) -> None:
    site.gate.answers = [Decision.answer(each, decided_by="olga") for each in texts]


@pytest.mark.parametrize("protocol", ["Auto", "Legacy"])
async def test_a_form_is_asked_field_by_field_and_a_wrong_answer_again(protocol: str) -> None:
    async with running(featured(Protocol=protocol), **ASKS) as site:
        answers(site, "9", "3", "1", "no", "(leave out)")
        result = (await site.call(call("srv.book")))[0]
    assert 'accept: {"people":3,"room":"garden","smoking":false,"note":null}' in result
    first, again = site.gate.asked[:2]
    assert first.preview.startswith("The MCP server srv asks, while it runs srv.book:\n  Which table?\n  Approve")
    assert "the number must be at most 8" in again.preview
    assert len({each.id for each in site.gate.asked}) == 5
    assert {each.kind for each in site.gate.asked} == {"question"}
    assert [each.questions for each in site.events.of(McpRequested)] == [5]
    named = [type(each) for each in site.events.events]
    assert named.count(ApprovalRequested) == named.count(ApprovalResolved) == 5


async def test_a_person_declines_and_gives_up_after_three_wrong_answers() -> None:
    async with running(featured(), **ASKS) as site:
        site.gate.answers = [Decision.reject("no", decided_by="olga")]
        assert "decline: " in (await site.call(call("srv.book")))[0]
        answers(site, "many", "0", "1.5")
        assert "cancel: " in (await site.call(call("srv.book")))[0]


async def test_nobody_answers_and_the_server_is_told_so_within_the_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(supervisor, "QUESTION_SECONDS", 0.1)
    async with running(featured(), **ASKS) as site:
        result = (await site.call(call("srv.book")))[0]
    assert "cancel: " in result
    resolved = [each for each in site.events.events if isinstance(each, ApprovalResolved)]
    assert [(each.decision, each.reason) for each in resolved] == [("reject", "nobody answered in time")]


@pytest.mark.parametrize("protocol", ["Auto", "Legacy"])
async def test_secrets_and_pages_are_declined_and_nobody_is_asked(protocol: str, caplog: Any) -> None:
    caplog.set_level(logging.CRITICAL)
    async with running(featured(Protocol=protocol), **ASKS) as site:
        results = await site.call(call("srv.login"), call("srv.open_page"))
    assert "decline" in results[0]
    assert "accept" not in results[1]
    assert site.gate.asked == []


async def test_where_nobody_can_be_asked_a_question_is_declined() -> None:
    async with running(featured(), **ASKS) as site:
        site.gate = RejectingGate()  # type: ignore[assignment]
        assert "decline: " in (await site.call(call("srv.book")))[0]
    assert choose_action(Decision.suspend()) == "decline"


async def test_without_the_setting_no_server_is_told_that_it_may_ask() -> None:
    async with running(featured()) as site:
        result = (await site.call(call("srv.book")))[0]
    assert "elicitation" in result.casefold()
    assert site.gate.asked == []


async def test_a_question_that_belongs_to_no_single_turn_is_declined(caplog: Any) -> None:
    caplog.set_level(logging.CRITICAL)
    async with running(featured(Protocol="Legacy"), **ASKS) as site:
        first = asyncio.create_task(site.call(call("srv.wait")))
        await site.until(lambda: any("srv.wait: 1" in getattr(each, "detail", "") for each in site.events.events))
        answers(site, "3", "1", "no", "x")
        assert "decline: " in (await site.call(call("srv.book")))[0]
        assert site.gate.asked == []
        first.cancel()
        await asyncio.gather(first, return_exceptions=True)
        assert "accept: " in (await site.call(call("srv.book")))[0]


async def test_a_cancelled_turn_withdraws_its_question() -> None:
    async with running(featured(Protocol="Legacy"), **ASKS) as site:
        turn = asyncio.create_task(site.call(call("srv.book")))
        async with asyncio.timeout(30):
            await site.gate.is_asked.wait()
        turn.cancel()
        await asyncio.gather(turn, return_exceptions=True)
        await site.until(lambda: any(isinstance(each, ApprovalResolved) for each in site.events.events))
        resolved = next(each for each in site.events.events if isinstance(each, ApprovalResolved))
        assert (resolved.decision, resolved.reason) == ("reject", "the call that asked has ended")

"""Questions of MCP servers: they reach the person whose turn calls the server, and nobody else answers them."""

import asyncio
import logging
from collections.abc import AsyncIterator

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


@pytest.fixture(scope="module")
async def sites() -> AsyncIterator[dict[str, Site]]:
    """A site for each protocol, whose servers may ask: an interpreter and the SDK take a second to start."""
    async with running(featured(Protocol="Auto"), **ASKS) as auto, running(featured(Protocol="Legacy"), **ASKS) as old:
        yield {"Auto": auto, "Legacy": old}


@pytest.fixture
def site(sites: dict[str, Site]) -> Site:
    sites["Auto"].forget()
    return sites["Auto"]


@pytest.fixture
def legacy(sites: dict[str, Site]) -> Site:
    sites["Legacy"].forget()
    return sites["Legacy"]


def answers(site: Site, *texts: str) -> None:
    site.gate.answers = [Decision.answer(each, decided_by="olga") for each in texts]


async def test_a_form_is_asked_field_by_field_and_a_wrong_answer_again(site: Site, legacy: Site) -> None:
    for asks in (site, legacy):
        answers(asks, "9", "3", "1", "no", "(leave out)")
        result = (await asks.call(call("srv.book")))[0]
        assert 'accept: {"people":3,"room":"garden","smoking":false,"note":null}' in result
        first, again = asks.gate.asked[:2]
        assert first.preview.startswith("The MCP server srv asks, while it runs srv.book:\n  Which table?\n  Approve")
        assert "the number must be at most 8" in again.preview
        assert len({each.id for each in asks.gate.asked}) == 5
        assert {each.kind for each in asks.gate.asked} == {"question"}
        assert [each.questions for each in asks.events.of(McpRequested)] == [5]
        named = [type(each) for each in asks.events.events]
        assert named.count(ApprovalRequested) == named.count(ApprovalResolved) == 5


async def test_a_person_declines_and_gives_up_after_three_wrong_answers(site: Site) -> None:
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


async def test_secrets_and_pages_are_declined_and_nobody_is_asked(
    site: Site, legacy: Site, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.CRITICAL)
    for asks in (site, legacy):
        results = await asks.call(call("srv.login"), call("srv.open_page"))
        assert "decline" in results[0]
        assert "accept" not in results[1]
        assert asks.gate.asked == []


async def test_where_nobody_can_be_asked_a_question_is_declined(site: Site) -> None:
    site.gate = RejectingGate()  # type: ignore[assignment]
    assert "decline: " in (await site.call(call("srv.book")))[0]
    assert choose_action(Decision.suspend()) == "decline"


async def test_a_question_that_belongs_to_no_single_turn_is_declined(
    legacy: Site, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.CRITICAL)
    first = asyncio.create_task(legacy.call(call("srv.wait")))
    await legacy.until(lambda: any("srv.wait: 1" in getattr(each, "detail", "") for each in legacy.events.events))
    answers(legacy, "3", "1", "no", "x")
    assert "decline: " in (await legacy.call(call("srv.book")))[0]
    assert legacy.gate.asked == []
    first.cancel()
    await asyncio.gather(first, return_exceptions=True)
    assert "accept: " in (await legacy.call(call("srv.book")))[0]


async def test_a_cancelled_turn_withdraws_its_question(legacy: Site) -> None:
    turn = asyncio.create_task(legacy.call(call("srv.book")))
    async with asyncio.timeout(30):
        await legacy.gate.is_asked.wait()
    turn.cancel()
    await asyncio.gather(turn, return_exceptions=True)
    await legacy.until(lambda: any(isinstance(each, ApprovalResolved) for each in legacy.events.events))
    resolved = next(each for each in legacy.events.events if isinstance(each, ApprovalResolved))
    assert (resolved.decision, resolved.reason) == ("reject", "the call that asked has ended")

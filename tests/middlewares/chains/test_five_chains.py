"""The five chains over the same ten conversations: the published events in the published order, the same answers."""

import re
from collections.abc import Mapping
from pathlib import Path

import pytest

from sophon import Response
from sophon.errors import BudgetExceeded, ModelError
from sophon.events import Event, StageCompleted
from sophon_middlewares.chains import CHAINS
from tests.middlewares.chains.conversations import CONVERSATIONS, converse

PAGE = (Path(__file__).parents[3] / "docs" / "chains.md").read_text(encoding="utf-8")
EVENTS: Mapping[str, dict[str, str]] = {
    chain: {
        ours: published
        for each, published, ours in re.findall(r"^\| `(\w+)` \| (\w+) \| `([\w ]+)` \|$", PAGE, re.M)
        if each == chain
    }
    for chain in CHAINS
}
"""Ours to published, by chain, as the page has them."""

ORDERS: Mapping[str, str] = {
    "twelve": r"TaskStarted (StreamChunk |(ToolCallStarted |ApprovalRequest ApprovalResponse )*ToolCallCompleted )*"
    r"(TaskCompleted|TaskFailed)",
    "clawdesk": r"AuthResolve HistorySanitize ContextGuard ToolSplit (ToolCall )*Execute FailoverDecide",
    "openparallax": r"(llm_token |(action_started (shield_verdict )+"
    r"(tier3_approval_required )?(action_completed )+))*(response_complete|error)",
    "clawft": r"(classify route assemble transport score learn ?)*(classify route assemble)?",
    "wasp": r"decision_layer context_builder ?(skill_result )*"
    r"(llm_loop ?(multi_url response_validator action_announcer)?)?",
}
"""Published order of a turn, over published names."""

ROUNDS = {"twelve": 100, "clawdesk": 10, "openparallax": 25, "clawft": 20, "wasp": 12}


def publish(chain: str, events: list[Event]) -> list[str]:
    """Return the published names of the events of a turn; those without one are left out."""
    return [EVENTS[chain][name] for each in events if (name := describe(each)) in EVENTS[chain]]


def describe(event: Event) -> str:
    detail = {
        "stage_completed": lambda: event.stage,
        "agent_status": lambda: event.status,
        "guard_verdict": lambda: event.guard,
    }.get(event.wire_name)
    return event.wire_name if detail is None else f"{event.wire_name} {detail()}"


@pytest.mark.parametrize("name", CONVERSATIONS)
@pytest.mark.parametrize("chain", CHAINS)
async def test_the_published_events_come_in_the_published_order(chain: str, name: str) -> None:
    events, _ = await converse(CHAINS[chain], name)
    published = " ".join(publish(chain, events))
    assert re.fullmatch(ORDERS[chain], published.strip()), published


def test_every_event_on_the_page_occurs() -> None:
    assert {chain: len(found) for chain, found in EVENTS.items()} == {
        "clawdesk": 7,
        "clawft": 6,
        "openparallax": 7,
        "twelve": 8,
        "wasp": 7,
    }


@pytest.mark.parametrize("chain", CHAINS)
async def test_no_event_of_the_page_is_made_up(chain: str) -> None:
    seen: set[str] = set()
    for name in ("one call", "approved", "error"):
        seen.update(publish(chain, (await converse(CHAINS[chain], name))[0]))
    assert seen == set(EVENTS[chain].values())


@pytest.mark.parametrize("name", [each for each in CONVERSATIONS if each not in ("limit", "error")])
async def test_the_answers_are_the_same(name: str) -> None:
    texts: dict[str, list[str]] = {}
    for chain, compose in CHAINS.items():
        _, ends = await converse(compose, name)
        # What wasp adds to a reply and to a result is its own.
        texts[chain] = [
            re.sub(r"\n\n(?:Actions:|\[simulation).*", "", end.text, flags=re.S).rstrip(".")
            for end in ends
            if isinstance(end, Response)
        ]
        assert len(texts[chain]) == len(CONVERSATIONS[name])
    assert len({tuple(each) for each in texts.values()}) == 1, texts


@pytest.mark.parametrize("chain", CHAINS)
async def test_an_endless_turn_ends_after_the_rounds_of_the_chain(chain: str) -> None:
    _, [end] = await converse(CHAINS[chain], "limit")
    assert isinstance(end, Response)
    assert (end.finish_reason, end.tool_rounds) == ("max_iterations", ROUNDS[chain])


@pytest.mark.parametrize("chain", CHAINS)
async def test_a_host_that_sets_its_own_number_of_rounds_has_it(chain: str) -> None:
    _, [end] = await converse(CHAINS[chain], "limit", AgentExecution={"MaxToolIterations": 3})
    assert isinstance(end, Response)
    assert end.tool_rounds == 3


@pytest.mark.parametrize("chain", CHAINS)
async def test_a_broken_provider_fails_the_turn(chain: str) -> None:
    _, [end] = await converse(CHAINS[chain], "error")
    assert isinstance(end, ModelError)


@pytest.mark.parametrize("chain", CHAINS)
async def test_a_spent_budget_refuses_before_any_model(chain: str) -> None:
    limits = {"Providers": {"*": {"DailyTokens": 1}}}
    events, [end] = await converse(CHAINS[chain], "greeting", Budget=limits)
    assert isinstance(end, BudgetExceeded) or end.finish_reason == "budget_exceeded"
    assert "model_attempt" not in {each.wire_name for each in events}


async def test_without_its_marks_the_order_of_clawdesk_is_not_met() -> None:
    events, _ = await converse(CHAINS["clawdesk"], "greeting")
    stages = [each for each in events if isinstance(each, StageCompleted)]
    turned = [*reversed(stages)]
    assert re.fullmatch(ORDERS["clawdesk"], " ".join(publish("clawdesk", list(turned)))) is None

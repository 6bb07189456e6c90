"""The five chains over the same ten conversations: the published events in the published order, the same answers."""

import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from sophon import Pipeline, Response, Services
from sophon.errors import BudgetExceeded, ModelError
from sophon.events import Event
from sophon_middlewares.chains import CHAINS
from sophon_middlewares.stages.published_stage import PublishedStage
from tests.middlewares.chains.conversations import CONVERSATIONS, converse
from tests.tables import table

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

ROUNDS = {"twelve": 100, "clawdesk": 10, "openparallax": 25, "clawft": 20, "wasp": 12}


PIECES = {"stream_chunk"}

TURNS: Mapping[str, tuple[Sequence[Sequence[str]], str]] = {
    "greeting": ([], "answered"),
    "two turns": ([], "answered"),
    "one call": ([["ran"]], "answered"),
    "calls in turn": ([["ran"]] * 3, "answered"),
    "calls together": ([["ran", "ran"]], "answered"),
    "a failing tool": ([["ran"]], "answered"),
    "approved": ([["approved"]], "answered"),
    "rejected": ([["rejected"]], "answered"),
    "limit": ([["ran"]], "limited"),
    "error": ([], "failed"),
}
"""What happens in each turn of a conversation: the rounds with the fate of each call, and the end."""


def expect(chain: str, name: str) -> list[str]:
    """Return the published names of one turn of a conversation, in the published order."""
    rounds, end = TURNS[name]
    if end == "limited":
        rounds = [["ran"]] * ROUNDS[chain]
    return ORDERS[chain](rounds, end)


def order_of_twelve(rounds: Sequence[Sequence[str]], end: str) -> list[str]:
    calls = {
        "ran": ["ToolCallStarted", "ToolCallCompleted"],
        "approved": ["ApprovalRequest", "ApprovalResponse", "ToolCallStarted", "ToolCallCompleted"],
        "rejected": ["ApprovalRequest", "ApprovalResponse", "ToolCallCompleted"],
    }
    turn = [event for each in rounds for call in each for event in calls[call]]
    return ["TaskStarted", *turn, *(["TaskFailed"] if end == "failed" else ["StreamChunk", "TaskCompleted"])]


def order_of_clawdesk(rounds: Sequence[Sequence[str]], end: str) -> list[str]:
    calls = ["ToolCall" for each in rounds for _ in each]
    return ["AuthResolve", "HistorySanitize", "ContextGuard", "ToolSplit", *calls, "Execute", "FailoverDecide"]


def order_of_openparallax(rounds: Sequence[Sequence[str]], end: str) -> list[str]:
    turn: list[str] = []
    if rounds:
        # A round of `load_tools` comes first; it counts as one.
        rounds = [["ran"], *(rounds[1:] if end == "limited" else rounds)]
    for call in [call for each in rounds for call in each]:
        asked = ["tier3_approval_required"] if call != "ran" else []
        turn += ["action_started", "shield_verdict", *asked, "action_completed"]
    return [*turn, *(["error"] if end == "failed" else ["llm_token", "response_complete"])]


def order_of_clawft(rounds: Sequence[Sequence[str]], end: str) -> list[str]:
    before, after = ["classify", "route", "assemble"], ["transport", "score", "learn"]
    return before if end == "failed" else [*before, *after] * (len(rounds) + 1)


def order_of_wasp(rounds: Sequence[Sequence[str]], end: str) -> list[str]:
    ends = {
        "answered": ["llm_loop", "multi_url", "response_validator", "action_announcer"],
        "limited": ["llm_loop"],
        "failed": [],
    }
    return ["decision_layer", "context_builder", *["skill_result" for each in rounds for _ in each], *ends[end]]


ORDERS: Mapping[str, Callable[[Sequence[Sequence[str]], str], list[str]]] = {
    "twelve": order_of_twelve,
    "clawdesk": order_of_clawdesk,
    "openparallax": order_of_openparallax,
    "clawft": order_of_clawft,
    "wasp": order_of_wasp,
}


def publish(chain: str, events: list[Event]) -> list[str]:
    """Return the published names of the events of a turn; those without one are left out."""
    return [EVENTS[chain][name] for each in events if (name := describe(each)) in EVENTS[chain]]


def find_known(chain: str, events: list[Event]) -> list[Event]:
    """Return the events with a published name. Of the pieces of a text the first: redaction may hold back its end."""
    known = [each for each in events if describe(each) in EVENTS[chain]]
    return [each for at, each in enumerate(known) if not at or {describe(each), describe(known[at - 1])} != PIECES]


def describe(event: Event) -> str:
    detail = {
        "stage_completed": lambda: event.stage,
        "agent_status": lambda: event.status,
        "guard_verdict": lambda: event.guard,
    }.get(event.wire_name)
    return event.wire_name if detail is None else f"{event.wire_name} {detail()}"


def test_all_five_run_over_all_ten() -> None:
    assert set(EVENTS) == set(CHAINS) == {"twelve", "clawdesk", "openparallax", "clawft", "wasp"}
    assert set(CONVERSATIONS) == set(TURNS)
    assert len(CONVERSATIONS) == 10


@table("name", CONVERSATIONS)
@table("chain", CHAINS)
async def test_the_published_events_come_in_the_published_order(chain: str, name: str) -> None:
    events, ends = await converse(CHAINS[chain], name)
    assert len(ends) == len(CONVERSATIONS[name])
    assert publish(chain, find_known(chain, events)) == expect(chain, name) * len(ends)


@table("chain", CHAINS)
async def test_any_two_neighbouring_events_in_the_other_order_are_noticed(chain: str) -> None:
    swaps = 0
    for name in CONVERSATIONS:
        events, ends = await converse(CHAINS[chain], name)
        known = find_known(chain, events)
        for at in range(len(known) - 1):
            if describe(known[at]) != describe(known[at + 1]):
                turned = [*known[:at], known[at + 1], known[at], *known[at + 2 :]]
                assert publish(chain, turned) != expect(chain, name) * len(ends), (name, at)
                swaps += 1
    assert swaps >= 20


@table(("chain", "first", "second"), [("clawdesk", 2, 3), ("clawdesk", 0, 1)])
async def test_a_chain_with_two_stages_exchanged_is_noticed(chain: str, first: int, second: int) -> None:
    def compose(services: Services) -> Pipeline:
        parts = list(CHAINS[chain](services))
        marks = [index for index, each in enumerate(parts) if isinstance(each, PublishedStage)]
        one, other = marks[first], marks[second]
        parts[one], parts[other] = parts[other], parts[one]
        return Pipeline.compose(*parts)

    events, _ = await converse(compose, "one call")
    assert sorted(publish(chain, events)) == sorted(expect(chain, "one call"))
    assert publish(chain, events) != expect(chain, "one call")


def test_every_event_on_the_page_occurs() -> None:
    assert {chain: len(found) for chain, found in EVENTS.items()} == {
        "clawdesk": 7,
        "clawft": 6,
        "openparallax": 7,
        "twelve": 8,
        "wasp": 7,
    }


@table("chain", CHAINS)
async def test_no_event_of_the_page_is_made_up(chain: str) -> None:
    seen: set[str] = set()
    for name in ("one call", "approved", "error"):
        seen.update(publish(chain, (await converse(CHAINS[chain], name))[0]))
    assert seen == set(EVENTS[chain].values())


@table("name", [each for each in CONVERSATIONS if each not in ("limit", "error")])
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


@table("chain", CHAINS)
async def test_an_endless_turn_ends_after_the_rounds_of_the_chain(chain: str) -> None:
    _, [end] = await converse(CHAINS[chain], "limit")
    assert isinstance(end, Response)
    assert (end.finish_reason, end.tool_rounds) == ("max_iterations", ROUNDS[chain])


@table("chain", CHAINS)
async def test_a_host_that_sets_its_own_number_of_rounds_has_it(chain: str) -> None:
    _, [end] = await converse(CHAINS[chain], "limit", AgentExecution={"MaxToolIterations": 3})
    assert isinstance(end, Response)
    assert end.tool_rounds == 3


@table("chain", CHAINS)
async def test_a_broken_provider_fails_the_turn(chain: str) -> None:
    _, [end] = await converse(CHAINS[chain], "error")
    assert isinstance(end, ModelError)


@table("chain", CHAINS)
async def test_a_spent_budget_refuses_before_any_model(chain: str) -> None:
    limits = {"Providers": {"*": {"DailyTokens": 1}}}
    events, [end] = await converse(CHAINS[chain], "greeting", Budget=limits)
    assert isinstance(end, BudgetExceeded) or end.finish_reason == "budget_exceeded"
    assert "model_attempt" not in {each.wire_name for each in events}


def test_the_table_of_a_chain_says_no_share_of_the_window_that_another_chain_has_set() -> None:
    table = CHAINS["openparallax"](Services()).explain()  # it compacts from 70 % on
    assert "ContextWindow.Trigger" in table
    assert "80 % of the" not in table

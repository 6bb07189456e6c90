"""What is not in a request any more is in the summary that the request shows; or it was cut by name, after its facts
were flushed."""

import re
from collections.abc import Callable
from typing import Any

from sophon import ModelRequest, ModelResponse, Pipeline, Services, ToolCall, tool
from sophon.events import ContextCompacted, MemoryFlush
from sophon.testing import EventRecorder, FunctionModel, VirtualClock
from sophon_middlewares.chains.published_constants import DEFAULTS
from sophon_middlewares.inner.agentic_loop.agentic_loop import AgenticLoop
from sophon_middlewares.inner.llm_invoker.llm_invoker import LlmInvoker
from sophon_middlewares.inner.tool_execution import ToolExecution
from sophon_middlewares.memory.memory import Memory
from sophon_middlewares.outer.context_window.context_window import ContextWindow
from sophon_middlewares.outer.context_window.conversation_truncation import GAP_NOTE
from sophon_middlewares.outer.session_events.session_events import SessionEvents
from sophon_middlewares.stages.chain_defaults import ChainDefaults
from tests.tables import table

TURNS = 40
WINDOWS = (8000, 9000, 10_000, 12_000, 16_000)
CHAINS = ("twelve", "openparallax")
"""Chains whose shares of the window are used; their guards and tools on demand have nothing to do with it."""
MARK = re.compile(r'\b[qra]\d+\b|\bS\d+\b|"at":"\d+"')
"""Of the question, the result, its call, and the answer of a turn; and of a summary."""


@tool()
async def look(at: str) -> str:
    """Return a long text."""
    return f"r{at} " + "some words of a page " * 300


class Conversation:
    """Forty turns, each with one long result; keeps what summaries and flushes have read, by marks in the texts."""

    def __init__(self, chain: str, window: int, *, fails: Callable[[int], bool] = lambda number: False) -> None:
        self.requests: list[tuple[ModelRequest, dict[str, set[str]], set[str]]] = []
        """Each request for an answer, with what the summaries and the flushes before it have read."""
        self.summaries: dict[str, set[str]] = {}
        self.flushed: set[str] = set()
        self.read_twice: set[str] = set()
        self.unflushed: set[str] = set()
        """Questions that a summary has read before a flush did."""
        self.events, self.fails = EventRecorder(), fails
        self.turn, self.attempts = 0, 0
        self.services = Services(
            models=FunctionModel(self.answer, context_window=window),
            tools=[look],
            clock=VirtualClock(),
            events=self.events,
            instructions="Be brief.",
        )
        self.pipeline = Pipeline.compose(
            SessionEvents(),
            ChainDefaults(DEFAULTS[chain]),
            ContextWindow(),
            Memory(),
            AgenticLoop(),
            ToolExecution(),
            LlmInvoker(),
        )

    async def answer(self, request: ModelRequest) -> Any:
        text = "\n".join(each.content for each in request.messages)
        marks = find_marks(text)
        if request.purpose == "memory":
            self.read_twice |= marks & self.flushed
            self.flushed |= marks
            return f"- The project number {self.turn} is important."
        if request.purpose == "compaction":
            self.attempts += 1
            if self.fails(self.attempts):
                return ""
            self.unflushed |= {mark for mark in marks if mark[0] == "q"} - self.flushed
            name = f"S{len(self.summaries)}"
            read = marks | {each for mark in marks for each in self.summaries.get(mark, ())}
            self.summaries[name] = read
            return f"summary {name}"
        self.requests.append((request, dict(self.summaries), set(self.flushed)))
        last = request.messages[-1]
        if last.role == "user":
            return ModelResponse(tool_calls=[ToolCall(f"c{self.turn}", "look", {"at": str(self.turn)})])
        return f"a{self.turn} " + "answer " * 30

    async def run(self) -> None:
        for self.turn in range(1, TURNS + 1):
            ctx = self.services.turn(f"q{self.turn} and what is there? " + "please " * 20, session_id="s")
            await self.pipeline.run(ctx)

    def missing(self) -> list[tuple[int, list[str]]]:
        """For each request what is neither in it nor in the summary that it shows; results count by their call."""
        found: list[tuple[int, list[str]]] = []
        for number, (request, summaries, _) in enumerate(self.requests):
            turn = max(int(each[1:]) for each in said(request) if each[0] == "q")
            visible = said(request)
            visible |= {each for mark in visible for each in summaries.get(mark, ())}
            wanted = {f"{kind}{n}" for n in range(1, turn) for kind in "qra"} | {f"q{turn}"}
            if lost := sorted(wanted - visible):
                found.append((number, lost))
        return found


def find_marks(text: str) -> set[str]:
    return {f"r{mark[6:-1]}" if mark.startswith('"') else mark for mark in MARK.findall(text)}


def said(request: ModelRequest) -> set[str]:
    shown = [each for each in request.messages if each.role != "system"]
    marks = {mark for each in shown for mark in find_marks(each.content)}
    return marks | {f"r{(each.tool_call_id or 'c')[1:]}" for each in shown if each.role == "tool"}


@table("chain", CHAINS)
@table("window", WINDOWS)
async def test_what_is_not_shown_any_more_is_in_the_summary_that_is_shown(window: int, chain: str) -> None:
    conversation = Conversation(chain, window)
    await conversation.run()
    assert conversation.missing() == []
    assert not any(GAP_NOTE in request.messages for request, _, _ in conversation.requests)
    assert len(conversation.summaries) > 1
    assert (conversation.unflushed, conversation.read_twice) == (set(), set())
    assert conversation.events.of(MemoryFlush)


@table("chain", CHAINS)
@table("window", [8000, 12_000])
async def test_without_a_summary_facts_are_flushed_and_the_cut_is_named(window: int, chain: str) -> None:
    conversation = Conversation(chain, window, fails=lambda number: True)
    await conversation.run()
    assert conversation.summaries == {}
    missing = dict(conversation.missing())
    assert missing
    for number, lost in missing.items():
        request, _, flushed = conversation.requests[number]
        assert {each for each in lost if each[0] == "q"} <= flushed
        assert GAP_NOTE in request.messages
    assert "truncation" in {each.how for each in conversation.events.of(ContextCompacted)}
    assert conversation.read_twice == set()


@table("chain", CHAINS)
async def test_once_summaries_succeed_again_they_take_in_what_was_cut(chain: str) -> None:
    conversation = Conversation(chain, 9000, fails=lambda number: number < 3)
    await conversation.run()
    last, summaries, _ = conversation.requests[-1]
    assert conversation.missing()
    assert GAP_NOTE not in last.messages
    [summary] = [mark for mark in said(last) if mark[0] == "S"]
    assert {f"q{n}" for n in range(2, TURNS - 4)} <= summaries[summary] | said(last)

"""A stage for plans: a model that plans, works on steps and sums up as the test says, and a record of all it did."""

import asyncio
import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import pytest

from sophon import Context, ModelRequest, ModelResponse, Pipeline, Response, Services, Tool, ToolCall
from sophon.events import PlanStepChanged
from sophon.messages import Usage
from sophon.models.model import Purpose
from sophon.testing import EventRecorder, FunctionModel, VirtualClock, assert_valid_transcript
from sophon_middlewares.inner.agentic_loop.agentic_loop import AgenticLoop
from sophon_middlewares.inner.approval.approval import Approval
from sophon_middlewares.inner.llm_invoker.llm_invoker import LlmInvoker
from sophon_middlewares.inner.parallel_execution import ParallelExecution
from sophon_middlewares.inner.tool_execution import ToolExecution
from sophon_middlewares.outer.planning.planning import Planning
from tests.gate import Gate

Answer: TypeAlias = str | Exception | ModelResponse | Sequence[ToolCall] | Callable[[ModelRequest], Awaitable[str]]
"""What the model says: a text, an error, a whole response, tool calls, or the text that a function gives."""

REQUEST = "First do one thing, then do another: all the steps"
"""Scores 4: mode Auto plans."""


def plan_json(**steps: str | Mapping[str, Any]) -> str:
    """`plan_json(a="", b="a")`: steps with what they need; a mapping gives other fields too. `do a` is a's text."""
    written: list[dict[str, Any]] = []
    for name, given in steps.items():
        more: Mapping[str, Any] = {"depends_on": given.split()} if isinstance(given, str) else given
        written.append({"id": name, "description": f"do {name}", **more})
    return json.dumps({"goal": "all is done", "steps": written})


@dataclass
class Stage:
    """`plans`, `votes`, `replies`: answers in turn, the last one for ever; `work`: the same for a step's description.

    A step without `work` takes a virtual second and says "<description> done".
    """

    plans: list[Answer] = field(default_factory=list[Answer])
    votes: list[Answer] = field(default_factory=lambda: ["yes"])
    replies: list[Answer] = field(default_factory=lambda: ["the answer"])
    work: dict[str, list[Answer]] = field(default_factory=dict[str, list[Answer]])
    tools: Sequence[Tool] = ()
    gate: Any = None
    settings: Mapping[str, Any] = field(default_factory=dict[str, Any])
    stream: bool | int = False
    window: int = 128_000
    before: Sequence[Any] = ()
    """Middlewares in front of Planning."""

    def __post_init__(self) -> None:
        self.clock = VirtualClock()
        self.events = EventRecorder()
        self.model = FunctionModel(self._answer, stream=self.stream, context_window=self.window, prices=(1.0, 1.0))
        self.spans: dict[str, tuple[float, float]] = {}
        self.services = Services(
            models=self.model,
            tools=self.tools,
            approvals=self.gate,
            events=self.events,
            clock=self.clock,
            settings=self.settings,
        )
        self.pipeline = Pipeline.compose(
            *self.before,
            Planning(),
            AgenticLoop(),
            ParallelExecution(),
            Approval(),
            ToolExecution(),
            LlmInvoker(),
        )

    def turn(self, text: str = REQUEST, **facts: Any) -> Context:
        return self.services.turn(text, session_id="s", **facts)

    async def run(self, text: str = REQUEST, **facts: Any) -> Response:
        return await self.go(self.turn(text, **facts))

    async def go(self, ctx: Context) -> Response:
        """Run, and see that nothing is left behind."""
        before = asyncio.all_tasks()
        try:
            return await self.pipeline.run(ctx)
        finally:
            assert asyncio.all_tasks() == before
            for request in self.model.requests:
                assert_valid_transcript(request.messages)

    async def resume(self, ctx: Context) -> Response:
        """Through JSON into a new context, and on."""
        return await self.go(self.services.restore(json.loads(json.dumps(ctx.state()))))

    def asked(self, purpose: Purpose) -> list[ModelRequest]:
        return [request for request in self.model.requests if request.purpose == purpose]

    def prompts(self, purpose: Purpose) -> list[str]:
        """The last user message of each call of that purpose."""
        return [[m.content for m in r.messages if m.role == "user"][-1] for r in self.asked(purpose)]

    def steps(self, status: str | None = None) -> list[str]:
        """The ids of the steps that came to that status, in order; without one, `id status` of every change."""
        changes = self.events.of(PlanStepChanged)
        if status is None:
            return [f"{change.step_id} {change.status}" for change in changes]
        return [change.step_id for change in changes if change.status == status]

    def reason(self, step_id: str) -> str:
        return [change.reason for change in self.events.of(PlanStepChanged) if change.step_id == step_id][-1]

    async def _answer(self, request: ModelRequest) -> ModelResponse:
        answer = await self._said(request)
        if isinstance(answer, Exception):
            raise answer
        if isinstance(answer, ModelResponse):
            return answer
        usage = Usage(10, 10)
        if isinstance(answer, str):
            return ModelResponse(answer, usage=usage)
        if callable(answer):
            return ModelResponse(await answer(request), usage=usage)
        return ModelResponse(tool_calls=list(answer), usage=usage)

    async def _said(self, request: ModelRequest) -> Answer:
        if request.purpose == "step":
            return await self._step(request)
        given = {"plan": self.plans, "vote": self.votes, "reply": self.replies}[request.purpose]
        return given.pop(0) if len(given) > 1 else given[0]

    async def _step(self, request: ModelRequest) -> Answer:
        prompt = next(m.content for m in reversed(request.messages) if m.role == "user")
        description = prompt.split("\n")[0]
        if given := self.work.get(description):
            return given.pop(0) if len(given) > 1 else given[0]
        began = self.clock.monotonic()
        await self.clock.sleep(1)
        self.spans[description] = (began, self.clock.monotonic())
        return f"{description} done"


@pytest.fixture
def stage() -> type[Stage]:
    return Stage


@pytest.fixture
def gate() -> Callable[..., Gate]:
    return Gate


@pytest.fixture
def plan() -> Callable[..., str]:
    return plan_json

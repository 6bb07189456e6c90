"""What the tests of the guards share: a folder with the host's files, a gate, and a chain with one guard."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from sophon import Context, Decision, Middleware, Pipeline, Services, Tool, ToolCall
from sophon.approvals import ApprovalRequest
from sophon.clock import Clock, SystemClock
from sophon.events import GuardVerdict
from sophon.models.model import Model
from sophon.stores.contract import Store
from sophon.testing import EventRecorder, ScriptedModel
from sophon_middlewares import AgenticLoop, Approval, LlmInvoker, ParallelExecution, ToolExecution


@dataclass
class Gate:
    """Gate that approves, and keeps what it was asked; `on_request` runs while the person decides."""

    asked: list[ApprovalRequest] = field(default_factory=list[ApprovalRequest])
    decision: Decision = field(default_factory=Decision.approve)
    on_request: Callable[[ApprovalRequest], object] = lambda _: None

    async def request(self, request: ApprovalRequest) -> Decision:
        self.asked.append(request)
        self.on_request(request)
        return self.decision


@dataclass
class GuardedTurn:
    """A turn of scripted tool calls through the inner zone with guards, in a folder like that of a host."""

    folder: Path
    gate: Gate = field(default_factory=Gate)
    events: EventRecorder = field(default_factory=EventRecorder)
    services: Services = field(default_factory=Services)
    settings: dict[str, Any] = field(default_factory=dict[str, Any])
    clock: Clock = field(default_factory=SystemClock)
    store: Store | None = None

    async def run(
        self, guards: Sequence[Middleware], calls: Sequence[ToolCall], *, tools: Sequence[Tool] = (), **turn: Any
    ) -> list[str]:
        """Run the calls of one reply, and return the results that the model reads, in call order."""
        ctx = self.build(calls, tools=tools, **turn)
        await self.chain(*guards).run(ctx)
        return [message.content for message in ctx.messages if message.role == "tool"]

    def build(
        self,
        calls: Sequence[ToolCall],
        *,
        tools: Sequence[Tool] = (),
        settings: Mapping[str, Any] | None = None,
        models: Model | Sequence[Model] | None = None,
        store: Store | None = None,
        **turn: Any,
    ) -> Context:
        self.services = Services(
            folder=self.folder,
            models=models or ScriptedModel([list(calls), "done"]),
            tools=list(tools),
            approvals=self.gate,
            events=self.events,
            settings={**self.settings, **(settings or {})},
            clock=self.clock,
            store=store or self.store,
        )
        return self.services.turn("hi", **turn)

    def chain(self, *guards: Middleware) -> Pipeline:
        return Pipeline.compose(AgenticLoop(), ParallelExecution(), *guards, Approval(), ToolExecution(), LlmInvoker())

    def verdicts(self) -> list[tuple[str, str, str, str]]:
        return [(each.call_id, each.guard, each.verdict, each.rule) for each in self.events.of(GuardVerdict)]


@pytest.fixture
def turn(tmp_path: Path) -> GuardedTurn:
    files = tmp_path / "data" / "files"
    files.mkdir(parents=True)
    (tmp_path / "data" / "memory" / "principals" / "bob").mkdir(parents=True)
    (tmp_path / "appsettings.json").write_text("{}")
    (files / "SOUL.md").write_text("I am kind.")
    (files / "notes.txt").write_text("milk")
    return GuardedTurn(tmp_path)


def write_call(path: str, text: str = "x", call_id: str = "c1") -> ToolCall:
    return ToolCall(call_id, "files.write", {"path": path, "content": text})


def shell_call(command: str, call_id: str = "c1") -> ToolCall:
    return ToolCall(call_id, "system.execute", {"command": command})

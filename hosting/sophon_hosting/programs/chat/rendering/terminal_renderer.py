"""Terminal renderer of a turn: streamed text, with dim lines for tool calls, plans and other events in between."""

from collections.abc import Callable, Mapping
from typing import Any

from rich.console import Console

from sophon.events import (
    AgentStatus,
    ApprovalRequested,
    ApprovalResolved,
    BudgetAlert,
    ContextCompacted,
    Event,
    GuardVerdict,
    LoopWarning,
    Message,
    ModelAttempt,
    PlanProposed,
    PlanStepChanged,
    Progress,
    ProviderExcluded,
    Reasoning,
    ReasoningChunk,
    StreamChunk,
    StreamReset,
    TaskCompleted,
    ToolCallCompleted,
    ToolCallStarted,
)
from sophon.messages import Response
from sophon_hosting.programs.chat.approval_answers import DECIDED_BY_TERMINAL
from sophon_hosting.programs.chat.rendering.event_formatting import (
    format_budget_alert,
    format_compaction,
    format_decision,
    format_exclusion,
    format_loop_warning,
    format_plan,
    format_plan_step,
    format_progress,
    format_tool_call,
    format_turn_footer,
)
from sophon_hosting.programs.chat.rendering.terminal_writer import MARGIN, TerminalWriter
from sophon_hosting.rendering.control_characters import escape_control_characters
from sophon_hosting.rendering.sent_text import SentText
from sophon_hosting.rendering.value_formatting import format_arguments


class TerminalRenderer(TerminalWriter):
    """Renders the events of one turn after another; markup in texts is never interpreted.

    On a terminal the last line is a status line with the current activity; the next output erases it. Reasoning is
    written, dimmed, with `shows_reasoning` only.
    """

    def __init__(self, console: Console, *, shows_reasoning: bool = False) -> None:
        super().__init__(console)
        self._shows_reasoning = shows_reasoning
        self._reasoning_id = ""
        """Id of the reasoning that was written last."""
        self._sent = SentText()
        self._arguments: dict[str, Mapping[str, Any]] = {}
        self._blocks: dict[str, GuardVerdict] = {}
        """By run and call: the verdict of the guard that has blocked it."""
        self._plans: dict[str, Mapping[str, Any]] = {}
        self._steps: dict[str, str] = {}
        self._model = ""
        self._milliseconds = 0
        self._renderers: Mapping[type[Event], Callable[[Any], None]] = {
            StreamChunk: self._on_chunk,
            StreamReset: self._on_reset,
            AgentStatus: self._on_status,
            ToolCallStarted: self._on_tool_started,
            ToolCallCompleted: self._on_tool_completed,
            GuardVerdict: self._on_verdict,
            PlanProposed: self._on_plan,
            PlanStepChanged: self._on_step,
            ApprovalRequested: self._on_approval_requested,
            ApprovalResolved: self._on_approval_resolved,
            BudgetAlert: lambda event: self.write_dim_line(format_budget_alert(event)),
            ProviderExcluded: lambda event: self.write_dim_line(format_exclusion(event)),
            ContextCompacted: lambda event: self.write_dim_line(format_compaction(event)),
            LoopWarning: lambda event: self.write_dim_line(format_loop_warning(event)),
            Progress: lambda event: self.write_dim_line(format_progress(event)),
            ModelAttempt: self._on_attempt,
            TaskCompleted: self._on_completed,
            Message: self._on_message,
            ReasoningChunk: self._on_reasoning_chunk,
            Reasoning: self._on_reasoning,
        }

    def start_turn(self) -> None:
        """Clear the state of the turn before."""
        self.in_answer, self._sent, self._reasoning_id = False, SentText(), ""
        for state in (self._arguments, self._blocks, self._plans, self._steps):
            state.clear()
        self._model = ""

    def emit(self, event: Event, /) -> None:
        """Render one event; ignore events of other types."""
        render = self._renderers.get(type(event))
        if render is not None:
            render(event)

    def finish_turn(self, response: Response, session_id: str) -> None:
        """Write the text that was not streamed, and the footer with model, tokens, cost and duration."""
        text, written = response.full_text, self._sent.epoch_text
        if text.strip() and written.strip() != text.strip():
            self.in_answer = self.in_answer and text.startswith(written)
            self._write_answer(text[len(written) :] if text.startswith(written) else text)
        self.end_line()
        if response.finish_reason == "cancelled":
            self.write_dim_line("– stopped")
        elif response.finish_reason != "error":
            self.write_dim_line(
                format_turn_footer(self._model, response.usage, milliseconds=self._milliseconds, session_id=session_id)
            )

    def _on_chunk(self, event: StreamChunk) -> None:
        text = self._sent.add_chunk(event)
        if text:
            self._write_answer(text)
            self.console.file.flush()

    def _on_message(self, event: Message) -> None:
        """Write a message that was not streamed; the user's own is on the screen already."""
        text = self._sent.add_message(event.content) if event.role == "assistant" else ""
        if text:
            self.in_answer = False
            self._write_answer(text)

    def _write_answer(self, text: str) -> None:
        """Write text of the answer, on a line of its own if something else was written before it."""
        if not self.in_answer:
            self.end_line()
            text = text.lstrip("\n")
        self.write_text(text)
        self.in_answer = True

    def _on_reasoning_chunk(self, event: ReasoningChunk) -> None:
        if not self._shows_reasoning:
            return
        if self._reasoning_id != event.reasoning_id or not event.offset:
            self.end_line()
            self._reasoning_id, self.in_answer = event.reasoning_id, False
        self.erase_status()
        self.console.out(escape_control_characters(event.text), end="", style="dim", highlight=False)
        self.in_line = True

    def _on_reasoning(self, event: Reasoning) -> None:
        if self._shows_reasoning and self._reasoning_id != event.reasoning_id:
            self.write_lines(event.text.splitlines(), style="dim")
            self._reasoning_id = event.reasoning_id

    def _on_reset(self, event: StreamReset) -> None:
        self._sent.forget_unfinished()
        self.write_dim_line(f"· the answer restarts: {event.reason}")

    def _on_status(self, event: AgentStatus) -> None:
        if event.status == "retrying":
            self.write_dim_line(f"· retrying: {event.detail}")
        elif event.status != "waiting_approval":
            self.show_status(f"{event.status.replace('_', ' ')} {event.detail}".strip())

    def _on_tool_started(self, event: ToolCallStarted) -> None:
        self._arguments[event.run_id + event.call_id] = event.arguments
        self.show_status(f"running {event.tool} {format_arguments(event.arguments)}")

    def _on_tool_completed(self, event: ToolCallCompleted) -> None:
        key = event.run_id + event.call_id
        self.write_dim_line(format_tool_call(event, self._arguments.pop(key, {}), self._blocks.pop(key, None)))

    def _on_verdict(self, event: GuardVerdict) -> None:
        # Shown with the call, whose end follows; why a guard asks is in the approval prompt.
        if event.verdict == "block":
            self._blocks[event.run_id + event.call_id] = event

    def _on_plan(self, event: PlanProposed) -> None:
        # The plan is written when its first step starts, unless an approval prompt has shown it.
        self._plans[event.run_id] = event.plan
        self._steps |= {step["id"]: step["description"] for step in event.plan.get("steps", ())}

    def _on_approval_requested(self, event: ApprovalRequested) -> None:
        if event.kind == "plan":
            self._plans.pop(event.run_id, None)

    def _on_approval_resolved(self, event: ApprovalResolved) -> None:
        if event.decided_by != DECIDED_BY_TERMINAL:
            self.write_dim_line(format_decision(event))

    def _on_step(self, event: PlanStepChanged) -> None:
        plan = self._plans.pop(event.run_id, None)
        for number, line in enumerate(format_plan(plan) if plan else ()):
            self.write_dim_line(line, margin=MARGIN * 2 if number else MARGIN)
        self.write_dim_line(format_plan_step(event, self._steps))

    def _on_attempt(self, event: ModelAttempt) -> None:
        if event.outcome == "ok":
            self._model = event.model

    def _on_completed(self, event: TaskCompleted) -> None:
        self._milliseconds = event.duration_ms

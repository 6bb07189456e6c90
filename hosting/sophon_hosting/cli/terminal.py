"""Terminal renderer of a turn: streamed text, with dim lines for tool calls, plans and other events in between."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from rich.console import Console

from sophon.events import (
    AgentStatus,
    ApprovalRequested,
    ApprovalResolved,
    BudgetAlert,
    ContextCompacted,
    Event,
    LoopWarning,
    ModelAttempt,
    PlanProposed,
    PlanStepChanged,
    Progress,
    StreamChunk,
    StreamReset,
    TaskCompleted,
    ToolCallCompleted,
    ToolCallStarted,
)
from sophon.messages import Response
from sophon_hosting.cli.narration import (
    arguments_text,
    budget_line,
    compaction_line,
    decision_line,
    footer,
    loop_line,
    plan_lines,
    progress_line,
    step_line,
    tool_line,
)
from sophon_hosting.cli.visible import on_one_line, visible

ERASE_LINE = "\r\x1b[2K"
MARGIN = "  "
STATUS_MARGIN = 6
"""Columns of the status line that stay free, so that no terminal wraps it."""
WHO = "terminal"
"""`decided_by` of approvals decided at this terminal, whose resolution is not shown again."""


class TerminalView:
    """Renders the events of one turn after another; markup in texts is never interpreted.

    On a terminal the last line is a status line with the current activity; the next output erases it.
    """

    def __init__(self, console: Console) -> None:
        self._console = console
        self._in_line = False
        """Whether the cursor stands behind text."""
        self._has_status = False
        self._text: list[str] = []
        self._arguments: dict[str, Mapping[str, Any]] = {}
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
            PlanProposed: self._on_plan,
            PlanStepChanged: self._on_step,
            ApprovalRequested: self._on_approval_requested,
            ApprovalResolved: self._on_approval_resolved,
            BudgetAlert: lambda event: self.quiet(budget_line(event)),
            ContextCompacted: lambda event: self.quiet(compaction_line(event)),
            LoopWarning: lambda event: self.quiet(loop_line(event)),
            Progress: lambda event: self.quiet(progress_line(event)),
            ModelAttempt: self._on_attempt,
            TaskCompleted: self._on_completed,
        }

    def begin(self) -> None:
        """Clear the state of the turn before."""
        self._text.clear()
        for state in (self._arguments, self._plans, self._steps):
            state.clear()
        self._model = ""

    def emit(self, event: Event, /) -> None:
        """Render one event; ignore events of other types."""
        render = self._renderers.get(type(event))
        if render is not None:
            render(event)

    def end(self, response: Response, session_id: str) -> None:
        """Write the text that was not streamed, and the footer with model, tokens, cost and duration."""
        if response.text and "".join(self._text) != response.text:
            self.close_line()
            self.say(response.text)
        self.close_line()
        if response.finish_reason == "cancelled":
            self.quiet("– stopped")
        elif response.finish_reason != "error":
            self.quiet(footer(self._model, response.usage, milliseconds=self._milliseconds, session=session_id))

    def say(self, text: str) -> None:
        """Write text of the answer; the next text may continue its line."""
        self._erase_status()
        escaped = visible(text)
        self._console.out(escaped, end="", highlight=False)
        self._in_line = not escaped.endswith("\n")

    def quiet(self, line: str, *, margin: str = MARGIN) -> None:
        """Write one dim line, cut to the width of a terminal."""
        self.close_line()
        width = self._console.width - len(margin) if self._console.is_terminal else None
        self._console.out(margin + on_one_line(line, width), style="dim", highlight=False)

    def quiets(self, lines: Iterable[str]) -> None:
        """Write several dim lines without a margin."""
        for line in lines:
            self.quiet(line, margin="")

    def lines(self, lines: Iterable[str], *, style: str | None = None) -> None:
        """Write whole lines with control characters escaped."""
        self.close_line()
        for line in lines:
            self._console.out(visible(line), style=style, highlight=False)

    def ask(self, text: str) -> None:
        """Write a prompt and leave the cursor behind it."""
        self.close_line()
        self._console.out(visible(text), end="", highlight=False)
        self._console.file.flush()
        self._in_line = True

    def answered(self, text: str, *, echoed: bool) -> None:
        """End the prompt line; write the answer unless the terminal has echoed it."""
        if not echoed:
            self._console.out(visible(text), highlight=False)
        self._in_line = False

    def close_line(self) -> None:
        """Erase the status line, and start a new line if the cursor stands behind text."""
        self._erase_status()
        if self._in_line:
            self._console.out("")
            self._in_line = False

    def _on_chunk(self, event: StreamChunk) -> None:
        if not self._text:
            self.close_line()
        self._text.append(event.text)
        self.say(event.text)
        self._console.file.flush()

    def _on_reset(self, event: StreamReset) -> None:
        self._text.clear()
        self.quiet(f"· the answer restarts: {event.reason}")

    def _on_status(self, event: AgentStatus) -> None:
        if event.status == "retrying":
            self.quiet(f"· retrying: {event.detail}")
        elif event.status != "waiting_approval":
            self._show_status(f"{event.status.replace('_', ' ')} {event.detail}".strip())

    def _on_tool_started(self, event: ToolCallStarted) -> None:
        self._text.clear()
        self._arguments[event.run_id + event.call_id] = event.arguments
        self._show_status(f"running {event.tool} {arguments_text(event.arguments)}")

    def _on_tool_completed(self, event: ToolCallCompleted) -> None:
        self._text.clear()
        self.quiet(tool_line(event, self._arguments.pop(event.run_id + event.call_id, {})))

    def _on_plan(self, event: PlanProposed) -> None:
        # The plan is written when its first step starts, unless an approval prompt has shown it.
        self._plans[event.run_id] = event.plan
        self._steps |= {step["id"]: step["description"] for step in event.plan.get("steps", ())}

    def _on_approval_requested(self, event: ApprovalRequested) -> None:
        if event.kind == "plan":
            self._plans.pop(event.run_id, None)

    def _on_approval_resolved(self, event: ApprovalResolved) -> None:
        if event.decided_by != WHO:
            self.quiet(decision_line(event))

    def _on_step(self, event: PlanStepChanged) -> None:
        plan = self._plans.pop(event.run_id, None)
        for number, line in enumerate(plan_lines(plan) if plan else ()):
            self.quiet(line, margin=MARGIN * 2 if number else MARGIN)
        self.quiet(step_line(event, self._steps))

    def _on_attempt(self, event: ModelAttempt) -> None:
        if event.outcome == "ok":
            self._model = event.model

    def _on_completed(self, event: TaskCompleted) -> None:
        self._milliseconds = event.duration_ms

    def _show_status(self, text: str) -> None:
        if not self._console.is_terminal or self._console.is_dumb_terminal or self._in_line:
            return
        self._erase_status()
        self._console.out(
            f"{MARGIN}{on_one_line(text, self._console.width - STATUS_MARGIN)} …", end="", style="dim", highlight=False
        )
        self._console.file.flush()
        self._has_status = True

    def _erase_status(self) -> None:
        if self._has_status:
            self._console.file.write(ERASE_LINE)
            self._has_status = False

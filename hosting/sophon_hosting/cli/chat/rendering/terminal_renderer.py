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
from sophon_hosting.cli.chat.approval_answers import DECIDED_BY_TERMINAL
from sophon_hosting.cli.chat.rendering.event_formatting import (
    format_budget_alert,
    format_compaction,
    format_decision,
    format_loop_warning,
    format_plan,
    format_plan_step,
    format_progress,
    format_tool_call,
    format_turn_footer,
)
from sophon_hosting.rendering.control_characters import escape_control_characters, to_single_line
from sophon_hosting.rendering.value_formatting import format_arguments

ERASE_LINE = "\r\x1b[2K"
MARGIN = "  "
STATUS_MARGIN = 6
"""Columns of the status line that stay free, so that no terminal wraps it."""


class TerminalRenderer:
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
            BudgetAlert: lambda event: self.write_dim_line(format_budget_alert(event)),
            ContextCompacted: lambda event: self.write_dim_line(format_compaction(event)),
            LoopWarning: lambda event: self.write_dim_line(format_loop_warning(event)),
            Progress: lambda event: self.write_dim_line(format_progress(event)),
            ModelAttempt: self._on_attempt,
            TaskCompleted: self._on_completed,
        }

    def start_turn(self) -> None:
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

    def finish_turn(self, response: Response, session_id: str) -> None:
        """Write the text that was not streamed, and the footer with model, tokens, cost and duration."""
        if response.text and "".join(self._text) != response.text:
            self.end_line()
            self.write_text(response.text)
        self.end_line()
        if response.finish_reason == "cancelled":
            self.write_dim_line("– stopped")
        elif response.finish_reason != "error":
            self.write_dim_line(
                format_turn_footer(self._model, response.usage, milliseconds=self._milliseconds, session_id=session_id)
            )

    def write_text(self, text: str) -> None:
        """Write text of the answer; the next text may continue its line."""
        self._erase_status()
        escaped = escape_control_characters(text)
        self._console.out(escaped, end="", highlight=False)
        self._in_line = not escaped.endswith("\n")

    def write_dim_line(self, line: str, *, margin: str = MARGIN) -> None:
        """Write one dim line, cut to the width of a terminal."""
        self.end_line()
        width = self._console.width - len(margin) if self._console.is_terminal else None
        self._console.out(margin + to_single_line(line, width), style="dim", highlight=False)

    def write_dim_lines(self, lines: Iterable[str]) -> None:
        """Write several dim lines without a margin."""
        for line in lines:
            self.write_dim_line(line, margin="")

    def write_lines(self, lines: Iterable[str], *, style: str | None = None) -> None:
        """Write whole lines with control characters escaped."""
        self.end_line()
        for line in lines:
            self._console.out(escape_control_characters(line), style=style, highlight=False)

    def write_prompt(self, text: str) -> None:
        """Write a prompt and leave the cursor behind it."""
        self.end_line()
        self._console.out(escape_control_characters(text), end="", highlight=False)
        self._console.file.flush()
        self._in_line = True

    def finish_prompt(self, text: str, *, echoed: bool) -> None:
        """End the prompt line; write the answer unless the terminal has echoed it."""
        if not echoed:
            self._console.out(escape_control_characters(text), highlight=False)
        self._in_line = False

    def end_line(self) -> None:
        """Erase the status line, and start a new line if the cursor stands behind text."""
        self._erase_status()
        if self._in_line:
            self._console.out("")
            self._in_line = False

    def _on_chunk(self, event: StreamChunk) -> None:
        if not self._text:
            self.end_line()
        self._text.append(event.text)
        self.write_text(event.text)
        self._console.file.flush()

    def _on_reset(self, event: StreamReset) -> None:
        self._text.clear()
        self.write_dim_line(f"· the answer restarts: {event.reason}")

    def _on_status(self, event: AgentStatus) -> None:
        if event.status == "retrying":
            self.write_dim_line(f"· retrying: {event.detail}")
        elif event.status != "waiting_approval":
            self._show_status(f"{event.status.replace('_', ' ')} {event.detail}".strip())

    def _on_tool_started(self, event: ToolCallStarted) -> None:
        self._text.clear()
        self._arguments[event.run_id + event.call_id] = event.arguments
        self._show_status(f"running {event.tool} {format_arguments(event.arguments)}")

    def _on_tool_completed(self, event: ToolCallCompleted) -> None:
        self._text.clear()
        self.write_dim_line(format_tool_call(event, self._arguments.pop(event.run_id + event.call_id, {})))

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

    def _show_status(self, text: str) -> None:
        if not self._console.is_terminal or self._console.is_dumb_terminal or self._in_line:
            return
        self._erase_status()
        self._console.out(
            f"{MARGIN}{to_single_line(text, self._console.width - STATUS_MARGIN)} …",
            end="",
            style="dim",
            highlight=False,
        )
        self._console.file.flush()
        self._has_status = True

    def _erase_status(self) -> None:
        if self._has_status:
            self._console.file.write(ERASE_LINE)
            self._has_status = False

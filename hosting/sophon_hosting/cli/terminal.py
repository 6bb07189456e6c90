"""A turn on the screen: text as it comes, and in between quiet lines for tools, plans and whatever else happens."""

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
from sophon_hosting.cli import narration
from sophon_hosting.cli.visible import on_one_line, visible

ERASE_LINE = "\r\x1b[2K"
MARGIN = "  "
STATUS_MARGIN = 6
"""Columns of the last line that stay free, so that no terminal wraps it."""
WHO = "terminal"
"""Whoever decides in front of this screen, and needs not be told of it."""


class TerminalView:
    """Shows the events of one turn after another; markup in what it is given is never interpreted.

    In a terminal the last line tells what is going on now, and goes away when something is shown.
    """

    def __init__(self, console: Console) -> None:
        self._console = console
        self._open = False
        """The cursor stands behind text."""
        self._status = False
        self._text: list[str] = []
        self._arguments: dict[str, Mapping[str, Any]] = {}
        self._plans: dict[str, Mapping[str, Any]] = {}
        self._steps: dict[str, str] = {}
        self._model = ""
        self._milliseconds = 0
        self._shows: Mapping[type[Event], Callable[[Any], None]] = {
            StreamChunk: self._chunk,
            StreamReset: self._reset,
            AgentStatus: self._doing,
            ToolCallStarted: self._tool_began,
            ToolCallCompleted: self._tool_ended,
            PlanProposed: self._plan,
            PlanStepChanged: self._step,
            ApprovalRequested: self._asked,
            ApprovalResolved: self._decided,
            BudgetAlert: lambda event: self.quiet(narration.budget_line(event)),
            ContextCompacted: lambda event: self.quiet(narration.compaction_line(event)),
            LoopWarning: lambda event: self.quiet(narration.loop_line(event)),
            Progress: lambda event: self.quiet(narration.progress_line(event)),
            ModelAttempt: self._attempt,
            TaskCompleted: self._completed,
        }

    def begin(self) -> None:
        """A turn begins: forget the one before."""
        self._text.clear()
        for kept in (self._arguments, self._plans, self._steps):
            kept.clear()
        self._model = ""

    def emit(self, event: Event, /) -> None:
        """Show one event."""
        show = self._shows.get(type(event))
        if show is not None:
            show(event)

    def end(self, response: Response, session_id: str) -> None:
        """The turn is over: whatever of its text was not streamed is shown now, and what it took."""
        if response.text and "".join(self._text) != response.text:
            self.close_line()
            self.say(response.text)
        self.close_line()
        if response.finish_reason == "cancelled":
            self.quiet("– stopped")
        elif response.finish_reason != "error":
            took = self._milliseconds
            self.quiet(narration.footer(self._model, response.usage, milliseconds=took, session=session_id))

    def say(self, text: str) -> None:
        """Text of the answer; what comes next may continue its line."""
        self._erase_status()
        shown = visible(text)
        self._console.out(shown, end="", highlight=False)
        self._open = not shown.endswith("\n")

    def quiet(self, line: str, *, margin: str = MARGIN) -> None:
        """One dim line, cut to the width of a terminal."""
        self.close_line()
        width = self._console.width - len(margin) if self._console.is_terminal else None
        self._console.out(margin + on_one_line(line, width), style="dim", highlight=False)

    def quiets(self, lines: Iterable[str]) -> None:
        """Several dim lines, from the left edge."""
        for line in lines:
            self.quiet(line, margin="")

    def lines(self, lines: Iterable[str], *, style: str | None = None) -> None:
        """Whole lines, as they are but for what would act on the terminal."""
        self.close_line()
        for line in lines:
            self._console.out(visible(line), style=style, highlight=False)

    def ask(self, text: str) -> None:
        """A question, with the cursor behind it."""
        self.close_line()
        self._console.out(visible(text), end="", highlight=False)
        self._console.file.flush()
        self._open = True

    def answered(self, text: str, *, echoed: bool) -> None:
        """The question has its answer, which a terminal has shown already."""
        if not echoed:
            self._console.out(visible(text), highlight=False)
        self._open = False

    def close_line(self) -> None:
        """Begin a new line if the cursor stands behind text."""
        self._erase_status()
        if self._open:
            self._console.out("")
            self._open = False

    def _chunk(self, event: StreamChunk) -> None:
        if not self._text:
            self.close_line()
        self._text.append(event.text)
        self.say(event.text)
        self._console.file.flush()

    def _reset(self, event: StreamReset) -> None:
        self._text.clear()
        self.quiet(f"· the answer begins anew: {event.reason}")

    def _doing(self, event: AgentStatus) -> None:
        if event.status == "retrying":
            self.quiet(f"· retrying: {event.detail}")
        elif event.status != "waiting_approval":
            self._show_status(f"{event.status.replace('_', ' ')} {event.detail}".strip())

    def _tool_began(self, event: ToolCallStarted) -> None:
        self._text.clear()
        self._arguments[event.run_id + event.call_id] = event.arguments
        self._show_status(f"running {event.tool} {narration.arguments_text(event.arguments)}")

    def _tool_ended(self, event: ToolCallCompleted) -> None:
        self._text.clear()
        self.quiet(narration.tool_line(event, self._arguments.pop(event.run_id + event.call_id, {})))

    def _plan(self, event: PlanProposed) -> None:
        # Shown when it begins to run: where a person is asked about it, the question shows it.
        self._plans[event.run_id] = event.plan
        self._steps |= {step["id"]: step["description"] for step in event.plan.get("steps", ())}

    def _asked(self, event: ApprovalRequested) -> None:
        if event.kind == "plan":
            self._plans.pop(event.run_id, None)

    def _decided(self, event: ApprovalResolved) -> None:
        if event.decided_by != WHO:
            self.quiet(narration.decision_line(event))

    def _step(self, event: PlanStepChanged) -> None:
        plan = self._plans.pop(event.run_id, None)
        for number, line in enumerate(narration.plan_lines(plan) if plan else ()):
            self.quiet(line, margin=MARGIN * 2 if number else MARGIN)
        self.quiet(narration.step_line(event, self._steps))

    def _attempt(self, event: ModelAttempt) -> None:
        if event.outcome == "ok":
            self._model = event.model

    def _completed(self, event: TaskCompleted) -> None:
        self._milliseconds = event.duration_ms

    def _show_status(self, text: str) -> None:
        if not self._console.is_terminal or self._console.is_dumb_terminal or self._open:
            return
        self._erase_status()
        self._console.out(
            f"{MARGIN}{on_one_line(text, self._console.width - 6)} …", end="", style="dim", highlight=False
        )
        self._console.file.flush()
        self._status = True

    def _erase_status(self) -> None:
        if self._status:
            self._console.file.write(ERASE_LINE)
            self._status = False

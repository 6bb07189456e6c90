"""Approval prompt of the terminal: an approval gate that shows the request and reads the decision from stdin."""

import asyncio
import json
import textwrap
from collections.abc import Callable, Iterable
from datetime import datetime
from typing import Protocol, TypeAlias

from sophon.approvals import ApprovalRequest, Decision
from sophon.clock import Clock
from sophon_hosting.cli.answers import HOW, HOW_EDITABLE, AskAgain, AskArguments, answer_of, edited
from sophon_hosting.cli.lines import Lines
from sophon_hosting.cli.terminal import WHO
from sophon_hosting.cli.visible import visible

BAR = "  │ "
SHORT_ID = 8
PIECE = 74
"""Maximum characters of a preview on one line, so that a terminal of 80 columns does not wrap it."""


class Desk(Protocol):
    """Output for prompts: the terminal, or standard error when standard output carries JSON."""

    def lines(self, lines: Iterable[str], /) -> None:
        """Write whole lines."""
        ...

    def ask(self, text: str, /) -> None:
        """Write the prompt text and leave the cursor behind it."""
        ...

    def answered(self, text: str, /, *, echoed: bool) -> None:
        """End the prompt line; write the answer behind the prompt unless the terminal has echoed it."""
        ...


Wrong: TypeAlias = Callable[[ApprovalRequest, Decision], str]
"""Returns the reason why a decision is invalid, or an empty string."""


def nothing_wrong(request: ApprovalRequest, decision: Decision) -> str:
    """Accept every decision; the caller checks it."""
    return ""


class TerminalGate:
    """Approval gate that prompts on the terminal, one request at a time, until a line is a valid answer.

    The end of the input rejects. There is no timeout here: the chain cancels a request that expires.
    """

    def __init__(self, lines: Lines, desk: Desk, clock: Clock, wrong: Wrong = nothing_wrong) -> None:
        self._stdin, self._output, self._clock, self._check = lines, desk, clock, wrong
        self._lock = asyncio.Lock()

    async def request(self, request: ApprovalRequest, /) -> Decision:
        """Show the request and wait for the decision."""
        async with self._lock:
            self._output.lines(question(request, self._clock.now()))
            return await self._read_decision(request)

    async def _read_decision(self, request: ApprovalRequest) -> Decision:
        how = HOW_EDITABLE if request.editable else HOW
        reading_arguments = False
        while True:
            self._output.ask("  new arguments, as JSON: " if reading_arguments else f"  {how}: ")
            line = await self._stdin.next()
            # A terminal echoes what is typed, a pipe does not.
            self._output.answered(line or "", echoed=self._stdin.interactive and line is not None)
            if line is None:
                return Decision.reject("the input ended without an answer", decided_by=WHO)
            answer = edited(line, by=WHO) if reading_arguments else answer_of(line, editable=request.editable, by=WHO)
            reading_arguments = isinstance(answer, AskArguments)
            if isinstance(answer, Decision):
                problem = self._check(request, answer)
                if not problem:
                    return answer
                answer = AskAgain(problem)
            self._output.lines([arguments_line(request)] if isinstance(answer, AskArguments) else [f"  {answer.why}"])


def question(request: ApprovalRequest, now: datetime) -> list[str]:
    """Return the lines of an approval prompt: risk, id and remaining time, then the preview.

    Every line of the preview begins with a bar, so that no argument can imitate a line of the program.
    """
    head = f"  Approval needed · {request.risk.label} risk · {short(request.id)}"
    if request.expires_at is not None:
        head += f" · {time_left((request.expires_at - now).total_seconds())} left"
    return [head, *(f"{BAR}{piece}" for line in visible(request.preview).split("\n") for piece in _wrap_line(line))]


def arguments_line(request: ApprovalRequest) -> str:
    """Return one line with the current arguments as JSON."""
    return f"  now: {visible(json.dumps(dict(request.arguments), ensure_ascii=False, default=str))}"


def short(approval_id: str) -> str:
    """Return the beginning of an approval id, long enough to distinguish requests."""
    return approval_id[: len("apr_") + SHORT_ID]


def time_left(seconds: float) -> str:
    """Format a remaining time: `4 min 59 s`, `12 s`; never below zero."""
    minutes, rest = divmod(max(round(seconds), 0), 60)
    return f"{minutes} min {rest} s" if minutes else f"{rest} s"


def _wrap_line(line: str) -> list[str]:
    """Wrap a line, so that every terminal line stands behind the bar."""
    indent = line[: len(line) - len(line.lstrip())] + "  "
    return textwrap.wrap(
        line,
        PIECE,
        subsequent_indent=indent if len(indent) < PIECE else "",
        expand_tabs=False,
        replace_whitespace=False,
        drop_whitespace=False,
    ) or [""]

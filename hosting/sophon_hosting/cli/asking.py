"""The approval gate of a terminal: shows the question, and takes the next line of input for the answer."""

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
"""Characters of a preview on one line."""


class Desk(Protocol):
    """Where a question is put: the screen, or standard error where standard output belongs to a program."""

    def lines(self, lines: Iterable[str], /) -> None:
        """Show whole lines."""
        ...

    def ask(self, text: str, /) -> None:
        """Show the text in front of the answer."""
        ...

    def answered(self, text: str, /, *, echoed: bool) -> None:
        """The question has this answer; show it behind the question unless that was done."""
        ...


Wrong: TypeAlias = Callable[[ApprovalRequest, Decision], str]
"""Why a decision cannot be taken as it is; empty where it can."""


def nothing_wrong(request: ApprovalRequest, decision: Decision) -> str:
    """Whoever asks checks it."""
    return ""


class TerminalGate:
    """Asks whoever sits at standard input, one question at a time, until a line is an answer.

    The end of the input rejects. How long it may take is the chain's business, which cancels the question in the end.
    """

    def __init__(self, lines: Lines, desk: Desk, clock: Clock, wrong: Wrong = nothing_wrong) -> None:
        self._lines, self._desk, self._clock, self._wrong = lines, desk, clock, wrong
        self._turn = asyncio.Lock()

    async def request(self, request: ApprovalRequest, /) -> Decision:
        """Ask and wait."""
        async with self._turn:
            self._desk.lines(question(request, self._clock.now()))
            return await self._answer(request)

    async def _answer(self, request: ApprovalRequest) -> Decision:
        how = HOW_EDITABLE if request.editable else HOW
        asks_arguments = False
        while True:
            self._desk.ask("  new arguments, as JSON: " if asks_arguments else f"  {how}: ")
            line = await self._lines.next()
            # A terminal shows what is typed, a pipe does not.
            self._desk.answered(line or "", echoed=self._lines.interactive and line is not None)
            if line is None:
                return Decision.reject("the input ended without an answer", decided_by=WHO)
            said = edited(line, by=WHO) if asks_arguments else answer_of(line, editable=request.editable, by=WHO)
            asks_arguments = isinstance(said, AskArguments)
            if isinstance(said, Decision):
                why = self._wrong(request, said)
                if not why:
                    return said
                said = AskAgain(why)
            self._desk.lines([arguments_line(request)] if isinstance(said, AskArguments) else [f"  {said.why}"])


def question(request: ApprovalRequest, now: datetime) -> list[str]:
    """What is asked, in the host's own words, behind a bar that no argument can imitate."""
    head = f"  Approval needed · {request.risk.label} risk · {short(request.id)}"
    if request.expires_at is not None:
        head += f" · {time_left((request.expires_at - now).total_seconds())} left"
    return [head, *(f"{BAR}{piece}" for line in visible(request.preview).split("\n") for piece in _pieces(line))]


def arguments_line(request: ApprovalRequest) -> str:
    """The arguments as they are, to be changed."""
    return f"  now: {visible(json.dumps(dict(request.arguments), ensure_ascii=False, default=str))}"


def short(approval_id: str) -> str:
    """The beginning of an id, enough to tell questions apart."""
    return approval_id[: len("apr_") + SHORT_ID]


def time_left(seconds: float) -> str:
    """`4 min 59 s`, `12 s`; never below zero."""
    minutes, rest = divmod(max(round(seconds), 0), 60)
    return f"{minutes} min {rest} s" if minutes else f"{rest} s"


def _pieces(line: str) -> list[str]:
    """Pieces that a terminal does not break, so that each of them stands behind the bar."""
    indent = line[: len(line) - len(line.lstrip())] + "  "
    return textwrap.wrap(
        line,
        PIECE,
        subsequent_indent=indent if len(indent) < PIECE else "",
        expand_tabs=False,
        replace_whitespace=False,
        drop_whitespace=False,
    ) or [""]

"""Approval prompt of the terminal: an approval gate that shows the request and reads the decision from stdin."""

import asyncio
import json
from collections.abc import Callable
from dataclasses import replace
from datetime import datetime
from typing import TypeAlias

from rich.cells import cell_len

from sophon.approvals import ApprovalRequest, Decision
from sophon.clock import Clock
from sophon.invisible_characters import escape_invisible
from sophon.principals import LOCAL_USER
from sophon_hosting.cli.console.stdin_reader import StdinReader
from sophon_hosting.programs.chat.approval_answers import (
    ANSWER_HINT,
    DECIDED_BY_TERMINAL,
    EDITABLE_ANSWER_HINT,
    QUESTION_HINT,
    REJECTION_HINT,
    EditedArgumentsRequired,
    InvalidAnswer,
    parse_approval_answer,
    parse_edited_arguments,
    parse_question_answer,
)
from sophon_hosting.programs.chat.prompt_output import PromptOutput
from sophon_hosting.rendering.control_characters import escape_control_characters

PREVIEW_BAR = "  │ "
SHORT_ID_CHARACTERS = 8
PREVIEW_WIDTH = 74
"""Maximum columns of a preview on one line, so that a terminal of 80 columns does not wrap it."""

TAB_COLUMNS = 8


NEEDS_OPERATOR_REASON = "it needs another operator (Approval.FourEyes), and the terminal chat has one user only"
"""Reason of the rejection of a call that the person at the terminal may not approve."""

DecisionCheck: TypeAlias = Callable[[ApprovalRequest, Decision], str]
"""Returns the reason why a decision is invalid, or an empty string."""


def accept_decision(request: ApprovalRequest, decision: Decision) -> str:
    """Accept every decision; the caller checks it."""
    return ""


class TerminalApprovalGate:
    """Approval gate that prompts on the terminal, one request at a time, until a line is a valid answer.

    The end of the input rejects. There is no timeout here: the chain cancels a request that expires.
    """

    def __init__(
        self, stdin: StdinReader, output: PromptOutput, clock: Clock, check_decision: DecisionCheck = accept_decision
    ) -> None:
        self._stdin, self._output, self._clock, self._check = stdin, output, clock, check_decision
        self._lock = asyncio.Lock()
        self.ran_out_of_input = False
        """Whether a request was rejected because the input had ended, which nobody at a terminal did."""

    async def request(self, request: ApprovalRequest, /) -> Decision:
        """Show the request and wait for the decision; nobody else is here who could decide for an operator."""
        if request.needs_operator:
            return Decision.reject(NEEDS_OPERATOR_REASON, decided_by=DECIDED_BY_TERMINAL)
        async with self._lock:
            self._output.write_lines(approval_question_lines(request, self._clock.now()))
            return await self._read_decision(request)

    async def request_rejection(self, request: ApprovalRequest) -> Decision:
        """Show a request that only an operator elsewhere may approve, and wait for a rejection."""
        async with self._lock:
            self._output.write_lines(approval_question_lines(request, self._clock.now()))
            return await self._read_decision(request, may_approve=False)

    async def _read_decision(self, request: ApprovalRequest, *, may_approve: bool = True) -> Decision:
        how = EDITABLE_ANSWER_HINT if request.editable else ANSWER_HINT
        how = QUESTION_HINT if request.kind == "question" else how if may_approve else REJECTION_HINT
        reading_arguments = False
        while True:
            self._output.write_prompt("  new arguments, as JSON: " if reading_arguments else f"  {how}: ")
            line = await self._stdin.read_line_async()
            # A terminal echoes what is typed, a pipe does not.
            self._output.finish_prompt(line or "", echoed=self._stdin.is_interactive and line is not None)
            if line is None:
                self.ran_out_of_input = self.ran_out_of_input or not self._stdin.is_interactive
                return Decision.reject("the input ended without an answer", decided_by=DECIDED_BY_TERMINAL)
            answer = (
                parse_question_answer(line, request.arguments, decided_by=DECIDED_BY_TERMINAL)
                if request.kind == "question"
                else parse_edited_arguments(line, decided_by=DECIDED_BY_TERMINAL)
                if reading_arguments
                else parse_approval_answer(
                    line,
                    editable=request.editable,
                    grantable=bool(request.grant_offer),
                    decided_by=DECIDED_BY_TERMINAL,
                )
            )
            reading_arguments = isinstance(answer, EditedArgumentsRequired)
            if isinstance(answer, Decision):
                problem = self._check(request, answer)
                if not may_approve and answer.verdict != "reject":
                    problem = f"only an operator may approve it; {REJECTION_HINT}"
                if not problem:
                    # A grant outlives this terminal, which is no user: it is the local user's.
                    return answer if answer.grant is None else replace(answer, decided_by=LOCAL_USER)
                answer = InvalidAnswer(problem)
            self._output.write_lines(
                [current_arguments_line(request)]
                if isinstance(answer, EditedArgumentsRequired)
                else [f"  {answer.reason}"]
            )


def approval_question_lines(request: ApprovalRequest, now: datetime) -> list[str]:
    """Return the lines of an approval prompt: risk, id and remaining time, then the complete preview.

    Every line of the preview begins with a bar, so that no argument can imitate a line of the program.
    """
    what = "Question" if request.kind == "question" else f"Approval needed · {request.risk.label} risk"
    head = f"  {what} · {short_approval_id(request.id)}"
    if request.expires_at is not None:
        head += f" · {format_time_left((request.expires_at - now).total_seconds())} left"
    return [
        head,
        *(
            f"{PREVIEW_BAR}{piece}"
            for line in escape_control_characters(request.whole_preview).split("\n")
            for piece in _wrap_line(line)
        ),
        *_grant_offer_lines(request),
    ]


def _grant_offer_lines(request: ApprovalRequest) -> list[str]:
    """Return what an approval in advance would cover; every line of it begins with a bar too."""
    if not request.grant_offer or request.needs_operator:
        return []
    offer = escape_control_characters(f"`approve session` or `approve always` approves {request.grant_offer}")
    return [f"{PREVIEW_BAR}{piece}" for line in offer.split("\n") for piece in _wrap_line(line)]


def current_arguments_line(request: ApprovalRequest) -> str:
    """Return one line with the current arguments as JSON, in which an invisible character is a JSON escape.

    So a person who copies and changes it keeps every other character.
    """
    text = json.dumps(dict(request.arguments), ensure_ascii=False, default=str)
    return "  now: " + "".join(
        char if escape_invisible(char) in (char, f"⟦U+{ord('⟦'):04X}⟧") else json.dumps(char)[1:-1] for char in text
    )


def short_approval_id(approval_id: str) -> str:
    """Return the beginning of an approval id, long enough to distinguish requests."""
    return approval_id[: len("apr_") + SHORT_ID_CHARACTERS]


def format_time_left(seconds: float) -> str:
    """Format a remaining time: `4 min 59 s`, `12 s`; never below zero."""
    minutes, rest = divmod(max(round(seconds), 0), 60)
    return f"{minutes} min {rest} s" if minutes else f"{rest} s"


def _wrap_line(line: str) -> list[str]:
    """Wrap a line by terminal columns, so that every terminal line stands behind the bar."""
    line = line.expandtabs(TAB_COLUMNS)
    blanks = cell_len(line) - cell_len(line.lstrip()) + 2
    indent = " " * blanks if blanks < PREVIEW_WIDTH // 2 else ""
    pieces: list[str] = []
    while cell_len(line) > PREVIEW_WIDTH:
        end = _find_break(line, len(indent) if pieces else 0)
        pieces.append(line[:end])
        line = indent + line[end:]
    return [*pieces, line]


def _find_break(line: str, start: int) -> int:
    """Return where to break a line: after the last word that fits, else after the last character."""
    columns, end = 0, 0
    for end, char in enumerate(line):  # noqa: B007 - the character that does not fit
        columns += cell_len(char)
        if columns > PREVIEW_WIDTH:
            break
    word = line.rfind(" ", start, end) + 1
    # A break after a blank of the indentation would make no progress.
    return word if line[start:word].strip() else max(end, start + 1)

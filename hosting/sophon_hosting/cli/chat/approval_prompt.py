"""Approval prompt of the terminal: an approval gate that shows the request and reads the decision from stdin."""

import asyncio
import json
import textwrap
from collections.abc import Callable
from datetime import datetime
from typing import TypeAlias

from sophon.approvals import ApprovalRequest, Decision
from sophon.clock import Clock
from sophon_hosting.cli.chat.approval_answers import (
    ANSWER_HINT,
    DECIDED_BY_TERMINAL,
    EDITABLE_ANSWER_HINT,
    EditedArgumentsRequired,
    InvalidAnswer,
    parse_approval_answer,
    parse_edited_arguments,
)
from sophon_hosting.cli.chat.prompt_output import PromptOutput
from sophon_hosting.cli.console.stdin_reader import StdinReader
from sophon_hosting.rendering.control_characters import escape_control_characters

PREVIEW_BAR = "  │ "
SHORT_ID_CHARACTERS = 8
PREVIEW_WIDTH = 74
"""Maximum characters of a preview on one line, so that a terminal of 80 columns does not wrap it."""


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

    async def request(self, request: ApprovalRequest, /) -> Decision:
        """Show the request and wait for the decision."""
        async with self._lock:
            self._output.write_lines(approval_question_lines(request, self._clock.now()))
            return await self._read_decision(request)

    async def _read_decision(self, request: ApprovalRequest) -> Decision:
        how = EDITABLE_ANSWER_HINT if request.editable else ANSWER_HINT
        reading_arguments = False
        while True:
            self._output.write_prompt("  new arguments, as JSON: " if reading_arguments else f"  {how}: ")
            line = await self._stdin.read_line_async()
            # A terminal echoes what is typed, a pipe does not.
            self._output.finish_prompt(line or "", echoed=self._stdin.is_interactive and line is not None)
            if line is None:
                return Decision.reject("the input ended without an answer", decided_by=DECIDED_BY_TERMINAL)
            answer = (
                parse_edited_arguments(line, decided_by=DECIDED_BY_TERMINAL)
                if reading_arguments
                else parse_approval_answer(line, editable=request.editable, decided_by=DECIDED_BY_TERMINAL)
            )
            reading_arguments = isinstance(answer, EditedArgumentsRequired)
            if isinstance(answer, Decision):
                problem = self._check(request, answer)
                if not problem:
                    return answer
                answer = InvalidAnswer(problem)
            self._output.write_lines(
                [current_arguments_line(request)]
                if isinstance(answer, EditedArgumentsRequired)
                else [f"  {answer.reason}"]
            )


def approval_question_lines(request: ApprovalRequest, now: datetime) -> list[str]:
    """Return the lines of an approval prompt: risk, id and remaining time, then the preview.

    Every line of the preview begins with a bar, so that no argument can imitate a line of the program.
    """
    head = f"  Approval needed · {request.risk.label} risk · {short_approval_id(request.id)}"
    if request.expires_at is not None:
        head += f" · {format_time_left((request.expires_at - now).total_seconds())} left"
    return [
        head,
        *(
            f"{PREVIEW_BAR}{piece}"
            for line in escape_control_characters(request.preview).split("\n")
            for piece in _wrap_line(line)
        ),
    ]


def current_arguments_line(request: ApprovalRequest) -> str:
    """Return one line with the current arguments as JSON."""
    return f"  now: {escape_control_characters(json.dumps(dict(request.arguments), ensure_ascii=False, default=str))}"


def short_approval_id(approval_id: str) -> str:
    """Return the beginning of an approval id, long enough to distinguish requests."""
    return approval_id[: len("apr_") + SHORT_ID_CHARACTERS]


def format_time_left(seconds: float) -> str:
    """Format a remaining time: `4 min 59 s`, `12 s`; never below zero."""
    minutes, rest = divmod(max(round(seconds), 0), 60)
    return f"{minutes} min {rest} s" if minutes else f"{rest} s"


def _wrap_line(line: str) -> list[str]:
    """Wrap a line, so that every terminal line stands behind the bar."""
    indent = line[: len(line) - len(line.lstrip())] + "  "
    return textwrap.wrap(
        line,
        PREVIEW_WIDTH,
        subsequent_indent=indent if len(indent) < PREVIEW_WIDTH else "",
        expand_tabs=False,
        replace_whitespace=False,
        drop_whitespace=False,
    ) or [""]

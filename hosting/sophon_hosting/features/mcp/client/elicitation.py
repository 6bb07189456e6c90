"""Elicitation: a server asks the person of the turn whose call it runs; one question for each field of the form.

The call keeps its connection meanwhile (`sophon.turn.in_call_questions`). Nothing is ever answered by itself: what
cannot be asked is declined, what nobody answers is cancelled.
"""

import asyncio
import logging
from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import Any, Final, Literal, TypeAlias

from sophon._python.lazy_dataclass import dataclass
from sophon.approvals import ApprovalRequest, Decision
from sophon.context import Context
from sophon.invisible_characters import escape_invisible, render_for_person
from sophon.messages import ToolCall
from sophon.risk import Risk
from sophon.tools.running_call import RunningCall
from sophon.turn.in_call_questions import CANCELLED, NOBODY_ANSWERED, hold_question
from sophon_hosting.features.mcp.client.elicitation_form import (
    FieldValue,
    FormField,
    InvalidForm,
    find_secret_request,
    parse_value,
    read_form,
)

log = logging.getLogger("sophon")

MAX_QUESTIONS: Final = 30
"""Questions of one call, those that were answered wrongly included."""

MAX_ATTEMPTS: Final = 3
"""Answers to one field, before the form is cancelled."""

MAX_MESSAGE: Final = 2000
CONFIRM: Final = "accept"
ElicitationAction: TypeAlias = Literal["accept", "decline", "cancel"]


@dataclass(frozen=True, slots=True)
class ElicitationAnswer:
    """What the server is told; `content` is None unless the form was accepted."""

    action: ElicitationAction
    content: Mapping[str, FieldValue] | None = None


class _Ended(Exception):
    """The person does not answer the form, or not with valid values."""

    def __init__(self, action: ElicitationAction) -> None:
        self.action: ElicitationAction = action


class ElicitingCall:
    """A running call of one server, and what it may still ask: `seconds` of waiting and `MAX_QUESTIONS` in all."""

    def __init__(self, server: str, tool: str, ctx: Context, running: RunningCall, seconds: float) -> None:
        self.ctx = ctx
        self._server, self._tool, self._running, self._seconds = server, tool, running, seconds
        self._asked = 0
        self._lock = asyncio.Lock()

    @property
    def questions(self) -> int:
        """Number of questions so far."""
        return min(self._asked, MAX_QUESTIONS)

    async def ask_form(self, message: str, schema: Mapping[str, Any]) -> ElicitationAnswer:
        """Ask the person for the values of a form; declined if it is invalid or asks for a secret."""
        try:
            fields = read_form(schema)
        except InvalidForm as error:
            log.warning("a question of the MCP server %s was declined: %s", self._server, error)
            return ElicitationAnswer("decline")
        if find_secret_request(message, fields):
            log.warning("a question of the MCP server %s was declined: it asks for a secret", self._server)
            return ElicitationAnswer("decline")
        async with self._lock:  # a person reads one question at a time
            try:
                return ElicitationAnswer("accept", await self._ask_fields(message, fields))
            except _Ended as ended:
                return ElicitationAnswer(ended.action)

    async def _ask_fields(self, message: str, fields: Sequence[FormField]) -> dict[str, FieldValue]:
        if not fields:
            await self._confirm(message)
        found = [(field.name, await self._ask_field(message, field)) for field in fields]
        return {name: value for name, value in found if value is not None}

    async def _confirm(self, message: str) -> None:
        answer = await self._ask(message, [CONFIRM, "decline"])
        if answer.strip().casefold() not in {CONFIRM, "yes", "y"}:
            raise _Ended("decline")

    async def _ask_field(self, message: str, field: FormField) -> FieldValue | None:
        problem = ""
        for _ in range(MAX_ATTEMPTS):
            text = "\n".join(part for part in (problem, message, describe_field(field)) if part)
            answer = await self._ask(text, field.choices)
            try:
                return parse_value(field, answer)
            except ValueError as error:
                problem = f"[The answer was not valid: {error}.]"
        raise _Ended("cancel")

    async def _ask(self, text: str, choices: list[str]) -> str:
        """Ask one question and return the answer. Raises _Ended if there is none."""
        self._asked += 1
        if self._asked > MAX_QUESTIONS or self._seconds <= 0:
            raise _Ended("cancel")
        clock = self.ctx.services.clock
        request = self._build_request(text, choices)
        started = clock.monotonic()
        decision = await hold_question(self.ctx, request, self._running, self._seconds)
        self._seconds -= clock.monotonic() - started
        if decision.verdict == "answer":
            return decision.reason
        raise _Ended(choose_action(decision))

    def _build_request(self, text: str, choices: list[str]) -> ApprovalRequest:
        arguments = {"question": text, "choices": choices, "server": self._server, "number": self._asked}
        return ApprovalRequest.from_call(
            ToolCall(self._running.call_id, self._tool, arguments),
            self.ctx.run_id,
            Risk.NONE,
            kind="question",
            preview=render_elicitation(self._server, self._tool, text, choices),
            expires_at=self.ctx.services.clock.now() + timedelta(seconds=self._seconds),
            session_id=self.ctx.session_id,
        )


def choose_action(decision: Decision) -> ElicitationAction:
    """Return what a server is told about a question without an answer: `cancel` if nobody decided. Pure."""
    is_open = not decision.decided_by and decision.reason in (NOBODY_ANSWERED, CANCELLED)
    return "cancel" if is_open or decision.decided_by == "expiry" else "decline"


def describe_field(field: FormField) -> str:
    """Return a field as text for a person: title, description, and the limits of its value. Pure."""
    limits = field.limits or {}
    about = [str(limits["format"])] if field.kind == "string" and limits.get("format") else [field.kind]
    about = ["values with commas between them"] if field.kind == "choices" else about
    about = [] if field.kind in ("boolean", "choice") else about
    about += [f"{name} {limits[name]}" for name in ("minimum", "maximum", "minLength", "maxLength") if name in limits]
    about += [f"default {limits['default']}"] if field.default is not None else []
    about += [] if field.is_required else ["may be left out"]
    lines = [f"{field.title}:" if not about else f"{field.title} ({', '.join(about)}):"]
    lines += [field.description] if field.description else []
    lines += [f"- {label}" for label in field.labels] if field.kind == "choices" else []
    return "\n".join(lines)


def render_elicitation(server: str, tool: str, text: str, choices: list[str]) -> str:
    """Return the question for a person. Lines of the server are indented: none is taken for one of the host. Pure."""
    lines = [f"The MCP server {server} asks, while it runs {tool}:"]
    lines.append(f"  {render_for_person(text, MAX_MESSAGE, indent='  ')}")
    for number, choice in enumerate(choices, start=1):
        lines.append(f"  {number}. {escape_invisible(' '.join(choice.split()))[:200]}")
    lines.append(f"Your answer is sent to {server}. Give it no passwords and no keys.")
    return "\n".join(lines)

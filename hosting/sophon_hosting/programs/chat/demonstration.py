"""Demonstration for `sophon chat` without input: three turns through the whole chain, offline and in memory."""

import asyncio

from sophon._python.lazy_dataclass import dataclass
from sophon.approvals import ApprovalRequest, Decision
from sophon.clock import SystemClock
from sophon.services import Services
from sophon_hosting.cli.error_reporting import write_error
from sophon_hosting.programs.chat.approval_answers import ANSWER_HINT, DECIDED_BY_TERMINAL, EDITABLE_ANSWER_HINT
from sophon_hosting.programs.chat.approval_prompt import approval_question_lines
from sophon_hosting.programs.chat.chat_session import ChatFrontend, TurnChoices
from sophon_hosting.programs.chat.local_chat import LocalChat
from sophon_hosting.programs.chat.rendering.terminal_renderer import TerminalRenderer


@dataclass(frozen=True, slots=True)
class DemonstrationTurn:
    """One turn of the demonstration: the title shown above it, and the message."""

    title: str
    message: str


DEMONSTRATION_TURNS = (
    DemonstrationTurn("Two tools in parallel", "What is 17 * 23, and what day is it today?"),
    DemonstrationTurn(
        "A plan, approved because one of its steps writes to memory",
        "First write down that my cat is called Ada, then look up what you know about cats, and finally summarise "
        "both in three steps",
    ),
    DemonstrationTurn("A command, rejected", "Run the command: uname -a"),
)

INTRODUCTION = (
    "Standard input was empty, so this is a demonstration: three turns through the",
    "whole chain. The offline model answers, all data stays in memory, and the",
    "demonstration answers the approvals.",
)
CONCLUSION = (
    "End of the demonstration. To chat yourself: `make chat` in a terminal, or",
    '`.venv/bin/sophon chat "..."`. With OPENAI_API_KEY or ANTHROPIC_API_KEY, or',
    "with Ollama running, a real model answers.",
)
REJECTION_REASON = "this is only a demonstration"


class DemonstrationApprovalGate:
    """Approval gate that approves plans, rejects every other request, and shows both."""

    def __init__(self, view: TerminalRenderer) -> None:
        self._view = view
        self._clock = SystemClock()

    async def request(self, request: ApprovalRequest, /) -> Decision:
        """Show the request and the decision."""
        decision = (
            Decision.approve(decided_by=DECIDED_BY_TERMINAL)
            if request.kind == "plan"
            else Decision.reject(REJECTION_REASON, decided_by=DECIDED_BY_TERMINAL)
        )
        self._view.write_lines(approval_question_lines(request, self._clock.now()))
        how = EDITABLE_ANSWER_HINT if request.editable else ANSWER_HINT
        self._view.write_lines([f"  {how}: {decision.verdict} {decision.reason}".rstrip()])
        return decision


def run_demonstration(renderer: TerminalRenderer) -> int:
    """Run the demonstration; return 0 if every turn succeeded. Reads no settings, environment or input."""
    services = Services(events=renderer, approvals=DemonstrationApprovalGate(renderer))
    renderer.write_lines(INTRODUCTION)
    codes: list[int] = []
    with asyncio.Runner() as runner:
        runner.run(services.open())
        for number, scene in enumerate(DEMONSTRATION_TURNS, start=1):
            conversation = LocalChat(
                runner, services, TurnChoices(f"demonstration-{number}"), ChatFrontend(renderer, write_error)
            )
            renderer.write_lines(["", f"{number}. {scene.title}", f"> {scene.message}"], style="bold")
            codes.append(conversation.run_turn(scene.message))
        runner.run(services.close())
    renderer.write_lines(["", *CONCLUSION])
    return max(codes)

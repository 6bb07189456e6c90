"""Demonstration for `sophon chat` without input: three turns through the whole chain, offline and in memory."""

import asyncio
from dataclasses import dataclass

from sophon.approvals import ApprovalRequest, Decision
from sophon.clock import SystemClock
from sophon.services import Services
from sophon_hosting.cli.answers import HOW, HOW_EDITABLE
from sophon_hosting.cli.asking import question
from sophon_hosting.cli.conversation import Choices, Conversation, Front
from sophon_hosting.cli.errors import tell
from sophon_hosting.cli.terminal import WHO, TerminalView


@dataclass(frozen=True, slots=True)
class Scene:
    """One turn of the demonstration: the title shown above it, and the message."""

    shows: str
    says: str


SCENES = (
    Scene("Two tools in parallel", "What is 17 * 23, and what day is it today?"),
    Scene(
        "A plan, approved because one of its steps writes to memory",
        "First write down that my cat is called Ada, then look up what you know about cats, and finally summarise "
        "both in three steps",
    ),
    Scene("A command, rejected", "Run the command: uname -a"),
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
WHY = "this is only a demonstration"


class DemonstrationGate:
    """Approval gate that approves plans, rejects every other request, and shows both."""

    def __init__(self, view: TerminalView) -> None:
        self._view = view
        self._clock = SystemClock()

    async def request(self, request: ApprovalRequest, /) -> Decision:
        """Show the request and the decision."""
        decision = Decision.approve(decided_by=WHO) if request.kind == "plan" else Decision.reject(WHY, decided_by=WHO)
        self._view.lines(question(request, self._clock.now()))
        how = HOW_EDITABLE if request.editable else HOW
        self._view.lines([f"  {how}: {decision.verdict} {decision.reason}".rstrip()])
        return decision


def demonstrate(view: TerminalView) -> int:
    """Run the demonstration; return 0 if every turn succeeded. Reads no settings, environment or input."""
    services = Services(events=view, approvals=DemonstrationGate(view))
    view.lines(INTRODUCTION)
    codes: list[int] = []
    with asyncio.Runner() as runner:
        runner.run(services.open())
        for number, scene in enumerate(SCENES, start=1):
            conversation = Conversation(runner, services, Choices(f"demonstration-{number}"), Front(view, tell))
            view.lines(["", f"{number}. {scene.shows}", f"> {scene.says}"], style="bold")
            codes.append(conversation.say(scene.says))
        runner.run(services.close())
    view.lines(["", *CONCLUSION])
    return max(codes)

"""What `make run` shows when nobody says anything: three turns through the whole chain, in memory and offline."""

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
    """One turn: what is to be seen in it, and what is said."""

    shows: str
    says: str


SCENES = (
    Scene("Two tools at once", "What is 17 * 23, and what day is it today?"),
    Scene(
        "A plan, which is approved because a step of it writes to memory",
        "First write down that my cat is called Ada, then look up what you know about cats, and finally summarise "
        "both in three steps",
    ),
    Scene("A command, which is refused", "Run the command: uname -a"),
)

INTRODUCTION = (
    "There was nothing on standard input, so this is a demonstration: three turns",
    "through the whole chain. The offline model answers, everything is kept in memory",
    "only, and the approvals are answered by the demonstration.",
)
CONCLUSION = (
    "That was the demonstration. Talk to it yourself: `make run` in a terminal, or",
    '`.venv/bin/sophon chat "..."`. With OPENAI_API_KEY or ANTHROPIC_API_KEY, or',
    "with Ollama running, a real model answers.",
)
WHY = "this is only a demonstration"


class DemonstrationGate:
    """Plays the person: approves plans, refuses everything else, and says so."""

    def __init__(self, view: TerminalView) -> None:
        self._view = view
        self._clock = SystemClock()

    async def request(self, request: ApprovalRequest, /) -> Decision:
        """Show the question, and the answer."""
        decision = Decision.approve(decided_by=WHO) if request.kind == "plan" else Decision.reject(WHY, decided_by=WHO)
        self._view.lines(question(request, self._clock.now()))
        how = HOW_EDITABLE if request.editable else HOW
        self._view.lines([f"  {how}: {decision.verdict} {decision.reason}".rstrip()])
        return decision


def demonstrate(view: TerminalView) -> int:
    """Play the scenes; 0 if each of them went well. Reads no settings, no environment and no input."""
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

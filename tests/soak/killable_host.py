"""A host for a test to kill: accepts the messages of some sessions, answers them, decides its own approvals.

Arguments: the folder, the first message to send of each session, how many each has. Prints a line for whatever has
happened, and ends when every message of every session has its outcome.
"""

import asyncio
import json
import sys
from pathlib import Path

from sophon import Decision, ModelRequest, ModelResponse, Risk, Services, ToolCall, tool
from sophon.errors import QueueFull
from sophon.events import Event
from sophon.stores.factory import store_from_url
from sophon.testing import FunctionModel
from sophon_hosting.host import Host, RunRequest
from sophon_hosting.runs.approvals import DecisionRefused
from sophon_middlewares.chains import twelve

folder = Path(sys.argv[1])
MESSAGES = int(sys.argv[3])


def tell(*words: str) -> None:
    print(*words, flush=True)


async def keep(text: str) -> None:
    """The effect, told, and then a while in which a kill leaves it without a result."""
    with (folder / "kept.txt").open("a") as file:
        file.write(f"{text}\n")
    tell("kept", text)
    await asyncio.sleep(0.02)


@tool()
async def note(text: str) -> str:
    """Keep a note."""
    await keep(text)
    return text


@tool(risk=Risk.HIGH)
async def pay(text: str) -> str:
    """Keep a note, once a person allows it."""
    await keep(text)
    return text


async def answer(request: ModelRequest) -> ModelResponse:
    """Every message but the first of three uses a tool, every third one that asks."""
    last = request.messages[-1]
    number = int(last.content.rpartition("/")[2]) if last.role == "user" else 0
    if number % 3:
        # As a real model does, it gives a new id whenever it is asked.
        call = ToolCall(f"call_{SERVICES.clock.new_id()}", "note" if number % 3 == 1 else "pay", {"text": last.content})
        return ModelResponse("", [call])
    return ModelResponse(f"Done: {last.content}")


class Teller:
    """Prints the names of events."""

    def emit(self, event: Event) -> None:
        tell("event", type(event).__name__)


SERVICES = Services(
    models=FunctionModel(answer),
    tools=[note, pay],
    store=store_from_url("sqlite:///host.db", folder=folder),
    events=Teller(),
    settings={"Guards": {"RateLimit": {"Enabled": False}}},  # one person sends hundreds of messages a minute here
)


async def send(host: Host, session: str, first: int) -> None:
    for number in range(first, MESSAGES):
        message = RunRequest(
            f"{session}/{number}", session, "ada", "web", external_id=f"{session}/{number}", origin={"chat": session}
        )
        while True:
            try:
                await host.accept(message)
                break
            except QueueFull:
                await asyncio.sleep(0.01)
        tell("accepted", session, str(number))


async def decide(host: Host) -> None:
    for record in await host.services.store.approvals.list():
        try:
            await host.approvals.decide(record.request.id, Decision.approve(), "ada")
        except DecisionRefused as refused:
            tell("refused", refused.code)


async def main() -> None:
    firsts: dict[str, int] = json.loads(sys.argv[2])
    async with Host(SERVICES, twelve(SERVICES)) as host:
        tell("started")
        sending = asyncio.gather(*(send(host, session, first) for session, first in firsts.items()))
        while not sending.done() or await host.services.store.runs.list_unfinished():
            await decide(host)
            await asyncio.sleep(0.01)
        await sending


asyncio.run(main())

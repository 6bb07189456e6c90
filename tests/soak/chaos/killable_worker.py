"""One host of several, for the chaos run to kill: accepts messages of some sessions and runs those of all.

Its argument is a JSON object: `folder`, `store`, `backend`, `queue`, `lease_seconds`, `max_deliveries`,
`effect_seconds`, `first` (the first message to send of each of its sessions), `messages` (of each session), `poison`
(texts whose turn kills the process), `skew_seconds` (of its clock) and `without` (the guarantee that is taken out). It
approves whatever is asked, prints a line for whatever has happened, and runs until SIGTERM.
"""

import asyncio
import json
import logging
import os
import signal
import sys
from contextlib import suppress
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from sophon import Decision, ModelRequest, ModelResponse, Risk, Services, ToolCall, tool
from sophon.clock import SystemClock
from sophon.errors import SophonError, StoreUnavailable
from sophon.events import Event
from sophon.testing import FunctionModel
from sophon_hosting.host import Host, RunRequest
from sophon_hosting.observability.log_context import LogContextFilter
from sophon_hosting.queue.errors import QueueFull, QueueUnavailable
from sophon_hosting.queue.queue_factory import build_queue
from sophon_hosting.runs.approvals.approval_service import DecisionRefused
from sophon_hosting.store.factory import host_store_from_url
from sophon_middlewares.chains import twelve
from tests.soak.chaos.sabotage import take_out

RETRY_SECONDS = 0.05
ORDER: dict[str, Any] = json.loads(sys.argv[1])
EFFECT_SECONDS: float = ORDER["effect_seconds"]
"""How long a tool takes after its effect: a kill or a stop here leaves a call without a result."""

FOLDER = Path(ORDER["folder"])
POISON = frozenset[str](ORDER["poison"])


class SkewedClock(SystemClock):
    """The clock of a machine whose time of day is wrong."""

    def now(self) -> datetime:
        return super().now() + timedelta(seconds=ORDER["skew_seconds"])


def tell(*words: str) -> None:
    print(*words, flush=True)


async def have_effect(text: str) -> None:
    effects = os.open(FOLDER / "effects.txt", os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    os.write(effects, f"{text}\n".encode())
    os.close(effects)
    tell("effect", text)
    await asyncio.sleep(EFFECT_SECONDS)


@tool()
async def note(text: str) -> str:
    """Keep a note."""
    await have_effect(text)
    return text


@tool(risk=Risk.HIGH)
async def pay(text: str) -> str:
    """Keep a note, once a person allows it."""
    await have_effect(text)
    return text


async def answer(request: ModelRequest) -> ModelResponse:
    """Of three messages the second uses a tool, the third one that asks."""
    last = request.messages[-1]
    if last.content in POISON:
        tell("poisoned", last.content)
        os.kill(os.getpid(), signal.SIGKILL)
    number = int(last.content.rpartition("/")[2]) if last.role == "user" else 0
    if number % 3:
        call = ToolCall(f"call_{SERVICES.clock.new_id()}", "note" if number % 3 == 1 else "pay", {"text": last.content})
        return ModelResponse("", [call])
    return ModelResponse(f"Done: {last.content}")


class Teller:
    """Prints the names of events."""

    def emit(self, event: Event) -> None:
        tell("event", type(event).__name__)


take_out(ORDER["without"])
CLOCK = SkewedClock()
SERVICES = Services(
    models=FunctionModel(answer),
    tools=[note, pay],
    clock=CLOCK,
    store=host_store_from_url(ORDER["store"], folder=FOLDER, clock=CLOCK),
    events=Teller(),
    settings={
        "Guards": {"RateLimit": {"Enabled": False}},  # one person sends hundreds of messages a minute here
        "Approval": {"Timeout": "1.00:00:00"},
        "Queue": {
            "Backend": ORDER["backend"],
            "Url": ORDER["queue"],
            "Capacity": 300,
            "Lease": f"00:00:{ORDER['lease_seconds']:02}",
            "MaxDeliveries": ORDER["max_deliveries"],
        },
    },
)


async def send(host: Host, session: str, first: int) -> None:
    for number in range(first, ORDER["messages"]):
        text = f"{session}/{number}"
        message = RunRequest(text, session, "ada", "web", external_id=text, origin={"chat": session})
        while True:
            try:
                await host.accept(message)
                break
            except (QueueFull, QueueUnavailable, StoreUnavailable):
                await asyncio.sleep(RETRY_SECONDS)
        tell("accepted", session, str(number))


async def decide(host: Host) -> None:
    """Approve whatever any process has asked."""
    while True:
        with suppress(SophonError):
            for record in await host.services.store.approvals.list():
                with suppress(DecisionRefused):
                    await host.approvals.decide(record.request.id, Decision.approve(), "ada")
        await asyncio.sleep(RETRY_SECONDS)


def print_tasks() -> None:
    """Tell in the log what every task waits for: of a run that does not end."""
    for task in asyncio.all_tasks():
        task.print_stack(file=sys.stderr)


async def main() -> None:
    ended = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, ended.set)
    asyncio.get_running_loop().add_signal_handler(signal.SIGUSR1, print_tasks)
    async with Host(SERVICES, twelve(SERVICES), queue=build_queue(SERVICES, is_shared=True)) as host:
        tell("started")
        work = [asyncio.create_task(send(host, session, first)) for session, first in ORDER["first"].items()]
        work.append(asyncio.create_task(decide(host)))
        await ended.wait()
        for each in work:
            each.cancel()
        await asyncio.gather(*work, return_exceptions=True)


handler = logging.StreamHandler()
handler.addFilter(LogContextFilter())
logging.basicConfig(
    level=logging.INFO,
    format="%(asctime)s.%(msecs)03d %(process)d %(levelname)s %(name)s %(message)s %(sophon_scope)s",
    datefmt="%H:%M:%S",
    handlers=[handler],
)
asyncio.run(main())

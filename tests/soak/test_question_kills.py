"""Killed while questions are stored, sent and answered on WhatsApp: each is asked, and each turn ends."""

import asyncio
import json
import random
import signal
import sqlite3
from contextlib import closing, suppress
from typing import Any

import httpx
import pytest

from sophon_channels.whatsapp.webhook import sign_body
from tests.channels.whatsapp.conftest import graph as graph
from tests.channels.whatsapp.graph_api import SECRET, TOKEN, WORD, GraphApi
from tests.channels.whatsapp.test_parsing import body, message
from tests.hosting.channels.test_platforms import SOON, whatsapp
from tests.programs import Program, Serving

PEOPLE, KILLS = 12, 4
PATIENCE_SECONDS = 240
LONG_NAME = "x" * 9_000
"""Of a question that does not fit into one message."""


class Crowd:
    """People who each order one payment and press Approve at each question, and deliver again what got no answer."""

    def __init__(self, here: Program, graph: GraphApi) -> None:
        self._here, self._graph = here, graph
        self._pressed = 0
        self._tasks: list[asyncio.Task[None]] = []
        self.serving: Serving | None = None
        self.progress = 0
        self.moved = asyncio.Event()

    async def start(self) -> None:
        self.serving = await asyncio.to_thread(self._here.serve)

    async def kill(self) -> None:
        assert self.serving is not None
        serving, self.serving = self.serving, None
        await serving.ended(signal.SIGKILL)

    async def until_moved(self, steps: int) -> None:
        goal = self.progress + steps
        while self.progress < goal and not self.is_over():
            self.moved.clear()
            with suppress(TimeoutError):
                async with asyncio.timeout(0.05):  # the end is not signalled
                    await self.moved.wait()

    def is_over(self) -> bool:
        """Whether all turns have ended and all that was to be sent has been."""
        files = list(self._here.folder.glob("data/*.db"))
        if not files:
            return False
        with closing(sqlite3.connect(files[0])) as database:
            [ended] = database.execute("SELECT count(*) FROM runs WHERE status = 'completed'").fetchone()
            [waiting] = database.execute(
                "SELECT count(*) FROM outbound WHERE status IN ('pending', 'sending', 'ambiguous')"
            ).fetchone()
        return bool(ended == PEOPLE and waiting == 0)

    async def order(self, number: int) -> None:
        name = f"{number}-{LONG_NAME}" if number % 4 == 0 else str(number)
        said = message(id=f"wamid.O{number}", timestamp=str(SOON), text={"body": f"pay {name}"}, **sender(number))
        await self._deliver(body(said, contacts=[]))

    async def press_all(self) -> None:
        """Press Approve at each question, again at each copy of it."""
        while True:
            for sent in self._graph.messages[self._pressed :]:
                self._pressed += 1
                self._move()
                buttons = sent.get("interactive", {}).get("action", {}).get("buttons")
                if buttons:
                    [number] = [each for each in range(PEOPLE) if is_to(sent, each)]
                    pressed = {"type": "button_reply", "button_reply": buttons[0]["reply"]}
                    said = message("interactive", id=f"wamid.P{self._pressed}", interactive=pressed, **sender(number))
                    await self._deliver(body(said, contacts=[]))
            await asyncio.sleep(0.01)

    async def _deliver(self, payload: dict[str, Any]) -> None:
        content = json.dumps(payload).encode()
        headers = {"X-Hub-Signature-256": sign_body(content, SECRET)}
        async with httpx.AsyncClient(trust_env=False, timeout=30) as client:
            while True:
                if self.serving is not None:
                    with suppress(httpx.HTTPError):
                        url = f"{self.serving.url}/webhooks/whatsapp"
                        if (await client.post(url, content=content, headers=headers)).status_code == 200:
                            return self._move()
                await asyncio.sleep(0.05)

    def _move(self) -> None:
        self.progress += 1
        self.moved.set()


def sender(number: int) -> dict[str, str]:
    return {"from": f"155500033{number:02}", "from_user_id": f"US.134900000000000{number:02}"}


def is_to(sent: dict[str, Any], number: int) -> bool:
    return str(sent.get("to", sent.get("recipient"))).endswith(f"{number:02}")


async def test_every_stored_question_is_asked_and_every_turn_ends(
    program: Any, graph: GraphApi, monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    for name, value in (("TOKEN", TOKEN), ("SECRET", SECRET), ("WORD", WORD)):
        monkeypatch.setenv(name, value)
    chance = random.Random(seed)
    here = program(Channels={"WhatsApp": whatsapp(graph)}, Approval={"Timeout": "01:00:00"})
    crowd = Crowd(here, graph)
    await crowd.start()
    pressing = asyncio.create_task(crowd.press_all())
    orders = [asyncio.create_task(crowd.order(number)) for number in chance.sample(range(PEOPLE), PEOPLE)]
    try:
        async with asyncio.timeout(PATIENCE_SECONDS):
            for _ in range(KILLS):
                await crowd.until_moved(chance.randrange(1, PEOPLE))
                await crowd.kill()
                await crowd.start()
            await asyncio.gather(*orders)
            while not crowd.is_over():
                await crowd.until_moved(1)
    finally:
        pressing.cancel()
        await asyncio.gather(pressing, *orders, return_exceptions=True)
    asked = {sent.get("to", sent.get("recipient")) for sent in graph.messages if "interactive" in sent}
    assert len(asked) == PEOPLE
    paid = [name.partition("-")[0] for name in here.paid()]
    assert len(set(paid)) == len(paid)
    for number in set(range(PEOPLE)) - set(map(int, paid)):  # killed after the approval: the call is not begun twice
        told = [sent["text"]["body"] for sent in graph.messages if is_to(sent, number) and "text" in sent]
        assert any("INTERRUPTED" in text.upper() for text in told), told

"""A host that is killed at random, and clients that send each message three times, whatever happens to it."""

import asyncio
import json
import random
import signal
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import aiohttp
import httpx
import socketio

from tests.programs import PATIENCE_SECONDS, Program, Serving

DELIVERIES = 3
MODEL = '''
"""Two messages of three use a tool, every third asks for an approval before."""
import asyncio
import uuid
from pathlib import Path

from sophon import ModelResponse, Pipeline, Risk, ToolCall, tool
from sophon.testing import FunctionModel
from sophon_middlewares.chains import twelve

EFFECTS = Path(__file__).parent / "effects.txt"


async def effect(text):
    with EFFECTS.open("a") as file:
        file.write(f"{text}\\n")
    await asyncio.sleep(0.01)  # a kill here leaves a call that has an effect and no result
    return text


@tool()
async def note(text: str) -> str:
    """Keep a note."""
    return await effect(text)


@tool(risk=Risk.HIGH)
async def pay(text: str) -> str:
    """Keep a note, once a person allows it."""
    return await effect(text)


async def answer(request):
    asked = next(each.content for each in reversed(request.messages) if each.role == "user")
    tool = {1: "note", 2: "pay"}.get(int(asked.rpartition("/")[2]) % 3)
    if tool is None or request.messages[-1].role != "user":
        return f"Done: {asked}"
    return ModelResponse("", [ToolCall(f"call-{uuid.uuid4().hex}", tool, {"text": asked})])


def model():
    return FunctionModel(answer, name="brain", stream=True)


def chain(services):
    return Pipeline.compose(*twelve(services))
'''


class Progress:
    """Counts what happens, for those who wait for a number of it."""

    def __init__(self) -> None:
        self.count = 0
        self.over = False
        self._news = asyncio.Event()

    def add(self) -> None:
        self.count += 1
        self._news.set()

    def end(self) -> None:
        """Nothing more will happen."""
        self.over = True
        self._news.set()

    async def until(self, found: Callable[[], bool]) -> None:
        """Look each time that something happens."""
        while not found():
            self._news.clear()
            await self._news.wait()


@dataclass
class KilledHost:
    """`sophon serve`, killed and started again at the same port."""

    program: Program
    progress: Progress
    serving: Serving = field(init=False)
    up: asyncio.Event = field(default_factory=asyncio.Event)

    def __post_init__(self) -> None:
        (self.program.folder / "brain.py").write_text(MODEL)
        self.serving = self.program.serve()
        self.up.set()

    async def kill(self, chance: random.Random, times: int) -> int:
        """SIGKILL, each time after some progress; gives how often, which is less if the work is over before."""
        for done in range(times):
            goal = self.progress.count + chance.randrange(1, 40)
            await self.progress.until(lambda goal=goal: self.progress.count >= goal or self.progress.over)
            if self.progress.over:
                return done
            self.up.clear()
            assert (await self.serving.ended(signal.SIGKILL))[0] == -signal.SIGKILL
            self.serving = await asyncio.to_thread(self.program.serve, self.serving.port)
            self.up.set()
        return times

    def effects(self) -> list[str]:
        """What the tools have done."""
        path = self.program.folder / "effects.txt"
        return path.read_text().split() if path.exists() else []


class Listener:
    """A Socket.IO client that hears some sessions, catches up after every break, and approves what it is asked."""

    def __init__(self, sessions: list[str], progress: Progress) -> None:
        self.heard: dict[str, list[tuple[str, dict[str, Any]]]] = {session: [] for session in sessions}
        self._progress = progress
        self._asked: set[str] = set()
        self._waiting: set[asyncio.Future[dict[str, Any]]] = set()
        self._connected = asyncio.Event()
        # Its own session: python-engineio forgets to close one if a connection comes back while the last is cleaned up.
        self._http = aiohttp.ClientSession()
        self._socket = socketio.AsyncClient(
            reconnection_delay=0.02, reconnection_delay_max=0.1, http_session=self._http
        )
        self._socket.on("connect", self._join)
        self._socket.on("disconnect", self._lose)
        self._socket.on("*", self._hear)

    async def connect(self, url: str) -> None:
        await self._socket.connect(url, transports=["websocket"])

    async def close(self) -> None:
        await self._socket.disconnect()
        await self._http.close()

    def outcomes(self) -> int:
        """How many tasks have ended, as far as was heard."""
        ends = ("task_completed", "task_failed", "task_cancelled")
        return sum(name in ends for events in self.heard.values() for name, _ in events)

    async def ask(self, event: str, payload: Mapping[str, Any]) -> dict[str, Any]:
        """The acknowledgement; ConnectionError if the connection is lost before it comes."""
        await self._connected.wait()
        answer: asyncio.Future[dict[str, Any]] = asyncio.get_running_loop().create_future()
        self._waiting.add(answer)
        try:
            await self._socket.emit(event, payload, callback=lambda data: answer.done() or answer.set_result(data))
            return await answer
        except socketio.exceptions.SocketIOError as error:
            raise ConnectionError(str(error)) from error
        finally:
            self._waiting.discard(answer)

    async def approve(self) -> None:
        """Approve whatever is asked, again if nobody knows whether the host has heard it."""
        while True:
            await self._progress.until(lambda: bool(self._asked))
            for approval in sorted(self._asked):
                try:
                    answer = await self.ask("decide_approval", {"approval_id": approval, "decision": "approve"})
                except ConnectionError:
                    continue
                if answer["ok"] or answer["error"]["code"] == "already_decided":
                    self._asked.discard(approval)

    async def _join(self) -> None:
        for session, events in self.heard.items():
            last = events[-1][1]["seq"] if events else None
            await self._socket.emit("join_session", {"session_id": session, "last_seq": last}, callback=self._missed)
        self._connected.set()

    def _missed(self, joined: dict[str, Any]) -> None:
        assert joined["ok"], joined
        for each in joined["events"]:
            self._hear(each["event"], each["data"])

    def _lose(self, *_: Any) -> None:
        self._connected.clear()
        for answer in self._waiting:
            if not answer.done():
                answer.set_exception(ConnectionError("the connection was lost"))

    def _hear(self, name: str, data: Any = None) -> None:
        if isinstance(data, dict) and data.get("seq"):
            self.heard[data["session_id"]].append((name, data))
            if name == "approval_requested":
                self._asked.add(data["approval_id"])
            self._progress.add()


class Sender:
    """Sends the messages of one session in order, each three times with the same client_message_id.

    The second copy goes at once, while the first may be under way, or after it; the third comes late, behind messages
    that were sent after it. A copy that is not acknowledged is sent again until it is.
    """

    def __init__(self, session: str, texts: list[str], deliver: "Deliver", chance: random.Random) -> None:
        self.tasks: dict[str, set[str]] = {text: set() for text in texts}
        """The task ids that the copies of a message were acknowledged with."""
        self._session = session
        self._deliver = deliver
        self._chance = chance

    async def send(self) -> None:
        late: list[str] = []
        for text in self.tasks:
            if self._chance.random() < 0.5:
                await asyncio.gather(self._copy(text), self._copy(text))
            else:
                await self._copy(text)
                await self._copy(text)
            late.append(text)
            if self._chance.random() < 0.5:
                await self._copy(late.pop(self._chance.randrange(len(late))))
        for text in late:
            await self._copy(text)

    async def _copy(self, text: str) -> None:
        payload = {"content": text, "session_id": self._session, "client_message_id": f"message {text}"}
        self.tasks[text].add(await self._deliver(payload))


Deliver = Callable[[Mapping[str, Any]], Awaitable[str]]
"""Delivers a message until it is acknowledged, and gives the id of its task."""


def over_http(client: httpx.AsyncClient, host: KilledHost) -> Deliver:
    """POST /api/tasks."""

    async def deliver(payload: Mapping[str, Any]) -> str:
        while True:
            await host.up.wait()
            try:
                answer = await client.post(f"{host.serving.url}/api/tasks", json=payload)
            except httpx.TransportError:
                await asyncio.sleep(0)
                continue
            if answer.status_code in (200, 202):
                host.progress.add()
                return answer.json()["task_id"]
            assert answer.status_code in (429, 503), answer.text

    return deliver


def over_socket(listener: Listener, progress: Progress) -> Deliver:
    """send_message."""

    async def deliver(payload: Mapping[str, Any]) -> str:
        while True:
            try:
                answer = await listener.ask("send_message", payload)
            except ConnectionError:
                continue
            if answer["ok"]:
                progress.add()
                return answer["task_id"]
            assert answer["error"]["code"] in ("queue_full", "unavailable"), json.dumps(answer)

    return deliver


@dataclass
class Traffic:
    """What was sent to a host while it was killed, and what was heard of it."""

    host: KilledHost
    listener: Listener
    senders: dict[str, Sender]


async def run_traffic(program: Program, chance: random.Random, *, sessions: int, messages: int, kills: int) -> Traffic:
    """Send the messages of all sessions at once, kill the host meanwhile, and wait until every task has ended."""
    progress = Progress()
    host = KilledHost(program, progress)
    names = [f"s{number}" for number in range(sessions)]
    listener = Listener(names, progress)
    async with asyncio.timeout(4 * PATIENCE_SECONDS), httpx.AsyncClient(trust_env=False) as client:
        await listener.connect(host.serving.url)
        approving = asyncio.create_task(listener.approve())
        delivers = [over_http(client, host), over_socket(listener, progress)]
        senders = {
            name: Sender(name, [f"{name}/{n}" for n in range(messages)], delivers[number % 2], chance)
            for number, name in enumerate(names)
        }
        killing = asyncio.create_task(host.kill(chance, kills))
        await asyncio.gather(*(each.send() for each in senders.values()))
        await progress.until(lambda: listener.outcomes() >= sessions * messages)
        progress.end()
        assert await killing == kills, "the work was over before the host could be killed so often"
        approving.cancel()
        await asyncio.wait([approving])
        await listener.close()
        code, errors = await host.serving.ended(signal.SIGTERM)
        assert code == 0, errors
    return Traffic(host, listener, senders)

"""People of the simulated world: they send until a message is accepted, listen, come back after a break, and decide.

Some use the operations that the page uses, as two users; the others write in chats of the two platforms.
"""

import asyncio
from collections.abc import Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from sophon.errors import NotFound, SophonError
from sophon_hosting.client_api.authentication.token_authentication import User
from sophon_hosting.client_api.caller import Caller
from sophon_hosting.client_api.caller_connection import DirectConnection
from sophon_hosting.client_api.client_errors import Forbidden
from sophon_hosting.events.missed_events import MissedEvents
from sophon_hosting.events.wire_event import WireEvent
from sophon_hosting.features.approvals.operations import submit_decision
from sophon_hosting.features.tasks.operations import cancel_task, get_task
from sophon_hosting.host import Host
from sophon_hosting.hub.client_events import handle_event
from tests.simulation.plan import PlannedMessage
from tests.simulation.platforms import ChatMessage, Telegram, WhatsApp
from tests.simulation.world import Disconnected, Node, World

FINAL = ("task_completed", "task_failed", "task_cancelled")


class _Subscription:
    """`Subscriptions` of a client that joins one session."""

    def __init__(self, host: Host, user: User, hear: Any) -> None:
        self._host, self._hear = host, hear
        self.caller: Caller | None = None

    async def join(self, session_id: str, last_seq: int, *, is_off_the_record: bool) -> MissedEvents:
        assert self.caller is not None
        session = await self.caller.sessions.find_or_create(session_id)
        return await self._host.event_bus.join_session(session.id, last_seq, self._hear, session.owner)

    def leave(self, session_id: str) -> None:
        """Do nothing: the client hears nothing any more."""

    @asynccontextmanager
    async def during(self, *, is_off_the_record: bool) -> Any:
        async def subscribe(session_id: str) -> None:
            """Subscribe to nothing: only a client that has joined listens."""

        yield subscribe


async def ask(host: Host, user: User, event: str, payload: Mapping[str, Any], hear: Any = None) -> Mapping[str, Any]:
    """Let a host handle a request of a user, as it does over Socket.IO."""
    connection = DirectConnection(host.services.clock)
    if hear is None:
        return await handle_event(Caller(host, user, connection=connection), event, [payload])
    subscription = connection.subscriptions = _Subscription(host, user, hear)
    subscription.caller = Caller(host, user, connection=connection)
    return await handle_event(subscription.caller, event, [payload])


@dataclass(eq=False)
class WebUser:
    """A user with one session on the page: sends messages, hears its events, decides what it asks."""

    world: World
    session: str
    accepted: dict[str, str] = field(default_factory=dict)
    """The task of each message that was accepted, by its text."""
    heard: list[tuple[str, dict[str, Any]]] = field(default_factory=list)
    decided: dict[str, list[str]] = field(default_factory=dict)
    """Decisions that a host took as the first, by approval."""
    is_over: bool = False

    @property
    def user(self) -> User:
        """The user: two sessions are of one."""
        return User(f"hub:{self.session.partition('/')[0]}")

    @property
    def last_seq(self) -> int:
        """Number of the last event that was heard."""
        return int(self.heard[-1][1]["seq"]) if self.heard else 0

    async def talk(self, messages: list[PlannedMessage]) -> None:
        """Send messages, one after the other."""
        for message in messages:
            await asyncio.sleep(message.after)
            await self._send(message)
            if message.kind == "stop":
                self.world.spawn(self._stop(message.text))

    async def _send(self, message: PlannedMessage) -> None:
        random, text = self.world.loop.random, message.text
        payload = {
            "content": text,
            "session_id": self.session,
            "client_message_id": text,
            "stream": bool(random.getrandbits(1)),
        }
        while True:
            try:
                receipt = await self.world.pick_node().call(lambda host: ask(host, self.user, "send_message", payload))
            except (Disconnected, SophonError) as error:
                self.world.note_rare(f"{text!r} is not accepted: {type(error).__name__}")
                await asyncio.sleep(random.uniform(0.1, 2.0))
                continue
            task = str(receipt["task_id"])
            if self.accepted.setdefault(text, task) != task:
                self.world.violations.append(f"{text!r} was accepted as {self.accepted[text]} and as {task}")
            self.world.note(f"{text!r} is accepted as {task}")
            if random.random() < 0.85:  # some are sent again although they were
                return

    async def _stop(self, text: str) -> None:
        random = self.world.loop.random
        await asyncio.sleep(random.expovariate(0.2))
        while True:
            try:
                await self.world.pick_node().call(
                    lambda host: _call(host, self.user, cancel_task, task_id=self.accepted[text])
                )
            except (Disconnected, SophonError):
                await asyncio.sleep(random.uniform(0.1, 2.0))
                continue
            self.world.note(f"{text!r} was cancelled")
            return

    async def listen(self) -> None:
        """Hear the session's events, with breaks."""
        random = self.world.loop.random
        while not self.is_over:
            node, link = self.world.pick_node(), _Link(self)
            try:
                await node.call(link.join)
            except (Disconnected, SophonError):
                link.broken.set()
                await asyncio.sleep(random.uniform(0.05, 1.0))
                continue
            node.listeners.append(link.broken.set)
            try:
                async with asyncio.timeout(random.uniform(1.0, 60.0)):
                    await link.broken.wait()
            except TimeoutError:
                link.broken.set()

    def hear(self, name: str, data: dict[str, Any]) -> None:
        """Take an event."""
        self.heard.append((name, data))
        self.world.note(f"{self.session} hears {data['seq']} {name}")
        if name == "approval_requested":
            for _ in range(self.world.loop.random.choice((1, 1, 2))):
                self.world.spawn(self._decide(data["approval_id"]))

    async def _decide(self, approval: str) -> None:
        """Decide, late or never, until a host says that it is decided."""
        random = self.world.loop.random
        if random.random() < 0.05:
            return
        await asyncio.sleep(random.choice((1.0, random.expovariate(0.2))))
        verdict = "approve" if random.random() < 0.7 else "reject"
        while True:
            try:
                await self.world.pick_node().call(
                    lambda host: _call(host, self.user, submit_decision, approval_id=approval, decision=verdict)
                )
            except Disconnected:
                await asyncio.sleep(random.uniform(0.1, 2.0))
                continue
            except SophonError as error:
                if getattr(error, "code", "") in ("unavailable", "store"):
                    await asyncio.sleep(random.uniform(0.1, 2.0))
                    continue
                return
            self.decided.setdefault(approval, []).append(verdict)
            self.world.note(f"{approval} is decided: {verdict}")
            return


class _Link:
    """A connection of a user: what arrives before the answer to its request is taken behind that."""

    def __init__(self, user: WebUser) -> None:
        self._user, self.broken = user, asyncio.Event()
        self._early: list[WireEvent] | None = []

    async def join(self, host: Host) -> None:
        """Join the session."""
        user = self._user
        payload = {"session_id": user.session, "last_seq": user.last_seq}
        joined = await ask(host, user.user, "join_session", payload, self._hear)
        if self.broken.is_set():  # the answer comes after the client has given up
            return
        for event in joined["events"]:
            if "seq" in event["data"]:  # not the text so far of a reply that is being streamed
                user.hear(event["event"], event["data"])
        early, self._early = self._early, None
        for each in early or ():
            self._hear(each)

    def _hear(self, event: WireEvent) -> None:
        if self.broken.is_set() or event.seq is None:
            return
        if self._early is not None:
            self._early.append(event)
        else:
            self._user.hear(event.name, dict(event.data))


@dataclass(eq=False)
class Chatter:
    """A person who writes in a chat, and presses what the messages there offer."""

    world: World
    session: str
    sent: list[PlannedMessage] = field(default_factory=list)

    @property
    def platform(self) -> "Telegram | WhatsApp":
        """Where the chat is."""
        return self.world.telegram if self.session.startswith("telegram") else self.world.whatsapp

    @property
    def chat(self) -> int:
        """Id of the person, and of the chat."""
        return (1000 if self.session.startswith("telegram") else 2000) + int(self.session.rpartition("/")[2])

    async def talk(self, messages: list[PlannedMessage]) -> None:
        """Write messages; the platform delivers some twice, and some behind later ones."""
        for message in messages:
            await asyncio.sleep(message.after)
            self.sent.append(message)
            self.world.note(f"{message.text!r} is written")
            self._deliver(message.number + 1, message.text)
            if message.kind == "stop":
                await asyncio.sleep(self.world.loop.random.uniform(0.5, 8.0))
                self._deliver(message.number + 501, "/stop")

    def _deliver(self, number: int, text: str) -> None:
        random = self.world.loop.random
        for _ in range(random.choice((1, 1, 1, 1, 2))):
            delay = random.choice((0.0, 0.0, 0.0, random.uniform(0.0, 6.0)))
            at = self.world.clock.now().timestamp()
            self.world.later(delay, self.platform.deliver_message, self.chat, number, text, at)

    def see(self, message: ChatMessage) -> None:
        """Look at a message of the bot; press one of the buttons, late, twice, or never."""
        random = self.world.loop.random
        if message.chat != str(self.chat) or not message.buttons:
            return
        for _ in range(random.choice((0, 1, 1, 1, 2))):
            data = random.choice([each for each in message.buttons if each.endswith((":approve", ":reject"))] or [""])
            if data:
                self.world.later(random.expovariate(0.3), self._press, f"{random.getrandbits(40):010x}", data)

    def _press(self, press_id: str, data: str) -> None:
        self.world.note(f"{self.session} presses {data.rpartition(':')[2]}")
        for _ in range(self.world.loop.random.choice((1, 1, 1, 2))):
            self.platform.deliver_press(self.chat, press_id, data)


@dataclass(eq=False)
class Stranger:
    """A user who tries to get at what belongs to others."""

    world: World
    user: User = field(default_factory=lambda: User("hub:stranger"))

    async def pry(self, owner: WebUser) -> None:
        """Ask for the session, the tasks and the open approvals of somebody else."""
        random = self.world.loop.random
        await asyncio.sleep(random.expovariate(0.02))
        session, heard = owner.session, list[WireEvent]()
        tasks = [*owner.accepted.values()][-3:]
        approvals = [data["approval_id"] for name, data in owner.heard if name == "approval_requested"][-2:]
        try:
            node = self.world.pick_node()
            joined = await node.call(
                lambda host: ask(host, self.user, "join_session", {"session_id": session, "last_seq": 0}, heard.append)
            )
            listed = await node.call(lambda host: ask(host, self.user, "list_tasks", {}))
            asked = await node.call(lambda host: ask(host, self.user, "list_approvals", {}))
        except (Disconnected, SophonError):
            return
        if joined["events"] or listed.get("items") or asked.get("items"):
            self.world.violations.append(f"a stranger sees what belongs to {session}: {joined} {listed} {asked}")
        for task in tasks:
            await self._try(node, f"the task {task}", get_task, task_id=task)
            await self._try(node, f"the task {task}", cancel_task, task_id=task)
        for approval in approvals:
            await self._try(node, f"the approval {approval}", submit_decision, approval_id=approval, decision="approve")
        await asyncio.sleep(random.uniform(0.0, 30.0))
        if heard:
            self.world.violations.append(f"a stranger hears {len(heard)} events of {session}")

    async def _try(self, node: Node, what: str, operation: Any, **fields: Any) -> None:
        try:
            await node.call(lambda host: _call(host, self.user, operation, **fields))
        except (Disconnected, NotFound, Forbidden):
            return
        except SophonError as error:
            if getattr(error, "code", "") in ("unavailable", "store"):
                return
            raise
        self.world.violations.append(f"a stranger reaches {what}")


async def _call(host: Host, user: User, operation: Any, **fields: Any) -> Any:
    """Call an operation as its binding does."""
    caller = Caller(host, user, connection=DirectConnection(host.services.clock))
    return await operation.call(caller, operation.request.validate(fields))

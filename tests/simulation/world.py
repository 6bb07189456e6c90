"""The simulated world: hosts over one store and one queue, a model server, two platforms, and the network between.

A host is composed as `sophon serve` composes it, without its HTTP server. Everything takes virtual time and may fail;
what happened outside of the hosts is noted, and no process can lose that.
"""

import asyncio
import contextvars
from collections.abc import Callable, Coroutine
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

from sophon import Risk, Services, tool
from sophon.settings import Settings
from sophon.testing.simulation import SimulatedClock, SimulatedLoop, SimulatedProcess
from sophon.testing.simulation.database import SimulatedDatabase, SimulatedServer
from sophon.testing.simulation.process import CURRENT_PROCESS
from sophon_hosting.channels.channel_lifecycle import ChannelLifecycle
from sophon_hosting.channels.configured_channels import ConfiguredChannels
from sophon_hosting.fanout.host_messages import HostMessage
from sophon_hosting.fanout.local_fanout import LocalFanout, LocalNetwork
from sophon_hosting.host import Host
from sophon_hosting.host_server import configure_channels, create_host
from sophon_hosting.leadership.membership import GroupMembership
from sophon_hosting.queue.queue_factory import build_memory_queue
from sophon_hosting.store.sql_host_store import HOST_PARTS, SqlHostStore, load_feature_parts
from tests.shared_memory_queue import SharedMemoryBroker
from tests.simulation.model_server import ModelServer, SimulatedModel
from tests.simulation.plan import PlannedFault
from tests.simulation.platforms import ENVIRONMENT, ChatMessage, SimulatedWhatsApp, Telegram, WhatsApp, create_channels
from tests.simulation.queue import SimulatedQueue

T = TypeVar("T")

START_SECONDS = 0.5
"""Longest time that a process takes to start."""

RESTART_SECONDS = 3.0
"""Longest time until a process that died is started again."""

LEASE_SECONDS = 10.0
MAX_DELIVERIES = 20
"""Above the kills of a history: what is given up after too many has tests of its own."""


class Disconnected(Exception):
    """Error of a client: the process died, or the connection was lost, before the answer came."""


class WorldClock(SimulatedClock):
    """Clock of what is outside of all processes: its timers belong to none."""

    def call_later(self, seconds: float, callback: Callable[[], object]) -> asyncio.TimerHandle:
        return self._loop.call_later(seconds, callback, context=contextvars.Context())


class SimulatedFanout(LocalFanout):
    """A process's end of the network between processes: hints arrive late, in the receiver's process, or are lost."""

    def __init__(self, world: "World") -> None:
        super().__init__(world.network)
        self._world = world

    async def open(self) -> None:
        self._process = CURRENT_PROCESS.get()
        await super().open()

    def receive(self, message: HostMessage) -> None:
        random = self._world.loop.random
        if self._listeners.wants(message) and random.random() >= self._world.lost_hints:
            context = contextvars.Context()
            context.run(CURRENT_PROCESS.set, self._process)
            self._world.loop.call_later(random.uniform(0.0, 0.02), self._listeners.tell, message, context=context)


@dataclass(eq=False)
class Effect:
    """What a tool did in the world: when it began and ended, and what it was for."""

    tool: str
    text: str
    process: str
    began: float
    ended: float | None = None


@dataclass(eq=False)
class Node:
    """A place where a process of the host runs, one after the other."""

    world: "World"
    name: str
    process: SimulatedProcess | None = None
    host: Host | None = None
    channels: ConfiguredChannels | None = None
    lifecycle: ChannelLifecycle | None = None
    database: SimulatedDatabase | None = None
    clock_offset: float = 0.0
    clock: SimulatedClock | None = None
    lives: int = 0
    requests: set["asyncio.Future[Any]"] = field(default_factory=set)
    listeners: list[Callable[[], None]] = field(default_factory=list)
    """Connections, told when they end."""
    planned: list[tuple[PlannedFault, int]] = field(default_factory=list)
    """Kills and stops that wait for their moment, with how many of it are still to come."""

    def start(self) -> None:
        """Start a process, which recovers what is stored."""
        self.lives += 1
        self.process, _ = self.world.loop.start_process(f"{self.name}.{self.lives}", self._serve())

    async def _serve(self) -> None:
        world = self.world
        await asyncio.sleep(world.loop.random.uniform(0.0, START_SECONDS))
        while True:
            self.clock = clock = SimulatedClock(world.loop, self.clock_offset)
            self.database = SimulatedDatabase(world.server, clock)
            host, channels = world.build_host(self.database, clock)
            try:
                await host.services.open()
                await channels.load()
                await host.start()
                break
            except Exception as error:
                world.note(f"{self.name} cannot start: {type(error).__name__}")
                await asyncio.sleep(world.loop.random.uniform(0.1, RESTART_SECONDS))
        self.lifecycle = lifecycle = ChannelLifecycle(host, channels)
        lifecycle.start()
        self.host, self.channels = host, channels
        world.note(f"{self.name} serves")
        await asyncio.get_running_loop().create_future()

    async def restart(self) -> None:
        """Shut down in order, and start again."""
        host, channels, process = self.host, self.lifecycle, self.process
        if host is None or channels is None or process is None or process.is_dead:
            return
        ended: asyncio.Future[None] = self.world.loop.create_future()

        async def end() -> None:
            try:
                host.begin_shutdown()
                await channels.stop_receiving()
                await host.shutdown(grace_seconds=self.world.loop.random.choice((0.0, 5.0, 30.0)))
                await channels.stop()
                await host.services.close()
            finally:
                self.world.loop.call_soon(ended.set_result, None, context=contextvars.Context())

        self.world.note(f"{self.name} shuts down")
        self._run_inside(process, end())
        await asyncio.wait({ended}, timeout=90.0)
        self.world.loop.kill(process)

    def end(self) -> None:
        """What others notice of a death."""
        host, self.host, self.channels, self.lifecycle = self.host, None, None, None
        if host is not None and isinstance(host.queue, SimulatedQueue):
            host.queue.die()
            if host.fanout in self.world.network.members:
                self.world.network.members.remove(host.fanout)
        for each in self.requests:
            if not each.done():
                each.set_exception(Disconnected())
        self.requests.clear()
        listeners, self.listeners = self.listeners, []
        for tell in listeners:
            tell()

    async def call(self, request: Callable[[Host], Coroutine[Any, Any, T]]) -> T:
        """Send a request over the network and wait for its answer. Raises Disconnected, and the errors of the host."""
        loop, random = self.world.loop, self.world.loop.random
        await asyncio.sleep(random.uniform(0, 0.05))
        host, process = self.host, self.process
        if host is None or process is None or process.is_dead:
            raise Disconnected
        answer: asyncio.Future[T] = loop.create_future()
        self.requests.add(answer)

        async def serve() -> None:
            try:
                result = await request(host)
            except Exception as error:
                failure: Exception | None = error
                result = None
            else:
                failure = None
            loop.call_later(random.uniform(0, 0.05), reply, result, failure, context=contextvars.Context())

        def reply(result: Any, failure: Exception | None) -> None:
            if answer.done():
                return
            if failure is None:
                answer.set_result(result)
            else:
                answer.set_exception(failure)

        self._run_inside(process, serve())
        try:
            async with asyncio.timeout(60.0):  # of the client
                return await answer
        except TimeoutError:
            raise Disconnected from None
        finally:
            self.requests.discard(answer)

    def _run_inside(self, process: SimulatedProcess, coroutine: Coroutine[Any, Any, object]) -> None:
        context = contextvars.Context()
        context.run(CURRENT_PROCESS.set, process)
        self.world.loop.create_task(coroutine, context=context)


class World:
    """A world with some hosts; several share a queue with leases. `budget`: tokens per day."""

    current: "World | None" = None
    """The one world of this process."""

    def __init__(self, loop: SimulatedLoop, folder: Path, *, hosts: int = 1, budget: int | None = None) -> None:
        World.current = self
        self.loop, self.folder = loop, folder
        self.clock = WorldClock(loop)
        self.budget = budget
        added = [part.tables for part in (*HOST_PARTS, *load_feature_parts()) if part.tables]
        self.server = SimulatedServer(loop, added, lambda process: self.reach("write", process))
        self.network = LocalNetwork()
        broker = SharedMemoryBroker(
            self.clock, lease_seconds=LEASE_SECONDS, max_deliveries=MAX_DELIVERIES, owner_share=0.5
        )
        self.broker = broker if hosts > 1 else None
        self.models = ModelServer(loop)
        self.telegram, self.whatsapp = Telegram(loop), WhatsApp(loop, self._post_webhook)
        for platform in (self.telegram, self.whatsapp):
            platform.on_message = self._show
            platform.on_taken = lambda: self.reach("sent", CURRENT_PROCESS.get())
        self.on_message: list[Callable[[ChatMessage], object]] = []
        self.lost_hints = 0.02
        """Share of the messages between processes that are lost."""
        self.effects: list[Effect] = []
        self.journal: list[str] = []
        """What happened, in order."""
        self.violations: list[str] = []
        """What people saw that must not be, while it happened."""
        self.changed_at = 0.0
        self.disturbed_at: list[float] = []
        """When something has happened that may make a turn begin anew."""
        self.faults = 0
        """How many faults have begun."""
        self.nodes = [Node(self, f"host-{number}") for number in range(hosts)]
        loop.on_death.append(self._note_death)

    def note(self, text: str) -> None:
        """Note what has happened."""
        self.changed_at = self.loop.time()
        self.journal.append(f"{self.changed_at:10.3f} {text}")

    def disturb(self) -> None:
        """Note that something happens that may make a turn begin anew."""
        self.disturbed_at.append(self.loop.time())

    def note_rare(self, text: str) -> None:
        """Note what repeats while nothing changes."""
        self.journal.append(f"{self.loop.time():10.3f} {text}")

    def spawn(self, work: Coroutine[Any, Any, object]) -> "asyncio.Task[object]":
        """Do something outside of all processes."""
        return self.loop.create_task(work, context=contextvars.Context())

    def later(self, seconds: float, callback: Callable[..., object], *arguments: Any) -> None:
        """Call something later, outside of all processes."""
        self.loop.call_later(seconds, callback, *arguments, context=contextvars.Context())

    def pick_node(self) -> Node:
        """Return the host that a balancer chooses."""
        return self.nodes[self.loop.random.randrange(len(self.nodes))]

    def start(self) -> None:
        """Start all processes."""
        for node in self.nodes:
            node.start()

    def reach(self, moment: str, process: SimulatedProcess | None) -> None:
        """Let happen what waits for such a moment of a process."""
        node = next((each for each in self.nodes if each.process is process), None)
        if node is None or process is None or not node.planned:
            return
        waiting, node.planned = node.planned, []
        for fault, left in waiting:
            if fault.moment != moment:
                node.planned.append((fault, left))
            elif left > 1:
                node.planned.append((fault, left - 1))
            else:
                self.strike(node, process, fault)

    def strike(self, node: Node, process: SimulatedProcess, fault: PlannedFault) -> None:
        """Kill or stop a process, so many of its steps from now."""
        if fault.kind == "kill":
            process.dies_at = process.steps + fault.steps
            return
        self.note(f"{process.name} stands still for {fault.seconds:.1f} s")
        self.loop.stop_process(process, fault.seconds)
        self.disturb()
        self.later(fault.seconds, self.disturb)

    def _note_death(self, process: SimulatedProcess) -> None:
        node = next(each for each in self.nodes if each.process is process)
        self.disturb()
        self.note(f"{process.name} ends at its step {process.steps}")
        node.end()
        self.later(self.loop.random.uniform(0.0, RESTART_SECONDS), node.start)

    def _show(self, message: ChatMessage) -> None:
        self.note(f"chat {message.chat} shows {message.text!r}")
        for tell in self.on_message:
            tell(message)

    async def _post_webhook(self, body: Any) -> bool:
        node = self.pick_node()

        async def receive(host: Host) -> bool:
            assert node.channels is not None
            channel = next(each for each in node.channels.channels if isinstance(each, SimulatedWhatsApp))
            return await channel.receive(body)

        try:
            return await node.call(receive)
        except Exception:
            return False

    def build_host(self, database: SimulatedDatabase, clock: SimulatedClock) -> tuple[Host, ConfiguredChannels]:
        """Compose a host as `sophon serve` does."""
        store = SqlHostStore("memory://", folder=self.folder, clock=clock, database=database)
        services = Services(
            models=SimulatedModel(self.models),
            tools=_tools(),
            store=store,
            clock=clock,
            settings=_settings(self.budget),
            folder=self.folder,
        )
        is_shared = self.broker is not None
        queue = SimulatedQueue(self.broker, self) if self.broker else build_memory_queue(services, is_shared=True)
        membership = GroupMembership(services, role="serve", is_shared=is_shared)
        channels = configure_channels(
            services, ENVIRONMENT, create_channels(self.telegram, self.whatsapp, clock), membership
        )
        fanout = SimulatedFanout(self) if is_shared else None
        host = create_host(services, ENVIRONMENT, channels, queue, membership, channels.approvers, fanout=fanout)
        return host, channels

    async def act(self, name: str, text: str) -> str:
        """Do what a tool does in the world."""
        process, random = CURRENT_PROCESS.get(), self.loop.random
        effect = Effect(name, text, "" if process is None else process.name, self.loop.time())
        self.effects.append(effect)
        self.note(f"{name} begins for {text!r} in {effect.process}")
        self.reach("effect", process)
        await asyncio.sleep(random.uniform(3.0, 25.0) if name == "work" else random.uniform(0.0, 2.0))
        effect.ended = self.loop.time()
        self.note(f"{name} ends for {text!r} in {effect.process}")
        self.reach("effect", process)
        return text


@cache
def _settings(budget: int | None) -> Settings:
    return Settings.from_mapping(
        {
            "AgentExecution": {"MaxConcurrentTasks": 8, "Titles": False},
            "Approval": {"Timeout": "00:01:00"},
            "Planning": {"Mode": "Never"},
            "Queue": {"MaxDeliveries": MAX_DELIVERIES},
            "Budget": {"Providers": {"*": {"DailyTokens": budget}}},
        }
    )


async def _act(name: str, text: str) -> str:
    assert World.current is not None
    return await World.current.act(name, text)


@cache
def _tools() -> list[Any]:
    @tool()
    async def note(text: str) -> str:
        """Keep a note."""
        return await _act("note", text)

    @tool()
    async def work(text: str) -> str:
        """Work for a while."""
        return await _act("work", text)

    @tool(risk=Risk.HIGH)
    async def pay(text: str) -> str:
        """Pay, once a person allows it."""
        return await _act("pay", text)

    @tool(idempotent=True)
    async def look(text: str) -> str:
        """Look something up."""
        return await _act("look", text)

    return [note, work, pay, look]

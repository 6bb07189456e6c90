"""Faults of the simulated world: each happens as it is planned, and is over after its time."""

import asyncio
from collections.abc import Callable, Coroutine, Generator, Sequence
from contextlib import contextmanager
from typing import Any, TypeAlias

from tests.simulation import model_server, platforms
from tests.simulation.plan import PlannedFault
from tests.simulation.queue import SimulatedQueue
from tests.simulation.world import World

Fault: TypeAlias = Callable[[World, PlannedFault], Coroutine[Any, Any, None]]


async def break_things(world: World, faults: Sequence[PlannedFault]) -> None:
    """Let the faults happen; all is well at the end."""
    lasting: list[asyncio.Task[None]] = []
    for fault in faults:
        await asyncio.sleep(fault.after)
        world.faults += 1
        lasting.append(asyncio.create_task(_let_happen(world, fault)))
    if lasting:
        await asyncio.wait(lasting)
    for each in lasting:
        each.result()
    for node in world.nodes:
        node.planned.clear()


async def _let_happen(world: World, fault: PlannedFault) -> None:
    world.disturb()
    await FAULTS[fault.kind](world, fault)
    world.disturb()


async def _end_process(world: World, fault: PlannedFault) -> None:
    """Kill or stop a process, now or at its moment."""
    node = world.nodes[fault.node]
    process = node.process
    if process is None or process.is_dead or process.is_stopped:
        return
    if fault.moment == "any":
        if fault.kind == "stop":
            world.strike(node, process, fault)
        else:
            process.dies_at = process.steps + 1 + fault.steps
        return
    node.planned.append((fault, fault.count))
    await asyncio.sleep(60.0)  # its moment may not come


async def _restart(world: World, fault: PlannedFault) -> None:
    await world.nodes[fault.node].restart()


async def _cut_off(world: World, fault: PlannedFault) -> None:
    """A process reaches neither the queue nor the store for a while, or only one of them."""
    node = world.nodes[fault.node]
    host, database = node.host, node.database
    if host is None or database is None or not isinstance(queue := host.queue, SimulatedQueue):
        return
    from_queue, from_store = world.loop.random.choice(((True, True), (True, False), (True, False), (False, True)))
    world.note(f"{node.name} is cut off from {'the queue ' * from_queue}{'the store' * from_store}")
    queue.is_cut_off, database.is_cut_off = from_queue, from_store
    await asyncio.sleep(fault.seconds)
    database.is_cut_off = False
    if node.host is host:  # a dead one stays cut off
        queue.is_cut_off = False
    assert world.broker is not None
    world.broker.wake()
    world.note(f"{node.name} is back")


async def _queue_away(world: World, fault: PlannedFault) -> None:
    assert world.broker is not None
    with _noted(world, "the queue is away", "the queue is back"):
        world.broker.set_away(True)
        await asyncio.sleep(fault.seconds)
        world.broker.set_away(False)


async def _forget(world: World, fault: PlannedFault) -> None:
    assert world.broker is not None
    world.note("the queue forgets everything")
    world.broker.flush()


async def _lose_answers(world: World, fault: PlannedFault) -> None:
    queues = [node.host.queue for node in world.nodes if node.host is not None]
    with _noted(world, "answers of the queue get lost", "they do not any more"):
        for queue in queues:
            queue.lost_answers = fault.share / 2
        await asyncio.sleep(fault.seconds)
        for queue in queues:
            queue.lost_answers = 0.0


async def _lose_hints(world: World, fault: PlannedFault) -> None:
    with _noted(world, "hints get lost", "hints arrive"):
        before, world.lost_hints = world.lost_hints, fault.share
        await asyncio.sleep(fault.seconds)
        world.lost_hints = before


async def _store_away(world: World, fault: PlannedFault) -> None:
    with _noted(world, "the store is away", "the store is back"):
        world.server.is_away = True
        await asyncio.sleep(fault.seconds)
        world.server.is_away = False


async def _store_full(world: World, fault: PlannedFault) -> None:
    with _noted(world, "the disk is full", "the disk has room"):
        world.server.is_full = True
        await asyncio.sleep(fault.seconds)
        world.server.is_full = False


async def _fail_writes(world: World, fault: PlannedFault) -> None:
    with _noted(world, "writes fail", "writes succeed"):
        world.server.failing_writes = fault.share / 2
        await asyncio.sleep(fault.seconds)
        world.server.failing_writes = 0.0


async def _answer_late(world: World, fault: PlannedFault) -> None:
    with _noted(world, "the store answers late", "the store answers in time"):
        world.server.late_answers = fault.share
        await asyncio.sleep(fault.seconds)
        world.server.late_answers = 0.0


async def _break_model(world: World, fault: PlannedFault) -> None:
    kind = world.loop.random.choice(model_server.FAULTS)
    with _noted(world, f"the model server: {kind}", "the model server is well"):
        world.models.fault, world.models.share = kind, fault.share
        await asyncio.sleep(fault.seconds)
        world.models.fault = ""


async def _break_platform(world: World, fault: PlannedFault) -> None:
    platform = world.loop.random.choice((world.telegram, world.whatsapp))
    kind = world.loop.random.choice(platforms.FAULTS)
    with _noted(world, f"{type(platform).__name__}: {kind}", f"{type(platform).__name__} is well"):
        platform.fault, platform.share = kind, fault.share
        await asyncio.sleep(fault.seconds)
        platform.fault = ""


async def _jump(world: World, fault: PlannedFault) -> None:
    node = world.nodes[fault.node]
    if node.clock is None:
        return
    seconds = world.loop.random.choice((-120.0, -30.0, 30.0, 300.0))
    world.note(f"the clock of {node.name} jumps by {seconds:+.0f} s")
    node.clock.jump(seconds)
    node.clock_offset += seconds


@contextmanager
def _noted(world: World, begins: str, ends: str) -> Generator[None]:
    world.note(begins)
    yield
    world.note(ends)


FAULTS: dict[str, Fault] = {
    "kill": _end_process,
    "stop": _end_process,
    "restart": _restart,
    "cut off": _cut_off,
    "queue away": _queue_away,
    "queue forgets": _forget,
    "queue loses answers": _lose_answers,
    "hints lost": _lose_hints,
    "store away": _store_away,
    "store full": _store_full,
    "writes fail": _fail_writes,
    "late answers": _answer_late,
    "model": _break_model,
    "platform": _break_platform,
    "clock": _jump,
}

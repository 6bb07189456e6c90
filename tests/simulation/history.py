"""One history: people talk to hosts in a simulated world while faults happen, until everything is at rest."""

import asyncio
import hashlib
import logging
import shutil
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from sophon.testing.simulation import SimulatedLoop, SimulationStuck, finalised, simulate
from sophon.testing.simulation.database import SimulatedDatabase, simulated_server_facts
from sophon_hosting.store.sql_host_store import SqlHostStore
from tests.simulation.checks import find_held, find_violations, is_over
from tests.simulation.composition import composed_once
from tests.simulation.faults import break_things
from tests.simulation.people import Chatter, Stranger, WebUser
from tests.simulation.plan import SESSIONS, Plan
from tests.simulation.world import World

STUCK_SECONDS = 900.0
"""Time in which nothing happens, after which a history that is not at rest is a violation."""

LONGEST_SECONDS = 4 * 3600.0
"""Virtual time after which a history that is not at rest is a violation."""

REST_SECONDS = 120.0
"""Time behind the last outcome in which everything that is held must be given back: a lane that is held for nothing is
noticed after a minute."""


@dataclass(frozen=True)
class History:
    """What a plan gave; `journal` is what happened, line by line."""

    plan: Plan
    violations: Sequence[str]
    journal: Sequence[str]
    callbacks: int = 0
    seconds: float = 0.0

    @property
    def digest(self) -> str:
        """Fingerprint of all that happened."""
        return hashlib.sha256("\n".join(self.journal).encode()).hexdigest()


async def _live(loop: SimulatedLoop, world: World, plan: Plan) -> None:
    """Run the world until it is at rest, and note what it breaks."""
    sessions = [each for each in SESSIONS if any(message.session == each for message in plan.messages)]
    users = [WebUser(world, each) for each in sessions if each.startswith("web")]
    chatters = [Chatter(world, each) for each in sessions if not each.startswith("web")]
    world.on_message += [each.see for each in chatters]
    world.start()
    listening = [loop.create_task(each.listen()) for each in users]
    strangers = [loop.create_task(Stranger(world).pry(each)) for each in users]
    faults = loop.create_task(break_things(world, plan.faults))
    talking = [
        loop.create_task(each.talk([message for message in plan.messages if message.session == each.session]))
        for each in (*users, *chatters)
    ]
    for each in (*talking, *strangers, faults):
        while not each.done() and not _is_stuck(world):
            await asyncio.wait({each}, timeout=60.0)
        if each.done():
            each.result()
    while not await is_over(world, users, chatters) and not _is_stuck(world):
        await asyncio.sleep(2.0)
    if _is_stuck(world):
        world.violations.append(f"the world is not at rest after {loop.time():.0f} virtual seconds")
    else:
        await _rest(world)
    for each in (*listening, *talking, *strangers, faults):
        each.cancel()
    store = SqlHostStore(
        "memory://", folder=world.folder, clock=world.clock, database=SimulatedDatabase(world.server, world.clock)
    )
    world.violations += await find_violations(world, users, chatters, store)


async def _rest(world: World) -> None:
    """Wait until nothing is held any more, or should have been given back."""
    for _ in range(round(REST_SECONDS / 5.0)):
        await asyncio.sleep(5.0)
        if not any([held async for _, held in find_held(world)]):
            return


def _is_stuck(world: World) -> bool:
    now = world.loop.time()
    return now > LONGEST_SECONDS or now - world.changed_at > STUCK_SECONDS


def run_history(plan: Plan) -> History:
    """Run the history of a plan."""
    before = logging.root.manager.disable
    logging.disable(logging.CRITICAL)  # a record would keep what it is about, beyond the end of the world
    try:
        with finalised():
            return _run(plan)
    finally:
        logging.disable(before)


def _run(plan: Plan) -> History:
    worlds: list[World] = []

    async def main(loop: SimulatedLoop) -> tuple[int, float]:
        worlds.append(World(loop, folder, hosts=plan.hosts, budget=plan.budget))
        await _live(loop, worlds[0], plan)
        return loop.callbacks, loop.time()

    folder = Path(tempfile.mkdtemp(prefix="sophon-simulation-"))
    try:
        with simulated_server_facts(), composed_once():
            callbacks, seconds = simulate(main, plan.seed)
        violations = worlds[0].violations
    except SimulationStuck as error:
        violations, callbacks, seconds = [str(error)], 0, 0.0
    finally:
        World.current = None
        shutil.rmtree(folder)
    return History(plan, violations, worlds[0].journal, callbacks, seconds)

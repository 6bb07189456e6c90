"""Agent runtime: what all turns of a process share of the agents: catalogue, slots, running ones, chains."""

import asyncio
from collections import Counter
from collections.abc import Callable
from copy import copy
from typing import Final, Self

from sophon.agents.catalog import AgentCatalog
from sophon.agents.running_agents import RunningAgents

MAX_CONCURRENT: Final = 10
"""Sub-agents that run at once in a process: each holds its requests, its tools and a place at the provider."""
MAX_PER_TURN: Final = 3
"""Sub-agents that run at once in a turn, so that one turn does not take the places of all."""


class AgentRuntime:
    """The agents of a process. `find_chain` returns the chain of a name; None: there are no chains by name."""

    def __init__(self, catalog: AgentCatalog) -> None:
        self.catalog = catalog
        self.slots = AgentSlots(MAX_CONCURRENT, MAX_PER_TURN)
        self.running = RunningAgents()
        self.find_chain: Callable[[str], object] | None = None

    def with_chains(self, find_chain: Callable[[str], object]) -> Self:
        """Return the same agents with chains by name; slots and running agents are shared."""
        found = copy(self)
        found.find_chain = find_chain
        return found


class AgentSlots:
    """FIFO limiter with `total` slots in all and `per_turn` for each turn.

    A sub-agent that another one runs must not wait: its parent holds a slot, and all of them could wait for each other.
    """

    def __init__(self, total: int, per_turn: int) -> None:
        self.total, self.per_turn = total, per_turn
        self._by_turn: Counter[str] = Counter()
        self._waiting: list[tuple[str, asyncio.Future[None]]] = []

    @property
    def used(self) -> int:
        """Number of sub-agents that have a slot."""
        return self._by_turn.total()

    def try_acquire(self, turn_id: str) -> bool:
        """Acquire a slot if one is free; return whether it was acquired."""
        if self.used >= self.total or self._by_turn[turn_id] >= self.per_turn:
            return False
        self._by_turn[turn_id] += 1
        return True

    async def acquire(self, turn_id: str) -> None:
        """Wait for a slot and acquire it; release it with `release`."""
        if not any(waiting == turn_id for waiting, _ in self._waiting) and self.try_acquire(turn_id):
            return
        waiter: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        entry = (turn_id, waiter)
        self._waiting.append(entry)
        try:
            await waiter
        except BaseException:
            if waiter.done() and not waiter.cancelled():
                self.release(turn_id)
            elif entry in self._waiting:
                self._waiting.remove(entry)
            raise

    def release(self, turn_id: str) -> None:
        """Release a slot, and give it to the first that waits and may have it."""
        self._by_turn[turn_id] -= 1
        if self._by_turn[turn_id] <= 0:
            del self._by_turn[turn_id]
        for entry in list(self._waiting):
            waiting, waiter = entry
            if self.used >= self.total:
                return
            if self._by_turn[waiting] < self.per_turn:
                self._waiting.remove(entry)
                if not waiter.done():
                    self._by_turn[waiting] += 1
                    waiter.set_result(None)

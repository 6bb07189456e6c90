"""Deterministic simulation: an event loop with virtual time and seeded order, in which processes can die at any await.

`SimulatedLoop` runs asyncio code; `simulate` runs one coroutine in a fresh one, with seeded entropy.
"""

from sophon.testing.simulation.clock import SimulatedClock
from sophon.testing.simulation.loop import SimulatedLoop, SimulationStuck, finalised, simulate
from sophon.testing.simulation.process import SimulatedProcess

__all__ = ["SimulatedClock", "SimulatedLoop", "SimulatedProcess", "SimulationStuck", "finalised", "simulate"]

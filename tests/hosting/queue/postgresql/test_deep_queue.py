"""Positions in a deep queue: exact where a person would look at them, and never less than the truth allows beyond."""

import asyncio

from sophon_hosting.queue.contract import QueueEntry
from sophon_hosting.queue.postgresql.queue import POSITION_LIMIT

DEPTH = POSITION_LIMIT + 50


async def test_positions_are_exact_to_their_limit_and_estimated_beyond(make_queue):
    queue = await make_queue(capacity=1000)
    told = [await queue.put(QueueEntry(f"t{number}", f"s{number}")) for number in range(DEPTH)]
    assert told[: POSITION_LIMIT - 1] == list(range(POSITION_LIMIT - 1))
    assert all(POSITION_LIMIT <= each < DEPTH for each in told[POSITION_LIMIT:])
    assert await queue.position("t7") == 7


async def test_the_bound_is_exact_in_a_deep_queue(make_queue):
    queue = await make_queue(capacity=DEPTH)
    entries = [QueueEntry(f"t{number}", f"s{number}", owner=f"o{number % 9}") for number in range(DEPTH + 20)]
    results = await asyncio.gather(*(queue.put(entry) for entry in entries), return_exceptions=True)
    assert sum(isinstance(each, int) for each in results) == DEPTH
    assert (await queue.statistics()).waiting == DEPTH

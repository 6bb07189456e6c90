"""Turns with random models, tools, people and accidents, and turns that are cancelled at random."""

import asyncio
import contextlib
import random

from sophon.errors import SophonError
from tests.acceptance.test_invariants_at_random import cancelled, lived

TURNS = 50


def test_the_invariants_hold(seed: int) -> None:
    chance = random.Random(seed)
    for each in [chance.randrange(10**9) for _ in range(TURNS)]:
        asyncio.run(lived(each))


def test_a_cancellation_at_any_moment_leaves_nothing_behind(seed: int) -> None:
    chance = random.Random(seed)
    for _ in range(TURNS):
        with contextlib.suppress(SophonError):
            asyncio.run(cancelled(chance.randrange(10**9), chance.randrange(400)))

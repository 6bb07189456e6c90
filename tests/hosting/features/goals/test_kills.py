"""The seeded small part of the soak test of goals: a few kills in the middle of steps."""

from pathlib import Path

import pytest

from tests.soak.test_goal_kills import kill_goals


@pytest.mark.parametrize("seed", [1])
async def test_a_host_that_is_killed_in_the_middle_of_steps_does_nothing_twice(tmp_path: Path, seed: int) -> None:
    await kill_goals(tmp_path, seed=seed, goals=4, kills=3)

"""When a full queue has room again."""

import pytest

from sophon_hosting.queue.drain_rate import SAMPLE_COUNT, DrainRate, estimate_retry_after_seconds


@pytest.mark.parametrize(
    ("completions", "in_flight", "excess", "seconds"),
    [
        ([6.0], 1, 1, 6),
        ([4.0, 8.0], 1, 1, 6),
        ([6.0], 3, 1, 2),
        ([6.0], 3, 4, 8),
        ([5.0], 2, 1, 3),
        ([0.0], 1, 1, 1),
        ([0.01], 8, 1, 1),
        ([7200.0], 3, 1, 60),
        ([6.0], 0, 1, 60),
        ([], 3, 1, 60),
    ],
)
def test_it_is_told_from_how_long_tasks_take_and_how_many_run(completions, in_flight, excess, seconds):
    assert estimate_retry_after_seconds(completions, in_flight, excess) == seconds


def test_only_the_newest_completions_count():
    pace = DrainRate()
    for seconds in [50.0] * 10 + [2.0] * SAMPLE_COUNT:
        pace.seconds.append(seconds)
    assert pace.estimate_retry_after_seconds(1, 1) == 2

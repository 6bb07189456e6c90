"""Shortening of a history that breaks a promise: fewer faults, then fewer messages, as long as it still does."""

from collections.abc import Callable, Sequence

from tests.simulation.history import History, run_history
from tests.simulation.plan import Plan

MOST_RUNS = 60
"""Histories that are run to shorten one."""


def shorten(history: History, run: Callable[[Plan], History] = run_history) -> History:
    """Return a history with as few faults and messages as a bounded search finds, which breaks something, too."""
    budget = [MOST_RUNS]

    def attempt(plan: Plan) -> bool:
        nonlocal history
        if budget[0] == 0:
            return False
        budget[0] -= 1
        found = run(plan)
        if found.violations:
            history = found
        return bool(found.violations)

    _leave_out([each.number for each in history.plan.faults], lambda kept: attempt(history.plan.keep(faults=kept)))
    _leave_out([each.number for each in history.plan.messages], lambda kept: attempt(history.plan.keep(messages=kept)))
    return history


def _leave_out(numbers: Sequence[int], still_fails: Callable[[Sequence[int]], bool]) -> None:
    """Leave out halves, then quarters and so on, as long as what is left fails."""
    kept, size = [*numbers], (len(numbers) + 1) // 2
    while size and kept:
        start = 0
        while start < len(kept):
            fewer = kept[:start] + kept[start + size :]
            if still_fails(fewer):
                kept = fewer
            else:
                start += size
        size = size // 2 if size > 1 else 0

"""Counts of repeated and alternating calls among those that the loop detector has observed: pure functions."""

from collections import deque
from collections.abc import Iterator, Reversible

from sophon._python.lazy_dataclass import dataclass

VETO = "veto"
"""Outcome of a call that was refused because results did not change."""

OVERUSE = "overuse"
"""Outcome of a call that was refused because it was made too often, whatever its results."""


@dataclass(slots=True)
class ObservedCall:
    """A call of the window; `outcome` is None while its result is missing, VETO, OVERUSE, or "=" and the
    result's fingerprint.
    """

    key: str
    outcome: str | None = None


def reaches(count: int, threshold: int | None) -> bool:
    """Return whether a count has reached a threshold; None is never reached."""
    return threshold is not None and count >= threshold


def count_without_progress(calls: Reversible[ObservedCall], key: str) -> int:
    """Count how often the newest call came without progress, itself included: equal preceding calls with one identical
    result.
    """
    return 1 + sum(1 for _ in _iterate_unchanged(call for call in reversed(calls) if call.key == key))


def count_alternation(calls: Reversible[ObservedCall]) -> int:
    """Count the calls, the newest included, that alternate between two without progress; 0 if none alternate."""
    newest_first = reversed(calls)
    keys: list[str] = []
    tail: list[ObservedCall] = []
    for call in newest_first:
        if len(keys) < 2 and call.key not in keys:
            keys.append(call.key)
        if len(keys) <= len(tail) % 2 or call.key != keys[len(tail) % 2]:
            break
        tail.append(call)
    return 1 + sum(1 for _ in _iterate_unchanged(iter(tail[1:]))) if len(tail) > 2 else 0


def repeats_result(calls: Reversible[ObservedCall], call: ObservedCall) -> bool:
    """Return whether an equal earlier call of the window had the same result as this one."""
    for other in reversed(calls):
        if other is not call and other.key == call.key and other.outcome not in (None, VETO, OVERUSE):
            return other.outcome == call.outcome
    return False


def find_alternation(calls: deque[ObservedCall], within: int) -> str | None:
    """Return the pair that alternates A, B, A, B in the last `within` calls, whichever came first; else None."""
    for end in range(1, min(within, len(calls)) - 2):
        a, b = calls[-end].key, calls[-end - 1].key
        if a != b and calls[-end - 2].key == a and calls[-end - 3].key == b:
            return " ".join(sorted((a, b)))
    return None


def _iterate_unchanged(newest_first: Iterator[ObservedCall]) -> Iterator[ObservedCall]:
    """Yield the calls with an outcome until one has another result than the same call had later."""
    results: dict[str, str] = {}
    for call in newest_first:
        if call.outcome is None:
            continue
        if call.outcome == OVERUSE:
            return
        if call.outcome != VETO and results.setdefault(call.key, call.outcome) != call.outcome:
            return
        yield call

"""Loop detector: finds repeated tool calls without progress among the last calls of a turn.

Three patterns over a sliding window of calls, where calls are equal if tool and arguments are:

    pattern           counts                                    warning  critical  breaker
    poll_no_progress  the same call in a row                          3         5        -
    generic_repeat    the same call anywhere in the window (30)      10        20       30
    ping_pong         A, B, A, B within the last 6 calls              1         -        -

Numbers: reference/sophon.md 5.8. A warning counts calls. Critical and breaker count calls without progress, that is
with an identical result, so polling with changing results never goes beyond a warning. A refused call counts as one
without progress. A call without a result yet counts for warnings only, because six rolls of a die in one reply are no
loop.
"""

from collections import deque
from collections.abc import Mapping, Reversible
from dataclasses import asdict, dataclass
from typing import Any, Literal, Self, TypeAlias

from sophon.messages import ToolCall
from sophon_middlewares.inner.call_identity import call_key, fingerprint

LoopLevel: TypeAlias = Literal["none", "warning", "critical", "breaker"]
"""Severity: run the call; run it and warn the model; refuse it; end the turn."""

LoopPattern: TypeAlias = Literal["", "poll_no_progress", "generic_repeat", "ping_pong"]
"""The rule that matched; empty for `none`."""

_VETO = "veto"


@dataclass(frozen=True, slots=True)
class LoopLimits:
    """Thresholds in calls, defaults as published; None turns a threshold off.

    `refused_count` is the number of refused calls that ends the turn. Raises ValueError for a number below 1.
    """

    window: int = 30
    repeat_warning: int | None = 10
    repeat_critical: int | None = 20
    repeat_breaker: int | None = 30
    poll_warning: int | None = 3
    poll_critical: int | None = 5
    ping_pong_window: int | None = 6
    criticals: int = 3

    def __post_init__(self) -> None:
        for name in self.__slots__:
            value = getattr(self, name)
            if value is not None and value < 1:
                raise ValueError(f"{name} is {value!r}; it must be at least 1, or None to turn it off")


@dataclass(frozen=True, slots=True)
class LoopVerdict:
    """What to do with a call. `message` is for the model; `count` is the number that reached the threshold."""

    level: LoopLevel = "none"
    pattern: LoopPattern = ""
    count: int = 0
    message: str = ""

    @property
    def may_run(self) -> bool:
        """Whether the call may run."""
        return self.level in ("none", "warning")


@dataclass(slots=True)
class _ObservedCall:
    """A call of the window; `outcome` is None while its result is missing, "veto", or "=" and the result's
    fingerprint.
    """

    key: str
    outcome: str | None = None


class LoopDetector:
    """Detector for the calls of one turn; call `check` before a call runs and `record` with its result.

    All calls of a reply may be checked before the first is recorded: each counts from its check on. Each (pattern,
    call) is warned about once; every refused call gets its own message.
    """

    __slots__ = (
        "_calls",
        "_counts",
        "_first_refusal",
        "_limits",
        "_pending",
        "_tripped",
        "_warned",
        "refused_count",
    )

    def __init__(self, limits: LoopLimits | None = None) -> None:
        self._limits = limits or LoopLimits()
        thresholds = (self._limits.poll_critical, self._limits.repeat_critical, self._limits.repeat_breaker)
        self._first_refusal = min((each for each in thresholds if each is not None), default=None)
        self._calls: deque[_ObservedCall] = deque()
        self._counts: dict[str, int] = {}
        self._pending: dict[str, deque[_ObservedCall]] = {}
        self._warned: set[str] = set()
        self._tripped = False
        self.refused_count = 0  # calls refused as critical

    @property
    def is_exhausted(self) -> bool:
        """Whether the turn must end: the breaker tripped, or too many calls were refused."""
        return self._tripped or self.refused_count >= self._limits.criticals

    def check(self, call: ToolCall) -> LoopVerdict:
        """Count a call that is about to run and judge it; at level critical or breaker it must not run."""
        tool, entry = call.name, _ObservedCall(call_key(call))
        self._append(entry)
        verdict = self._check_refusal(entry, tool) or self._check_warning(entry, tool) or _NO_VERDICT
        if verdict.may_run:
            self._pending.setdefault(entry.key, deque()).append(entry)
            return verdict
        entry.outcome = _VETO
        self.refused_count += verdict.level == "critical"
        self._tripped |= verdict.level == "breaker"
        return verdict

    def record(self, call: ToolCall, result_text: str) -> None:
        """Record the result of the oldest checked call of that kind without one; does nothing if there is none."""
        key = call_key(call)
        waiting = self._pending.get(key)
        if waiting is None:
            return
        waiting.popleft().outcome = "=" + fingerprint(result_text)
        if not waiting:
            del self._pending[key]

    def to_json(self) -> dict[str, Any]:
        """Return limits and state as plain data, ready for JSON."""
        return {
            "limits": asdict(self._limits),
            "calls": [[call.key, call.outcome] for call in self._calls],
            "warned": sorted(self._warned),
            "criticals": self.refused_count,
            "tripped": self._tripped,
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Self:
        """Invert `to_json`."""
        detector = cls(LoopLimits(**data["limits"]))
        for key, outcome in data["calls"]:
            call = _ObservedCall(key, outcome)
            detector._append(call)
            if outcome is None:
                detector._pending.setdefault(key, deque()).append(call)
        detector._warned.update(data["warned"])
        detector.refused_count = data["criticals"]
        detector._tripped = data["tripped"]
        return detector

    def _append(self, call: _ObservedCall) -> None:
        counts = self._counts
        self._calls.append(call)
        counts[call.key] = counts.get(call.key, 0) + 1
        if len(self._calls) > self._limits.window:
            oldest = self._calls.popleft().key
            counts[oldest] -= 1
            if not counts[oldest]:
                del counts[oldest]

    def _check_refusal(self, call: _ObservedCall, tool: str) -> LoopVerdict | None:
        limits, count = self._limits, self._counts[call.key]
        if not _reaches(count, self._first_refusal):
            return None
        stuck = _count_without_progress(self._calls, call.key)
        if _reaches(stuck, limits.repeat_breaker):
            return LoopVerdict("breaker", "generic_repeat", stuck, _refusal_text(tool, f"{stuck} times"))
        in_a_row = _count_without_progress(self._trailing_run(call.key), call.key)
        if _reaches(in_a_row, limits.poll_critical):
            return LoopVerdict(
                "critical", "poll_no_progress", in_a_row, _refusal_text(tool, f"{in_a_row} times in a row")
            )
        if _reaches(stuck, limits.repeat_critical):
            return LoopVerdict("critical", "generic_repeat", stuck, _refusal_text(tool, f"{stuck} times"))
        return None

    def _check_warning(self, call: _ObservedCall, tool: str) -> LoopVerdict | None:
        limits, count = self._limits, self._counts[call.key]
        if _reaches(count, limits.poll_warning) and self._is_new("poll_no_progress", call.key):
            in_a_row = len(self._trailing_run(call.key))
            if _reaches(in_a_row, limits.poll_warning):
                return self._warn(
                    "poll_no_progress", call.key, in_a_row, _warn_text(tool, f"{in_a_row} times in a row")
                )
        if _reaches(count, limits.repeat_warning) and self._is_new("generic_repeat", call.key):
            return self._warn("generic_repeat", call.key, count, _warn_text(tool, f"{count} times"))
        if len(self._counts) > len(self._calls) - 2:  # fast path: too few repeats in the window for a pair
            return None
        pair = _find_alternation(self._calls, limits.ping_pong_window or 0)
        if pair is not None and self._is_new("ping_pong", pair):
            return self._warn("ping_pong", pair, 4, _ALTERNATION_TEXT)
        return None

    def _is_new(self, pattern: LoopPattern, key: str) -> bool:
        return f"{pattern} {key}" not in self._warned

    def _warn(self, pattern: LoopPattern, key: str, count: int, message: str) -> LoopVerdict:
        self._warned.add(f"{pattern} {key}")
        return LoopVerdict("warning", pattern, count, message)

    def _trailing_run(self, key: str) -> list[_ObservedCall]:
        run: list[_ObservedCall] = []
        for call in reversed(self._calls):
            if call.key != key:
                break
            run.append(call)
        run.reverse()
        return run


_NO_VERDICT = LoopVerdict()
_ALTERNATION_TEXT = (
    "you alternate between the same two calls. Use their results, try another way, or answer with what you have."
)


def _reaches(count: int, threshold: int | None) -> bool:
    return threshold is not None and count >= threshold


def _count_without_progress(calls: Reversible[_ObservedCall], key: str) -> int:
    """Count how often the newest call came without progress, itself included: equal preceding calls with one identical
    result.
    """
    count, result = 1, None
    for call in reversed(calls):
        if call.key != key or call.outcome is None:
            continue
        if call.outcome != _VETO:
            if result is not None and call.outcome != result:
                break
            result = call.outcome
        count += 1
    return count


def _find_alternation(calls: deque[_ObservedCall], within: int) -> str | None:
    """Return the pair that alternates A, B, A, B in the last `within` calls, whichever came first; else None."""
    for end in range(1, min(within, len(calls)) - 2):
        a, b = calls[-end].key, calls[-end - 1].key
        if a != b and calls[-end - 2].key == a and calls[-end - 3].key == b:
            return " ".join(sorted((a, b)))
    return None


def _warn_text(tool: str, often: str) -> str:
    return (
        f"{tool} was called {often} with the same arguments. Use its result, change the arguments, "
        f"try another way, or answer with what you have."
    )


def _refusal_text(tool: str, often: str) -> str:
    return (
        f"{tool} was called {often} with the same arguments and the result did not change, so it was not run again. "
        f"Try another way, or answer with what you have."
    )

"""Loop detector: finds repeated tool calls without progress among the last calls of a turn.

Four patterns over a sliding window of calls, where calls are equal if tool and arguments are::

    pattern           counts                                    warning  critical  breaker
    poll_no_progress  the same call in a row                          3         5        -
    generic_repeat    the same call anywhere in the window (30)      10        20       30
    ping_pong         A, B, A, B within the last 6 calls              1         -        -
                      calls in a row that alternate A, B              -        10        -
    no_progress       calls in a row that only repeat                 -        30        -

Published numbers (Sophon's guide): all but the last two lines. These escalate what the others miss: 10 are the
five of poll_no_progress for each of two calls, 30 is the window. Warnings and generic_repeat count calls, whatever
their results, unless the tool polls. Everything else counts calls without progress, that is with an identical result;
of generic_repeat, too, only those refusals count towards the turn's end by `criticals`, so that repeated calls with
changing results end it at the breaker. A call that was refused for identical results counts as one without progress. A
call without a result yet counts for warnings only, because six rolls of a die in one reply are no loop. Calls that
cannot run are all one call, whatever their tool and arguments.
"""

import hashlib
import logging
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import asdict, replace
from functools import lru_cache
from typing import Any, Literal, Self, TypeAlias

from sophon._python.lazy_dataclass import dataclass
from sophon.messages import ToolCall
from sophon.tools.result_masking import mask_ids_and_times
from sophon.tools.tool import Tool
from sophon.tools.untrusted_text import unfence_text
from sophon_middlewares.inner.agentic_loop.loop_texts import (
    ALTERNATION_WARNING,
    alternation_refusal,
    cycle_refusal,
    overuse_text,
    refusal_text,
    unusable_text,
    warning_text,
)
from sophon_middlewares.inner.agentic_loop.repetition_counts import (
    OVERUSE,
    VETO,
    ObservedCall,
    count_alternation,
    count_without_progress,
    find_alternation,
    reaches,
    repeats_result,
)

LoopLevel: TypeAlias = Literal["none", "warning", "critical", "breaker"]
"""Severity: run the call; run it and warn the model; refuse it; end the turn."""

LoopPattern: TypeAlias = Literal["", "poll_no_progress", "generic_repeat", "ping_pong", "no_progress"]
"""The rule that matched; empty for `none`."""

MAX_REMEMBERED_WARNINGS = 100
"""Warnings that are not given twice: the newest ones, so that the state of a long turn stays small."""

MIN_ALTERNATION = 2
"""Repeated calls that a window has at least in which two calls alternate."""

UNUSABLE = "cannot run"
"""Key of every call that cannot run."""

log = logging.getLogger("sophon.tools")

_MAX_PLAIN_CHARACTERS = 64
"""Longer texts are replaced by their digest: each checkpoint holds the calls of the loop detector's window."""


@dataclass(frozen=True, slots=True)
class LoopVerdict:
    """What to do with a call. `message` is for the model; `count` is the number that reached the threshold."""

    level: LoopLevel = "none"
    pattern: LoopPattern = ""
    count: int = 0
    message: str = ""

    @property
    def reason(self) -> str:
        """The sentence of `message` that says what was found; the rest is advice to the model."""
        return self.message.partition(". ")[0]

    @property
    def may_run(self) -> bool:
        """Whether the call may run."""
        return self.level in ("none", "warning")


@dataclass(frozen=True, slots=True)
class LoopLimits:
    """Thresholds in calls; None turns a threshold off.

    The defaults are the published ones (Sophon's orchestration guide, Agentic loop), and for `ping_pong_critical`,
    `no_progress_critical` and `criticals` those of this product.
    `criticals` is the number of refused calls that ends the turn. Raises ValueError for a number below 1.
    """

    window: int = 30
    repeat_warning: int | None = 10
    repeat_critical: int | None = 20
    repeat_breaker: int | None = 30
    poll_warning: int | None = 3
    poll_critical: int | None = 5
    ping_pong_window: int | None = 6
    ping_pong_critical: int | None = 10
    no_progress_critical: int | None = 30
    criticals: int = 3

    def __post_init__(self) -> None:
        for name in self.__slots__:
            value = getattr(self, name)
            if value is not None and value < 1:
                raise ValueError(f"{name} is {value!r}; it must be at least 1, or None to turn it off")


class LoopDetector:
    """Detector for the calls of one turn; call `check` before a call runs and `record` with its result.

    All calls of a reply may be checked before the first is recorded: each counts from its check on. Each (pattern,
    call) is warned about once, unless many other warnings followed; every refused call gets its own message.
    """

    __slots__ = (
        "_calls",
        "_counts",
        "_first_notice",
        "_first_refusal",
        "_limits",
        "_pending",
        "_repeats",
        "_tripped",
        "_unmasked",
        "_warned",
        "is_exhausted",
        "refused_count",
    )

    def __init__(self, limits: LoopLimits | None = None) -> None:
        self._limits = limits or LoopLimits()
        self._first_refusal = find_lowest_refusal(self._limits)
        notices = (self._first_refusal, self._limits.poll_warning, self._limits.repeat_warning)
        self._first_notice = min((count for count in notices if count is not None), default=2)
        self._calls: deque[ObservedCall] = deque()
        self._counts: dict[str, int] = {}
        self._pending: dict[str, list[ObservedCall]] = {}
        self._warned: dict[str, None] = {}
        self._unmasked: dict[str, tuple[ObservedCall, str]] = {}  # results of calls that came once so far, by key
        self._tripped = False
        self._repeats = 0  # calls in a row that repeated an earlier call and its result
        self.refused_count = 0  # calls refused as critical
        self.is_exhausted = False
        """Whether the turn must end: the breaker tripped, or too many calls were refused."""

    def check(self, call: ToolCall, *, problem: str | None = None, polls: bool = False) -> LoopVerdict:
        """Count a call that is about to run and judge it; at level critical or breaker it must not run.

        `problem` says why it cannot run anyway, for example because there is no such tool. `polls`: its tool does.
        """
        tool, entry = call.name, ObservedCall(call_key(call) if problem is None else UNUSABLE)
        self._append(entry)
        is_new = self._counts[entry.key] == 1 < self._first_notice
        # Too few calls in the window repeat any other: then no rule can match.
        if is_new and len(self._counts) > len(self._calls) - MIN_ALTERNATION:
            self._add_pending(entry)
            return _NO_VERDICT
        stuck = self._check_refusal(entry, tool)
        overuse = None if polls or stuck is not None else self._check_overuse(entry, tool)
        verdict = stuck or overuse or self._check_warning(entry, tool) or _NO_VERDICT
        if problem is not None and verdict.message:
            verdict = replace(verdict, message=unusable_text(problem, f"{verdict.count} times"))
        if verdict.may_run:
            self._add_pending(entry)
            return verdict
        has_progress = verdict is overuse
        entry.outcome = OVERUSE if has_progress else VETO
        self._repeats = 0 if has_progress else self._repeats + 1
        self.refused_count += verdict.level == "critical" and not has_progress
        self._tripped |= verdict.level == "breaker"
        self.is_exhausted = self._tripped or self.refused_count >= self._limits.criticals
        return verdict

    def record(
        self, call: ToolCall, result_text: str, *, normalize: Callable[[str], str] = str, cannot_run: bool = False
    ) -> None:
        """Record the result of the oldest checked call of that kind without one; does nothing if there is none.

        `normalize` returns what to compare of a result. `cannot_run`: it was checked with a problem.
        """
        key = UNUSABLE if cannot_run else call_key(call)
        waiting = self._pending.get(key)
        if waiting is None:
            return
        entry = waiting.pop(0)
        is_repeated_call = self._counts.get(key, 0) > 1
        if cannot_run:
            entry.outcome = "="
        elif is_repeated_call:
            entry.outcome = "=" + fingerprint(normalize(result_text))
            if (first := self._unmasked.pop(key, None)) is not None:
                first[0].outcome = "=" + fingerprint(normalize(first[1]))
        else:
            # Normalising takes longer than the rest of a round, and most calls are never repeated.
            entry.outcome = "=" + fingerprint(result_text)
            self._unmasked[key] = (entry, result_text)
        is_repeat = is_repeated_call and repeats_result(self._calls, entry)
        self._repeats = self._repeats + 1 if is_repeat else 0
        if not waiting:
            del self._pending[key]

    def to_json(self) -> dict[str, Any]:
        """Return limits and state as plain data, ready for JSON."""
        return {
            "limits": asdict(self._limits),
            "calls": [[call.key, call.outcome] for call in self._calls],
            "warned": list(self._warned),
            "criticals": self.refused_count,
            "tripped": self._tripped,
            "repeats": self._repeats,
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Self:
        """Invert `to_json`."""
        detector = cls(LoopLimits(**data["limits"]))
        for key, outcome in data["calls"]:
            call = ObservedCall(key, outcome)
            detector._append(call)
            if outcome is None:
                detector._add_pending(call)
        detector._warned.update(dict.fromkeys(data["warned"]))
        detector.refused_count = data["criticals"]
        detector._tripped = data["tripped"]
        detector.is_exhausted = detector._tripped or detector.refused_count >= detector._limits.criticals
        detector._repeats = data["repeats"]
        return detector

    def _add_pending(self, call: ObservedCall) -> None:
        # A list, not a deque, which takes 600 bytes: nearly always it holds one call.
        waiting = self._pending.get(call.key)
        if waiting is None:
            self._pending[call.key] = [call]
        else:
            waiting.append(call)

    def _append(self, call: ObservedCall) -> None:
        counts = self._counts
        self._calls.append(call)
        counts[call.key] = counts.get(call.key, 0) + 1
        if len(self._calls) > self._limits.window:
            oldest = self._calls.popleft().key
            counts[oldest] -= 1
            if not counts[oldest]:
                del counts[oldest]
                self._unmasked.pop(oldest, None)

    def _check_refusal(self, call: ObservedCall, tool: str) -> LoopVerdict | None:
        limits, count = self._limits, self._counts[call.key]
        if count > 1 and reaches(self._repeats + 1, limits.no_progress_critical):
            repeats = self._repeats + 1
            return LoopVerdict("critical", "no_progress", repeats, cycle_refusal(tool, repeats))
        if not reaches(count, self._first_refusal):
            return None
        stuck = count_without_progress(self._calls, call.key)
        if reaches(stuck, limits.repeat_breaker):
            return LoopVerdict("breaker", "generic_repeat", stuck, refusal_text(tool, f"{stuck} times"))
        in_a_row = count_without_progress(self._trailing_run(call.key), call.key)
        if reaches(in_a_row, limits.poll_critical):
            return LoopVerdict(
                "critical", "poll_no_progress", in_a_row, refusal_text(tool, f"{in_a_row} times in a row")
            )
        if reaches(stuck, limits.repeat_critical):
            return LoopVerdict("critical", "generic_repeat", stuck, refusal_text(tool, f"{stuck} times"))
        alternating = count_alternation(self._calls)
        if reaches(alternating, limits.ping_pong_critical):
            return LoopVerdict("critical", "ping_pong", alternating, alternation_refusal(tool, alternating))
        return None

    def _check_overuse(self, call: ObservedCall, tool: str) -> LoopVerdict | None:
        limits = self._limits
        if not reaches(self._counts[call.key], limits.repeat_critical or limits.repeat_breaker):
            return None
        count = 1 + sum(1 for each in self._calls if each.key == call.key and each.outcome is not None)
        if reaches(count, limits.repeat_breaker):
            return LoopVerdict("breaker", "generic_repeat", count, overuse_text(tool, f"{count} times"))
        if reaches(count, limits.repeat_critical):
            return LoopVerdict("critical", "generic_repeat", count, overuse_text(tool, f"{count} times"))
        return None

    def _check_warning(self, call: ObservedCall, tool: str) -> LoopVerdict | None:
        limits, count = self._limits, self._counts[call.key]
        if reaches(count, limits.poll_warning) and self._is_new("poll_no_progress", call.key):
            in_a_row = len(self._trailing_run(call.key))
            if reaches(in_a_row, limits.poll_warning):
                return self._warn(
                    "poll_no_progress", call.key, in_a_row, warning_text(tool, f"{in_a_row} times in a row")
                )
        if reaches(count, limits.repeat_warning) and self._is_new("generic_repeat", call.key):
            return self._warn("generic_repeat", call.key, count, warning_text(tool, f"{count} times"))
        if len(self._counts) > len(self._calls) - MIN_ALTERNATION:  # too few repeats in the window for a pair
            return None
        pair = find_alternation(self._calls, limits.ping_pong_window or 0)
        if pair is not None and self._is_new("ping_pong", pair):
            return self._warn("ping_pong", pair, 4, ALTERNATION_WARNING)
        return None

    def _is_new(self, pattern: LoopPattern, key: str) -> bool:
        return f"{pattern} {key}" not in self._warned

    def _warn(self, pattern: LoopPattern, key: str, count: int, message: str) -> LoopVerdict:
        self._warned[f"{pattern} {key}"] = None
        if len(self._warned) > MAX_REMEMBERED_WARNINGS:
            del self._warned[next(iter(self._warned))]
        return LoopVerdict("warning", pattern, count, message)

    def _trailing_run(self, key: str) -> list[ObservedCall]:
        run: list[ObservedCall] = []
        for call in reversed(self._calls):
            if call.key != key:
                break
            run.append(call)
        run.reverse()
        return run


_NO_VERDICT = LoopVerdict()


@lru_cache(maxsize=64)
def find_lowest_refusal(limits: LoopLimits) -> int | None:
    """Return how often a call is in the window before any threshold of refusal by its count can be reached."""
    pair = None if limits.ping_pong_critical is None else limits.ping_pong_critical // 2
    thresholds = (limits.poll_critical, limits.repeat_critical, limits.repeat_breaker, pair)
    return min((each for each in thresholds if each is not None), default=None)


def call_key(call: ToolCall) -> str:
    """Return a key that two calls share exactly if name and arguments are equal; id and argument order do not
    matter.
    """
    key = call.identity
    if key is None:
        key = fingerprint(f"{call.name} {call.canonical_arguments().decode()}")
        object.__setattr__(call, "identity", key)
    return key


def comparable_result(tool: Tool | None, text: str) -> str:
    """Return what to compare of a result: without its fence, whose nonce differs each time, and as the tool normalises
    it; of a tool that does not, without times, ids and counters, unless it polls.
    """
    content = unfence_text(text)
    if tool is None or tool.normalize_result is None:
        return content if tool is not None and tool.polls else mask_ids_and_times(content)
    try:
        normalized: object = tool.normalize_result(content)
    except Exception:  # third-party code: detection must not end the turn
        log.warning("normalize_result of tool %s failed", tool.name, exc_info=True)
        return content
    if isinstance(normalized, str):  # pyright: ignore[reportUnnecessaryIsInstance] - of tools without types
        return normalized
    # The text of another object may hold its address, so that no two results would be the same.
    log.warning("normalize_result of tool %s failed: it returned %.60r, and not a text", tool.name, normalized)
    return content


def fingerprint(text: str) -> str:
    """Return a short ASCII text itself, else a digest that is the same in every process."""
    if len(text) <= _MAX_PLAIN_CHARACTERS and text.isascii():
        return text
    return "#" + hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()

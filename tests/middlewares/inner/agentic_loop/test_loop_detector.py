"""The loop detector: which call is warned of, which is refused, and when a turn has to end."""

from collections import Counter
from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sophon import ToolCall
from sophon_middlewares.inner.agentic_loop.loop_detector import LoopDetector, LoopLimits, LoopVerdict
from tests.tables import table

POLL_OFF = LoopLimits(poll_warning=None, poll_critical=None)
LETTERS = st.lists(st.sampled_from("abcd"), max_size=120)


def levels(detector: LoopDetector, calls: str, result: str = "same") -> list[str]:
    """Every letter is a call, recorded at once when it may run; a dot stands for `none`."""
    found: list[str] = []
    for letter in calls:
        verdict = detector.check(ToolCall("", letter, {"q": 1}))
        if verdict.may_run:
            detector.record(ToolCall("", letter, {"q": 1}), result)
        found.append({"none": "."}.get(verdict.level, verdict.level))
    return found


def verdicts(detector: LoopDetector, calls: str) -> list[LoopVerdict]:
    found: list[LoopVerdict] = []
    for letter in calls:
        found.append(detector.check(ToolCall("", letter, {})))
        detector.record(ToolCall("", letter, {}), "same")
    return found


def test_the_same_call_with_the_same_result_is_warned_of_at_three_and_refused_from_five_on() -> None:
    assert levels(LoopDetector(), "a" * 7) == [".", ".", "warning", ".", "critical", "critical", "critical"]


def test_three_refused_calls_exhaust_the_turn() -> None:
    detector = LoopDetector()
    levels(detector, "a" * 6)
    assert (detector.refused_count, detector.is_exhausted) == (2, False)
    levels(detector, "a")
    assert (detector.refused_count, detector.is_exhausted) == (3, True)


def test_refused_calls_of_different_loops_add_up() -> None:
    detector = LoopDetector()
    levels(detector, "aaaaabbbbbccccc")
    assert detector.is_exhausted


def test_a_refused_call_does_not_end_the_streak() -> None:
    detector = LoopDetector()
    levels(detector, "aaaaa")
    assert detector.check(ToolCall("", "a", {"q": 1})).count == 6


def test_another_call_in_between_ends_the_row() -> None:
    assert levels(LoopDetector(), "aaaabaaaab") == [".", ".", "warning"] + ["."] * 7


def test_interleaved_repeats_are_warned_of_at_ten_and_refused_at_twenty() -> None:
    judged = verdicts(LoopDetector(), "aab" * 10)
    loud = {at: (v.level, v.pattern, v.count) for at, v in enumerate(judged) if "aab"[at % 3] == "a" and v.message}
    assert loud[13] == ("warning", "generic_repeat", 10)
    assert loud[28] == ("critical", "generic_repeat", 20)
    assert set(loud) == {13, 28}


def test_with_polling_off_repeats_climb_to_the_breaker_at_thirty() -> None:
    detector = LoopDetector(POLL_OFF)
    judged = levels(detector, "a" * 30)
    assert judged[8:10] == [".", "warning"]
    assert judged[18:20] == [".", "critical"]
    assert judged[28:] == ["critical", "breaker"]


def test_the_breaker_ends_the_turn_at_once() -> None:
    detector = LoopDetector(LoopLimits(poll_critical=None, repeat_critical=None, repeat_breaker=4))
    levels(detector, "aaa")
    assert not detector.is_exhausted
    assert levels(detector, "a") == ["breaker"]
    assert detector.is_exhausted
    assert LoopDetector.from_json(detector.to_json()).is_exhausted
    assert detector.refused_count == 0


def test_going_back_and_forth_between_two_calls_is_warned_of_once_whoever_began() -> None:
    judged = verdicts(LoopDetector(), "ababab" + "c" + "babab")
    assert [(at, v.pattern) for at, v in enumerate(judged) if v.message] == [(3, "ping_pong")]


@table(
    ("calls", "found"),
    [
        ("abab", True),
        ("cdabab", True),
        ("aabb", False),
        ("abba", False),
        ("abcabc", False),
        ("aaaa", False),
        ("aba", False),
    ],
)
def test_ping_pong_is_two_calls_in_turns_and_nothing_else(calls: str, found: bool) -> None:
    limits = LoopLimits(poll_warning=None, poll_critical=None)
    assert any(v.pattern == "ping_pong" for v in verdicts(LoopDetector(limits), calls)) is found


def test_a_pair_that_was_told_something_else_first_is_still_told_of() -> None:
    detector = LoopDetector(LoopLimits(repeat_warning=2))
    assert [v.pattern for v in verdicts(detector, "ababc")] == ["", "", "generic_repeat", "generic_repeat", "ping_pong"]


def test_a_call_with_changing_results_is_refused_at_twenty_and_ends_the_turn_at_thirty() -> None:
    detector = LoopDetector()
    judged: list[LoopVerdict] = []
    for n in range(30):
        assert not detector.is_exhausted
        judged.append(detector.check(ToolCall("", "page", {"n": 1})))
        if judged[-1].may_run:
            detector.record(ToolCall("", "page", {"n": 1}), f"text {n}")
    loud = {at: (v.level, v.pattern) for at, v in enumerate(judged, start=1) if v.message}
    refused = dict.fromkeys(range(20, 30), ("critical", "generic_repeat"))
    assert loud == {
        3: ("warning", "poll_no_progress"),
        10: ("warning", "generic_repeat"),
        **refused,
        30: ("breaker", "generic_repeat"),
    }
    assert (detector.is_exhausted, detector.refused_count) == (True, 0)


def test_calls_without_progress_behind_refused_ones_count_as_such() -> None:
    detector = LoopDetector()
    for n in range(22):
        if detector.check(ToolCall("", "page", {"n": 1})).may_run:
            detector.record(ToolCall("", "page", {"n": 1}), f"text {n}")
    assert levels(detector, "bbbbbbb")[-3:] == ["critical", "critical", "critical"]
    assert detector.is_exhausted


def test_a_call_of_a_tool_that_polls_is_warned_of_and_goes_on() -> None:
    detector = LoopDetector()
    found: list[str] = []
    for n in range(100):
        found.append(detector.check(ToolCall("", "status", {"job": 7}), polls=True).level)
        detector.record(ToolCall("", "status", {"job": 7}), f"{n} % done")
    assert Counter(found) == {"none": 98, "warning": 2}
    assert (found[2], found[9]) == ("warning", "warning")


def test_a_result_that_changes_begins_the_count_anew() -> None:
    detector = LoopDetector()
    assert "critical" not in levels(detector, "aaa", "queued") + levels(detector, "aaaa", "running")
    assert levels(detector, "a", "running") == ["critical"]


def test_results_that_differ_far_behind_their_beginning_are_different() -> None:
    detector = LoopDetector()
    for n in range(50):
        assert detector.check(ToolCall("", "read", {}), polls=True).may_run
        detector.record(ToolCall("", "read", {}), "x" * 5000 + str(n))


def test_results_that_are_no_proper_text_are_told_apart() -> None:
    detector = LoopDetector()
    for n in range(20):
        assert detector.check(ToolCall("", "read", {}), polls=True).may_run
        detector.record(ToolCall("", "read", {}), chr(0xD800 + n))
    orjson.dumps(detector.to_json())


def test_equal_arguments_in_another_order_are_the_same_call() -> None:
    detector = LoopDetector()
    for arguments in ({"a": 1, "b": [2]}, {"b": [2], "a": 1}):
        detector.check(ToolCall("", "t", arguments))
        detector.record(ToolCall("", "t", arguments), "r")
    assert detector.check(ToolCall("", "t", {"a": 1, "b": [2]})).pattern == "poll_no_progress"


@table(
    "arguments",
    [
        {"at": object},
        {"big": 2**200},
        {"lone": "\ud800"},
        {1: "a", "1": "b"},
        {"set": {1}, "bytes": b"\xff"},
        {"long": "x" * 100_000},
    ],
)
def test_arguments_of_any_kind_are_recognised_again(arguments: dict[Any, Any]) -> None:
    detector = LoopDetector()
    found: list[str] = []
    for _ in range(5):
        found.append(detector.check(ToolCall("", "t", arguments)).level)
        detector.record(ToolCall("", "t", arguments), "r")
    assert found == ["none", "none", "warning", "none", "critical"]


def test_arguments_that_contain_themselves_are_no_crash() -> None:
    arguments: dict[str, Any] = {}
    arguments["self"] = arguments
    assert LoopDetector().check(ToolCall("", "t", arguments)).level == "none"


def test_tools_and_arguments_are_not_mixed_up() -> None:
    detector = LoopDetector()
    for n in range(40):
        assert detector.check(ToolCall("", f"tool{n % 20}", {"n": n})).level == "none"


class TestParallelCalls:
    """All calls of a reply are checked before the first is recorded."""

    def batch(self, detector: LoopDetector, results: list[str], *, polls: bool = False) -> list[str]:
        found = [detector.check(ToolCall("", "t", {}), polls=polls) for _ in results]
        for verdict, result in zip(found, results, strict=True):
            detector.record(ToolCall("", "t", {}), verdict.message if not verdict.may_run else result)
        return [verdict.level for verdict in found]

    def test_every_call_of_a_batch_counts_from_its_check_on(self) -> None:
        assert self.batch(LoopDetector(), ["r"] * 3) == ["none", "none", "warning"]

    def test_a_batch_of_equal_calls_is_not_refused_before_a_result_is_known(self) -> None:
        assert "critical" not in self.batch(LoopDetector(), ["r"] * 25)

    def test_equal_results_of_one_batch_refuse_the_whole_next_one(self) -> None:
        detector = LoopDetector()
        self.batch(detector, ["r"] * 4)
        assert self.batch(detector, ["r"] * 3) == ["critical"] * 3
        assert detector.is_exhausted

    @table(("polls", "refused_at"), [(True, None), (False, 4)])
    def test_throws_of_a_die_are_refused_from_twenty_on_unless_its_tool_polls(
        self, polls: bool, refused_at: int | None
    ) -> None:
        detector = LoopDetector()
        found = [self.batch(detector, [f"{n} {at}" for at in range(6)], polls=polls) for n in range(5)]
        assert next((n for n, levels in enumerate(found) if "critical" in levels), None) == refused_at

    def test_results_go_to_the_calls_in_the_order_of_their_checks(self) -> None:
        detector = LoopDetector()
        self.batch(detector, ["x", "y", "y", "y"])
        assert self.batch(detector, ["y"]) == ["none"]
        assert self.batch(detector, ["y"]) == ["critical"]

    def test_a_batch_larger_than_the_window_keeps_the_order_of_its_results(self) -> None:
        detector = LoopDetector(LoopLimits(window=6))
        self.batch(detector, [str(n) for n in range(6)] + ["y"] * 4)
        assert self.batch(detector, ["y"]) == ["critical"]


def test_a_result_nobody_waits_for_changes_nothing() -> None:
    detector = LoopDetector()
    before = detector.to_json()
    detector.record(ToolCall("", "never", {}), "result")
    assert detector.to_json() == before


@table("wrong", [{"window": 0}, {"poll_critical": 0}, {"criticals": -1}])
def test_a_limit_below_one_is_refused(wrong: dict[str, int]) -> None:
    with pytest.raises(ValueError, match="at least 1"):
        LoopLimits(**wrong)


def test_messages_name_the_tool_and_the_count_and_ask_for_another_way() -> None:
    judged = verdicts(LoopDetector(), "aaaaa")
    assert "a was called 3 times in a row" in judged[2].message
    assert judged[4].message.startswith("a was called 5 times in a row")
    assert "it was not run again" in judged[4].message


@given(LETTERS, st.lists(st.integers(0, 2), min_size=120, max_size=120))
def test_no_pattern_is_warned_of_twice_for_one_call(calls: list[str], results: list[int]) -> None:
    detector = LoopDetector()
    told: Counter[tuple[str, str]] = Counter()
    for letter, result in zip(calls, results, strict=False):
        verdict = detector.check(ToolCall("", letter, {}))
        detector.record(ToolCall("", letter, {}), str(result))
        if verdict.level == "warning" and verdict.pattern != "ping_pong":
            told[verdict.pattern, letter] += 1
    assert all(times == 1 for times in told.values())


@given(LETTERS)
def test_changing_results_are_never_refused(calls: list[str]) -> None:
    detector = LoopDetector()
    for at, letter in enumerate(calls):
        assert detector.check(ToolCall("", letter, {})).may_run
        detector.record(ToolCall("", letter, {}), str(at))
    assert not detector.is_exhausted


@given(LETTERS)
def test_a_call_is_refused_only_after_the_published_number_of_equal_ones_or_without_end(calls: list[str]) -> None:
    detector = LoopDetector()
    for at, letter in enumerate(calls):
        verdict = detector.check(ToolCall("", letter, {}))
        detector.record(ToolCall("", letter, {}), "same")
        in_a_row = next((n for n in range(at + 1) if calls[at - n] != letter), at + 1)
        in_window = calls[max(0, at - 29) : at + 1].count(letter)
        alternating = alternation(calls[max(0, at - 29) : at + 1])
        new = max((n for n in range(at + 1) if calls[n] not in calls[max(0, n - 29) : n]), default=-1)
        assert verdict.may_run is (in_a_row < 5 and in_window < 20 and alternating < 10 and at - new < 30)


def alternation(calls: list[str]) -> int:
    """How many calls at the end alternate between two."""
    count = 2
    while count < len(calls) and calls[-count - 1] == calls[-count + 1]:
        count += 1
    return count if len(calls) > 1 and calls[-1] != calls[-2] else 0


def test_a_pair_without_progress_is_refused_after_five_rounds_and_ends_the_turn() -> None:
    detector = LoopDetector()
    judged = verdicts(detector, "ab" * 6)
    assert [(at, v.level, v.pattern, v.count) for at, v in enumerate(judged) if v.message] == [
        (3, "warning", "ping_pong", 4),
        (9, "critical", "ping_pong", 10),
        (10, "critical", "ping_pong", 11),
        (11, "critical", "ping_pong", 12),
    ]
    assert "alternate between b and one other call" in judged[9].message
    assert detector.is_exhausted


def test_a_pair_that_comes_as_batches_is_refused_too() -> None:
    detector = LoopDetector()
    rounds = 0
    while not detector.is_exhausted:
        batch = [ToolCall("", letter, {}) for letter in "ab"]
        judged = [detector.check(call).may_run for call in batch]
        for call, may_run in zip(batch, judged, strict=True):
            if may_run:
                detector.record(call, "same")
        rounds += 1
    assert rounds == 7


def test_a_pair_of_which_one_result_changes_is_never_refused() -> None:
    detector = LoopDetector()
    for n in range(100):
        letter = "ab"[n % 2]
        assert detector.check(ToolCall("", letter, {})).may_run
        detector.record(ToolCall("", letter, {}), f"line {n}" if letter == "a" else "same")


@table("length", [3, 5, 10, 29])
def test_a_longer_cycle_without_progress_is_refused_once_thirty_calls_brought_nothing_new(length: int) -> None:
    detector = LoopDetector()
    count = 0
    while not detector.is_exhausted:
        call = ToolCall("", "step", {"n": count % length})
        verdict = detector.check(call)
        if verdict.may_run:
            detector.record(call, "same")
        elif detector.refused_count == 1:
            assert (count, verdict.pattern, verdict.count) == (length + 29, "no_progress", 30)
        count += 1


def test_one_new_result_in_a_cycle_is_progress() -> None:
    detector = LoopDetector()
    for n in range(300):
        call = ToolCall("", "step", {"n": n % 3})
        assert detector.check(call).may_run
        detector.record(call, str(n // 29))


def test_calls_that_cannot_run_are_one_call_whatever_their_names_and_arguments() -> None:
    detector = LoopDetector()
    found: list[LoopVerdict] = []
    for n in range(7):
        call = ToolCall("", f"guess{n}", {"n": n})
        found.append(detector.check(call, problem=f"there is no tool {call.name!r}"))
        if found[-1].may_run:
            detector.record(call, f"error {n}", cannot_run=True)
    assert [verdict.level for verdict in found] == ["none", "none", "warning", "none", *["critical"] * 3]
    assert found[4].message.startswith("there is no tool 'guess4'. Calls that cannot run were made 5 times.")
    assert detector.is_exhausted


@given(LETTERS, st.integers(0, 120), st.booleans())
def test_a_detector_written_out_and_read_back_goes_on_as_if_nothing_had_been(
    calls: list[str], at: int, recorded: bool
) -> None:
    one = LoopDetector()
    levels(one, "".join(calls[:at]))
    if not recorded:
        one.check(ToolCall("", "open", {}))
    other = LoopDetector.from_json(orjson.loads(orjson.dumps(one.to_json())))
    for detector in (one, other):
        detector.record(ToolCall("", "open", {}), "late")
    assert levels(one, "".join(calls[at:])) == levels(other, "".join(calls[at:]))
    assert one.to_json() == other.to_json()


def test_a_detector_read_back_keeps_its_own_limits() -> None:
    detector = LoopDetector(LoopLimits(poll_critical=None, criticals=1))
    assert LoopDetector.from_json(detector.to_json()).to_json() == detector.to_json()
    assert "critical" not in levels(LoopDetector.from_json(detector.to_json()), "a" * 15)


def test_the_state_does_not_grow_with_the_number_of_rounds() -> None:
    detector = LoopDetector()
    sizes: list[int] = []
    for n in range(3000):
        detector.check(ToolCall("", "t", {"n": n}))
        detector.record(ToolCall("", "t", {"n": n}), str(n))
        sizes.append(len(orjson.dumps(detector.to_json())))
    assert max(sizes[1000:]) <= max(sizes[:1000]) + 40 * 30
    assert len(detector.to_json()["calls"]) == 30

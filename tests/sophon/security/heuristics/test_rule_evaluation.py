"""Evaluation by heuristics: disguises that do not help, benign actions, hostile sizes; it never raises."""

import base64
import time
from collections.abc import Iterator, Mapping
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from sophon.security import evaluate_heuristics
from tests.tables import table

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.binary(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=20,
)
NAMES = st.sampled_from(["command", "code", "path", "url", "text"]) | st.text()


@table(
    "command",
    [
        "ｒｍ －ｒｆ /",  # full-width letters
        "r\u200bm -rf /",
        "rm -rf \u2215",
        "'r'm -r\"f\" /",
        "echo ok; $(rm -rf /)",
        "echo " + base64.b64encode(b"rm -rf / ; echo done").decode(),
        "%72%6d%20-rf%20/",
        r"\x72\x6d -rf /",
    ],
)
def test_a_disguise_does_not_help(command: str) -> None:
    assert evaluate_heuristics("execute_command", {"command": command}).severity == "block"


@table(
    ("action_type", "payload"),
    [
        ("read_file", {"path": "notes/2026/plan.md"}),
        ("write_file", {"path": "a.py", "content": "import os\n\nprint('hello, Мир')\n# rm -rf build/ by hand\n"}),
        ("browser_navigate", {"url": "https://en.wikipedia.org/wiki/Rm_(Unix)?action=raw&section=2"}),
        ("execute_command", {"command": "git log --oneline | head -5"}),
        ("execute_command", {"command": ["make", "check"]}),
        ("memory_search", {"query": "what did I say about the bash course?"}),
        ("calculator", {"expression": "17 * 23"}),
        ("datetime", {}),
        ("send_message", {"text": "Dear Ann, the meeting is at 10. Best, Bob"}),
    ],
)
def test_a_benign_action_is_allowed(action_type: str, payload: dict[str, Any]) -> None:
    finding = evaluate_heuristics(action_type, payload)
    assert (finding.severity, finding.rules) == ("allow", ())


def test_text_in_a_file_is_no_command() -> None:
    assert evaluate_heuristics("write_file", {"path": "a.md", "content": "never run rm -rf /"}).rules == ()


@given(st.text(), st.dictionaries(NAMES, VALUES))
def test_it_never_raises(action_type: str, payload: dict[str, Any]) -> None:
    assert evaluate_heuristics(action_type, payload).severity in ("allow", "escalate", "block")


@table("payload", [{"text": "\ud800"}, {"text": b"\xff"}, {1: 2}, {"command": ["a", 1, None]}])
def test_odd_values_are_read(payload: Any) -> None:
    assert evaluate_heuristics("x", payload).severity == "allow"


def test_arguments_that_contain_themselves_go_to_a_person() -> None:
    values: list[Any] = []
    values.append(values)
    assert evaluate_heuristics("x", {"values": values}).rules == ("obfuscation.oversized_arguments",)


class _Broken(Mapping[str, Any]):
    def __getitem__(self, key: str) -> Any:
        raise RuntimeError(key)

    def __iter__(self) -> Iterator[str]:
        raise RuntimeError("no keys")

    def __len__(self) -> int:
        return 1


def test_an_evaluation_that_fails_blocks() -> None:
    finding = evaluate_heuristics("x", _Broken())
    assert (finding.severity, finding.rules) == ("block", ("heuristics.failed",))


def test_a_text_that_is_too_long_to_read_goes_to_a_person() -> None:
    assert evaluate_heuristics("x", {"text": "a" * 1_000_000}).severity == "escalate"


@table(
    "unit",
    ["a", "curl ", "rm -r ", "%41", "ignore the ", "<!-- ai ", "x=1; ", "а", "$(", "QUJD", "\\x41", "a=b;c=d; $a"],
)
def test_hostile_texts_take_linear_time(unit: str) -> None:
    def measure(size: int) -> float:
        payload = {"command": (unit * size)[:size]}
        evaluate_heuristics("execute_command", payload)
        times: list[float] = []
        for _ in range(3):
            start = time.process_time()
            evaluate_heuristics("execute_command", payload)
            times.append(time.process_time() - start)
        return min(times)

    # Quadratic time would need 64 times as long for 8 times the text.
    assert measure(80_000) < 24 * max(measure(10_000), 0.001)

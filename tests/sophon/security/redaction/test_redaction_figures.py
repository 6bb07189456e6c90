"""The goals of redaction on a small part of what `python -m tests.bench.redaction` measures."""

import time
from pathlib import Path

import sophon
from sophon.security import redact, redact_and_cut
from tests.bench.redaction import find_changed_lines
from tests.bench.redaction_corpus import build_samples, is_leaked
from tests.tables import table

PROSE = "The quick brown fox wrote the password and the key into a file, and then it jumped over a token. "
NUMBERS = (
    "2026-11-23 06:12:44,120 INFO sophon.runs run 3f2504e0-4f89-11d3-9a0c-0305e82c3301 ended: 12 steps, 4096 tokens\n"
)


@table("is_held_out", [False, True])
def test_at_least_99_of_100_secrets_are_found(is_held_out: bool) -> None:
    samples = [sample for sample in build_samples(seed=51, per_form=1) if sample.is_held_out is is_held_out]
    leaked = [sample.text for sample in samples if is_leaked(sample, redact(sample.text))]
    assert len(leaked) <= len(samples) // 100, leaked


def test_a_redacted_corpus_stays_as_it_is() -> None:
    shown = [redact(sample.text) for sample in build_samples(seed=51, per_form=1)]
    assert [text for text in shown if redact(text) != text] == []


def test_ordinary_lines_stay_as_they_are() -> None:
    files = sorted(Path(sophon.__file__).parent.glob("stores/**/*.py"))
    text = "".join(path.read_text() for path in files) + NUMBERS * 1000
    assert text.count("\n") > 10_000
    assert len(find_changed_lines(text)) <= text.count("\n") // 10_000


@table("unit", [PROSE, NUMBERS, "https://example.com/items?page=2&sort=name {'password': str, 'token': None}\n"])
def test_a_megabyte_takes_less_than_100_milliseconds(unit: str) -> None:
    text = unit * (1_000_000 // len(unit))
    redact(text[:10_000])
    assert min(measure(text) for _ in range(3)) < 0.1


def measure(text: str) -> float:
    began = time.process_time()
    redact(text)
    return time.process_time() - began


def test_a_summary_costs_as_much_as_what_it_is_cut_from_only_up_to_a_window() -> None:
    key = "sk-" + "9f8e7d6c5b4a39281706" * 2
    assert redact_and_cut(f"{key} {PROSE * 100_000}", 60).startswith("[REDACTED] The quick")

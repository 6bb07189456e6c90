"""The fast search finds what a search for the alternation of all patterns finds, and costs what it should."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sophon.security import secret_search
from sophon.security.secret_patterns import SECRET_FORMS
from sophon.security.secret_search import find_secrets, secret_pattern
from tests.bench.redaction import HOSTILE, NEARLY_SECRET
from tests.bench.redaction_corpus import build_samples
from tests.sophon.security.test_redaction import KEYS, ORDINARY

SAMPLES = [sample.text for sample in build_samples(seed=45, per_form=1)]
PREFIXES = [re.split(r"[\[(\\]", form.anchor)[0] for form in SECRET_FORMS]
TEXTS = st.lists(
    st.one_of(
        st.sampled_from([*KEYS, *ORDINARY]),
        st.sampled_from(SAMPLES),
        st.sampled_from([each for each in PREFIXES if each]),
        st.sampled_from(
            ["password", "Api_Key", " := ", "='", "token", "DB_PASS=", "--password ", "curl -u ada:", "://"]
        ),
        st.text("aAbB01-_./:=@&?\"'\\[]( \n\v", max_size=40),
        st.text(max_size=6),
    ),
    max_size=8,
).map("".join)


def find_slowly(text: str) -> list[tuple[int, int, str | None]]:
    return [(*match.span(), match.lastgroup) for match in secret_pattern().finditer(text)]


@given(TEXTS)
def test_the_fast_search_finds_what_the_slow_one_finds(text: str) -> None:
    assert [(*match.span(), match.lastgroup) for match in find_secrets(text)] == find_slowly(text)


def test_the_fast_search_finds_what_the_slow_one_finds_in_the_corpus() -> None:
    for text in SAMPLES:
        assert [(*match.span(), match.lastgroup) for match in find_secrets(text)] == find_slowly(text), text


class CountedPatterns(dict[str, re.Pattern[str]]):
    tries = 0

    def get(self, head: str, default: object = None) -> re.Pattern[str] | None:  # type: ignore[override]  # pyright: ignore[reportIncompatibleMethodOverride]
        self.tries += head in self
        return super().get(head)


@pytest.fixture
def patterns(monkeypatch: pytest.MonkeyPatch) -> CountedPatterns:
    counted = CountedPatterns(secret_search.patterns_by_head())
    monkeypatch.setattr(secret_search, "patterns_by_head", lambda: counted)
    return counted


@pytest.mark.parametrize("unit", HOSTILE)
def test_beginnings_without_a_value_cost_no_match(unit: str, patterns: CountedPatterns) -> None:
    assert list(find_secrets(unit * 2000)) == []
    assert patterns.tries <= 2


@pytest.mark.parametrize("unit", NEARLY_SECRET)
def test_a_text_of_near_secrets_costs_at_most_a_match_per_character(unit: str, patterns: CountedPatterns) -> None:
    assert list(find_secrets(unit * 2000)) == []
    assert patterns.tries <= len(unit) * 2000

"""The fast search finds what a search for the alternation of all patterns finds, and costs what it should."""

import json
import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sophon.security import redact, secret_search
from sophon.security.secret_patterns import SECRET_FORMS
from sophon.security.secret_search import find_secrets, secret_pattern
from tests.bench.redaction import HOSTILE, NEARLY_SECRET
from tests.bench.redaction_corpus import build_samples
from tests.properties import examples
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


EXCEPTED = st.lists(
    st.sampled_from(
        [
            *(
                "password",
                "secret",
                "pwd",
                "=",
                " = ",
                " =",
                ": ",
                " ",
                "\n",
                "'",
                '"',
                "settings.",
                "a.b1",
                "password1",
                "eyJ",
            ),
            *(
                "abcdefgh1",
                "eyJabcdef1",
                ".",
                "value: ",
                "string",
                "sTring",
                "\u017ftring",
                "SecretStr",
                "object",
                "s",
                "1",
                "é",
            ),
            *("?", "&", "page", "next", "my", "_", "-", "token=", "TOKEN=", "key=", "TOKEN_", "x9", "0", ")", "["),
        ]
    ),
    max_size=14,
).map("".join)


@given(EXCEPTED)
@settings(max_examples=examples(300))
def test_beside_excepted_text_it_finds_what_the_slow_one_finds(text: str) -> None:
    assert [(*match.span(), match.lastgroup) for match in find_secrets(text)] == find_slowly(text)


@pytest.mark.parametrize("depth", range(4))
def test_a_schema_within_texts_of_json_holds_no_password(depth: int) -> None:
    text = json.dumps({"password": "string", "secret": "boolean"})
    for _ in range(depth):
        text = json.dumps(text)
    assert find_slowly(text) == list(find_secrets(text)) == []


@pytest.mark.parametrize("name", ["", "my_", "x", "a_b", "9", "_", "my_pa", "ge", "a-b-"])
@pytest.mark.parametrize("place", ["page", "next", "age", "sync", "continuation", ""])
@pytest.mark.parametrize("separator", ["", "_", "--"])
def test_names_of_query_parameters_are_excepted_as_in_the_pattern(name: str, place: str, separator: str) -> None:
    text = f"https://a.b/?{name}{place}{separator}Token=hunter22"
    assert [(*match.span(), match.lastgroup) for match in find_secrets(text)] == find_slowly(text)


@pytest.mark.parametrize(
    "text", ["password = settings.password1 pwd=hunter2abc1 ", "password = a.b1 secret='string' pwd=hunter2xy"]
)
def test_a_secret_behind_excepted_text_is_found(text: str) -> None:
    assert "hunter2" not in redact(text)


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
def test_text_that_is_excepted_from_a_form_costs_no_match(unit: str, patterns: CountedPatterns) -> None:
    assert list(find_secrets(unit * 2000)) == []
    assert patterns.tries <= 2

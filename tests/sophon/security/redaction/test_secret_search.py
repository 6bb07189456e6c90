"""The fast search finds what a search for the alternation of all patterns finds, and costs what it should."""

import json
import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sophon.security import redact
from sophon.security.linear_patterns import LinearPattern
from sophon.security.redaction import secret_search
from sophon.security.redaction.secret_form import MAX_ANCHOR_CHARACTERS
from sophon.security.redaction.secret_patterns import SECRET_FORMS
from sophon.security.redaction.secret_search import find_secrets, secret_pattern
from tests.bench.redaction import HOSTILE, NEARLY_SECRET
from tests.bench.redaction_corpus import build_samples
from tests.properties import examples
from tests.sophon.security.redaction.test_text_redaction import KEYS, ORDINARY
from tests.tables import table

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


@table("depth", range(4))
def test_a_schema_within_texts_of_json_holds_no_password(depth: int) -> None:
    text = json.dumps({"password": "string", "secret": "boolean"})
    for _ in range(depth):
        text = json.dumps(text)
    assert find_slowly(text) == list(find_secrets(text)) == []


@table("name", ["", "my_", "x", "a_b", "9", "_", "my_pa", "ge", "a-b-"])
@table("place", ["page", "next", "age", "sync", "continuation", ""])
@table("separator", ["", "_", "--"])
def test_names_of_query_parameters_are_excepted_as_in_the_pattern(name: str, place: str, separator: str) -> None:
    text = f"https://a.b/?{name}{place}{separator}Token=hunter22"
    assert [(*match.span(), match.lastgroup) for match in find_secrets(text)] == find_slowly(text)


@table("text", ["password = settings.password1 pwd=hunter2abc1 ", "password = a.b1 secret='string' pwd=hunter2xy"])
def test_a_secret_behind_excepted_text_is_found(text: str) -> None:
    assert "hunter2" not in redact(text)


def test_the_fast_search_finds_what_the_slow_one_finds_in_the_corpus() -> None:
    for text in SAMPLES:
        assert [(*match.span(), match.lastgroup) for match in find_secrets(text)] == find_slowly(text), text


MANY_ANCHORS = ["pwd=$A" * 20, "key=pass=" * 20, "-u a: " * 12, "eyJaaaaaaaa.a" * 9, "pwd='s", "é", ""]
DENSE = st.lists(
    st.one_of(st.sampled_from(MANY_ANCHORS), st.sampled_from(SAMPLES), st.sampled_from(KEYS), EXCEPTED), max_size=8
).map("".join)


@given(DENSE)
@settings(max_examples=examples(300))
def test_among_many_anchors_it_finds_what_the_slow_one_finds(text: str) -> None:
    assert [(*match.span(), match.lastgroup) for match in find_secrets(text)] == find_slowly(text)


@table("filler", ["a", "é"])
def test_a_secret_among_many_anchors_is_found_wherever_a_search_ends(filler: str) -> None:
    samples = [text for text in SAMPLES[:: len(SAMPLES) // 60] if "\n" not in text]
    for length in range(0, 2 * MAX_ANCHOR_CHARACTERS, 37):
        for sample in samples:
            text = f"{'pwd=$A' * 20}{filler * length} {sample}"
            found = [(*match.span(), match.lastgroup) for match in find_secrets(text)]
            assert found == find_slowly(text), text


def test_among_many_anchors_one_that_goes_on_behind_a_long_one_is_found() -> None:
    text = f"{'pwd=$A' * 20} api_key=abcd://a:b@abcdefghijklm"
    found = [(*match.span(), match.lastgroup) for match in find_secrets(text)]
    assert found == find_slowly(text) != []


class CountedSearch:
    """Pattern that adds up how many bytes it may look at."""

    def __init__(self, pattern: LinearPattern) -> None:
        self._pattern, self.bytes = pattern, 0

    def find_span(self, data: bytes, start: int, end: int | None = None) -> tuple[int, int] | None:
        self.bytes += (len(data) if end is None else end) - start
        return self._pattern.find_span(data, start, end)


@pytest.mark.parametrize("unit", ["key=pass=aaaaaaaa", "pwd=$A", "token:pass=abcdefgh", "AUTH_KEY=xx"])
def test_many_anchors_cost_a_bounded_number_of_looks_at_each_byte(unit: str, monkeypatch: pytest.MonkeyPatch) -> None:
    counted = {kind: CountedSearch(secret_search.compile_anchors(is_long=kind)) for kind in (None, True, False)}

    def compile_anchors(*, is_long: bool | None = None) -> CountedSearch:
        return counted[is_long]

    monkeypatch.setattr(secret_search, "compile_anchors", compile_anchors)
    looks = list[float]()
    for times in (250, 500, 1000):
        text = unit * times
        before = sum(each.bytes for each in counted.values())
        list(find_secrets(text))
        looks.append((sum(each.bytes for each in counted.values()) - before) / len(text))
    assert looks[2] < 2 * looks[0] < 200


class CountedPatterns(dict[str, re.Pattern[str]]):
    tries = 0

    def __getitem__(self, head: str) -> re.Pattern[str]:
        self.tries += 1
        return super().__getitem__(head)


def _first_two(head: str) -> str:
    return head[:2]


@pytest.fixture
def patterns(monkeypatch: pytest.MonkeyPatch) -> CountedPatterns:
    compiled = secret_search.patterns_by_head()
    counted = CountedPatterns({head: compiled[head] for form in SECRET_FORMS for head in map(_first_two, form.heads)})
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

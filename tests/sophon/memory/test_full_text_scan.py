"""Word search: what counts as the same word, and what comes first."""

from dataclasses import dataclass

from hypothesis import given
from hypothesis import strategies as st

from sophon.memory.full_text_scan import rank_entries, stem_word, tokenize
from tests.tables import table


@dataclass(frozen=True)
class Note:
    text: str


def found(query: str, *texts: str, limit: int = 10) -> list[str]:
    return [note.text for note in rank_entries(query, [Note(text) for text in texts], limit)]


@table(
    "forms",
    [
        "cat cats",
        "city cities",
        "box boxes",
        "house houses",
        "bus buses",
        "class classes",
        "movie movies",
        "like likes liked liking",
        "stop stops stopped stopping",
        "call calls called calling",
        "study studies studied studying",
        "potato potatoes",
    ],
)
def test_the_forms_of_one_word_are_the_same(forms: str):
    assert len({stem_word(form) for form in forms.split()}) == 1


@table("pair", ["cat catalogue", "king kin", "news newt", "bring br", "bed be", "this thi", "us u"])
def test_other_words_stay_apart(pair: str):
    one, other = pair.split()
    assert stem_word(one) != stem_word(other)


@table(
    ("text", "words"),
    [
        ("Ada's Cat-Food", ["ada", "cat", "food"]),
        ("CAFÉ café Cafe\u0301", ["caf", "caf", "caf"]),
        ("Straße STRASSE", ["strass", "strass"]),
        ("猫が好き", ["猫", "か", "好", "き"]),
        ("snake_case 42", ["snak", "cas", "42"]),
        ("?! 🐱", []),
    ],
)
def test_words_are_compared_without_case_accents_and_endings(text: str, words: list[str]):
    assert tokenize(text) == words


def test_whole_words_are_found_and_parts_of_words_are_not():
    assert found("cat", "cats sleep", "concatenate", "a catalogue") == ["cats sleep"]


def test_a_rare_word_counts_more_than_a_common_one():
    common = [f"the user said {n}" for n in range(10)]
    assert found("what the zebra said", *common, "a zebra", limit=1) == ["a zebra"]


def test_more_shared_words_count_more():
    assert found("red apple pie", "red car fast", "red apple pie now")[0] == "red apple pie now"


def test_a_short_entry_comes_before_a_long_one():
    long = "cat " + " ".join(f"word{n}" for n in range(50))
    assert found("cat", "cat here", long) == ["cat here", long]


def test_equally_good_entries_come_newest_first():
    assert found("cat", "cat one", "cat two", "cat six") == ["cat six", "cat two", "cat one"]


def test_a_blank_query_gives_the_newest():
    assert found(" \n", "one", "two", "three", limit=2) == ["three", "two"]


def test_a_query_without_words_finds_nothing():
    assert found("?!", "one", "two") == []


@given(st.text(max_size=40), st.lists(st.text(max_size=40), max_size=8), st.integers(-1, 9))
def test_whatever_is_found_shares_a_word_and_is_found_once(query: str, texts: list[str], limit: int):
    notes = [Note(text) for text in texts]
    result = rank_entries(query, notes, limit)
    assert len(result) <= max(limit, 0)
    assert len({id(note) for note in result}) == len(result)
    if query.strip():
        assert all(set(tokenize(note.text)) & set(tokenize(query)) for note in result)


@given(st.text(max_size=60).filter(tokenize))
def test_a_text_with_words_finds_itself(text: str):
    assert text in found(text, "something else", text)

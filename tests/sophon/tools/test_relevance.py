"""Scores: whole words only, a point for a tag, half a point for a word of the description."""

from hypothesis import given
from hypothesis import strategies as st

from sophon import Tool, tool
from sophon.tools.relevance import RelevanceIndex, split_words
from tests.tables import table


def made(name: str, description: str = "", tags: tuple[str, ...] = ()) -> Tool:
    @tool(name=name, description=description or "the", tags=tags)
    async def act() -> None: ...

    return act


MAIL = made("mail.send", "Send an electronic letter to somebody", ("mail", "Letter", "look up", "e-mail"))
FILES = made("files.read", "Read a document", ("file", "files"))
ALONE = made("search", "Find things", ())
INDEX = RelevanceIndex([MAIL, FILES, ALONE])


@table(
    ("text", "expected"),
    [
        ("", {}),
        ("hello there", {}),
        ("mail", {"mail.send": 1.0}),
        ("MAIL!", {"mail.send": 1.0}),
        ("mail mail mail", {"mail.send": 1.0}),
        ("electronic", {"mail.send": 0.5}),
        ("a letter", {"mail.send": 1.5}),
        ("send mail", {"mail.send": 1.5}),
        ("mailbox", {}),
        ("email", {}),
        ("profile", {}),
        ("file", {"files.read": 1.0}),
        ("file.txt", {"files.read": 1.0}),
        ("my_file", {"files.read": 1.0}),
        ("the files and the file", {"files.read": 2.0}),
        ("read my mail", {"mail.send": 1.0, "files.read": 0.5}),
        ("to an a", {}),
        ("look up the number", {"mail.send": 1.0}),
        ("Look, up there", {"mail.send": 1.0}),
        ("look", {}),
        ("up and look", {}),
        ("lookup", {}),
        ("outlook upset", {}),
        ("an e-mail", {"mail.send": 2.0}),
    ],
)
def test_whole_words_score(text: str, expected: dict[str, float]) -> None:
    assert INDEX.score_tools(text) == expected


def test_a_tag_that_is_written_twice_counts_once() -> None:
    index = RelevanceIndex([made("a", tags=("Look up", "look-up", "mail", "Mail"))])
    assert index.score_tools("look up my mail") == {"a": 2.0}


def test_scores_come_in_the_order_of_no_chance() -> None:
    assert INDEX.score_tools("file mail") == {"files.read": 1.0, "mail.send": 1.0}
    assert INDEX.score_tools("file mail") == INDEX.score_tools("file mail")


@table(
    ("text", "expected"),
    [
        ("use files.read, then mail.send", ["mail.send", "files.read"]),
        ("use FILES.READ.", ["files.read"]),
        ("`files.read`", ["files.read"]),
        ("files.reader", []),
        ("my.files.read", []),
        ("files.read.all", []),
        ("profiles.read", []),
        ("files read", []),
        ("search for it", ["search"]),
        ("research", []),
        ("searching", []),
    ],
)
def test_names_that_stand_in_the_text_are_found_in_order_of_registration(text: str, expected: list[str]) -> None:
    assert INDEX.find_named_tools(text) == expected


@table(
    ("text", "expected"),
    [
        ("", []),
        ("Hello, World!", ["hello", "world"]),
        ("snake_case kebab-case dot.ted", ["snake", "case", "kebab", "case", "dot", "ted"]),
        ("Straße 12b", ["straße", "12b"]),
        ("日本 語", ["日本", "語"]),
        ("don't", ["don", "t"]),
    ],
)
def test_a_text_is_parted_into_words(text: str, expected: list[str]) -> None:
    assert split_words(text) == expected


@table(
    ("text", "may"),
    [("", False), ("hello there", False), ("to an a", False), ("a Letter", True), ("look", True), ("SEARCH!", True)],
)
def test_a_text_without_a_first_word_of_anything_is_told_at_once(text: str, may: bool) -> None:
    assert INDEX.may_match(text) is may


@given(st.lists(st.sampled_from(["mail.send", "mail", "look up", "e-mail", "files", "up", "letter", "the", "search"])))
def test_nothing_is_found_in_a_text_that_cannot_match(words: list[str]) -> None:
    text = " ".join(words)
    found = [*INDEX.score_tools(text), *INDEX.count_name_words(text), *INDEX.find_named_tools(text)]
    assert INDEX.may_match(text) or not found

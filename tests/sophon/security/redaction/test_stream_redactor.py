"""Redaction of a stream: wherever it is cut, it is what redaction of the whole text is, and little is held back."""

from collections.abc import Iterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sophon.security import StreamRedactor, redact
from sophon.security.redaction import stream_redactor
from sophon.security.redaction.known_secrets import KNOWN_SECRETS
from sophon.security.redaction.redaction_pieces import CUT_MARGIN, MAX_PIECE, Cut, find_cut
from tests.properties import examples
from tests.sophon.security.redaction.test_text_redaction import (
    BEHIND_ESCAPES,
    ESCAPED,
    KEYS,
    ORDINARY,
    PASSWORDS,
    PUNCTUATED,
)
from tests.tables import table

KNOWN = [
    "correct horse battery staple",
    "p@ss \"word' 1",
    "red red blue red red green",
    "line one\nline two",
    "密码 是 天空天空",
]
PEM = "-----BEGIN RSA PRIVATE KEY-----\nMIIE abc\nsk-x\n-----END RSA PRIVATE KEY-----"
ENCODED = ["correct+horse%20battery staple", 'p@ss \\"word\\u0027 1', "line one\\nline two"]
PIECES = st.one_of(
    st.sampled_from(
        [
            *KEYS,
            *ORDINARY,
            *KNOWN,
            *ENCODED,
            *BEHIND_ESCAPES,
            *PASSWORDS,
            *ESCAPED.values(),
            *(text.partition("hunter")[0] for text in ESCAPED.values()),
            *(frame.partition("{")[0] for frame in PUNCTUATED),
            'password\\t = \\\\"',
            PEM,
            PEM[:31],
            PEM[:-20],
            PEM[-29:],
            "private_key=",
            "password = ",
            "Authorization : ",
            "authorization: Token ",
            "Bearer  ",
            "'api_key' : '",
            'secret":    "',
            "token\n=\n",
            "://a:",
            "@h",
            "?sig=a",
            "red ",
            "correct horse ",
            "-----BEGIN ",
            "密码password=abcdefgh1是",
        ]
    ),
    st.text("abcdeXYZ0189-_./:=@&?\"'\\[]( \n", max_size=24),
    st.text(max_size=8),
    st.sampled_from(["x", " ", "k=", "a.", "password = ", "abcdefg1 "]).flatmap(
        lambda unit: st.integers(0, 30).map(lambda times: unit * times)
    ),
)
LENGTHS = (0, 1, 2, 3, 5, 8, 13, 21, 34)
"""Of the chunk between two cuts."""
TEXTS = st.lists(PIECES, max_size=10).map("".join)


@pytest.fixture(scope="module", autouse=True)
def known_values() -> Iterator[None]:
    before = KNOWN_SECRETS.values
    for value in KNOWN:
        KNOWN_SECRETS.add(value)
    yield
    KNOWN_SECRETS.restore(before)


def stream(*chunks: str) -> str:
    redactor = StreamRedactor()
    return "".join([*map(redactor.feed, chunks), redactor.flush()])


@given(TEXTS, st.data())
@settings(max_examples=examples(120), deadline=None)
def test_any_chunks_become_what_the_whole_text_becomes(text: str, data: st.DataObject) -> None:
    cuts = sorted(data.draw(st.lists(st.integers(0, len(text)), max_size=12)))
    chunks = [text[start:end] for start, end in zip([0, *cuts], [*cuts, len(text)], strict=True)]
    assert stream(*chunks) == redact(text)
    assert stream(*text) == redact(text)


@table("text", [*KEYS, *KNOWN, *ENCODED, PEM, "password = hunter22hunter", "Authorization: Bearer ab.cd-ef"])
def test_a_secret_is_found_at_every_cut(text: str) -> None:
    whole = f"it is {text} and so on"
    shown = redact(whole)
    assert "REDACTED" in shown
    for first in range(len(whole)):
        for length in LENGTHS:
            second = first + length
            assert stream(whole[:first], whole[first:second], whole[second:]) == shown


def count_held(redactor: StreamRedactor) -> int:
    return len(redactor._held) + sum(map(len, redactor._key))


def test_ordinary_text_is_held_back_by_one_word() -> None:
    words = [ORDINARY[number % len(ORDINARY)].split()[0] + str(number) for number in range(10)] + ["of"] * 9_990
    redactor = StreamRedactor()
    for word in words:
        for character in f"{word} ":
            redactor.feed(character)
            assert count_held(redactor) <= len(word)
    assert count_held(redactor) == 0


def test_text_without_spaces_is_not_held_back() -> None:
    redactor = StreamRedactor()
    text = "天空是蓝色的。" * 1000
    assert "".join(map(redactor.feed, text)) == text


@table("unit", ["a1B2", "password = ", "sk-a-", "://a:", "secret='", "-----BEGIN ", "red "])
def test_what_is_held_back_is_bounded(unit: str) -> None:
    redactor = StreamRedactor()
    text = (unit * MAX_PIECE)[: 2 * MAX_PIECE]
    shown: list[str] = []
    for start in range(0, len(text), 128):
        shown.append(redactor.feed(text[start : start + 128]))
        assert count_held(redactor) <= MAX_PIECE + 128
    assert "".join(shown) + redactor.flush() == redact(text)


def test_a_private_key_leaves_as_a_marker_behind_its_end() -> None:
    redactor = StreamRedactor()
    body = "MIIEabcdef0123456789\n" * 4000
    pem = f"-----BEGIN PRIVATE KEY-----\n{body}-----END PRIVATE KEY-----"
    assert redactor.feed("here: ") == "here: "
    shown = "".join(redactor.feed(pem[start : start + 11]) for start in range(0, len(pem), 11))
    assert shown + redactor.feed(" ") + redactor.feed("end ") == "[REDACTED] end "
    assert redact(f"here: {pem} end ") == "here: [REDACTED] end "


@table("size", [1, 10, 70])
def test_what_stands_behind_a_private_key_is_held_back_by_one_word(size: int) -> None:
    redactor = StreamRedactor()
    shown = redactor.feed(f"-----BEGIN PRIVATE KEY-----\n{'MIIEabcdef' * 10 * size}\n-----END PRIVATE KEY-----")
    assert shown == ""
    assert redactor.feed(".\n") == "[REDACTED].\n"
    assert redactor.feed("end ") == "end "


GLUED = [
    "password=hunter22{}hunter22abc",
    "password=hunter22{}",
    "PASSWORD: --token={}pa55w0rdBearer x",
    "password=a1{0}b2{0}c3 x",
    'password="a1{0}b2{0}c3 x',
    "{0}{0} password=a1{0} x",
]


@table("size", [1, 100, 300])
@table("frame", GLUED)
def test_a_private_key_within_a_password_is_no_place_to_cut(frame: str, size: int) -> None:
    text = frame.format(
        f"-----BEGIN PRIVATE KEY-----\n{'MIIEabcdefghij0123456789+/=' * size}\n-----END PRIVATE KEY-----"
    )
    for length in (1, 7, 300, 5000):
        assert stream(*[text[at : at + length] for at in range(0, len(text), length)]) == redact(text)


@table("place", range(MAX_PIECE - CUT_MARGIN - 60, MAX_PIECE - CUT_MARGIN + 5, 3))
def test_a_secret_in_a_run_without_spaces_is_not_cut(place: int) -> None:
    text = ";" * place + "sk-proj-abc_DEF-123456789012345;AKIAIOSFODNN7EXAMPLE;" + "," * MAX_PIECE
    assert "DEF-" not in redact(text)
    assert "OSFO" not in redact(text)
    assert stream(*[text[start : start + 50] for start in range(0, len(text), 50)]) == redact(text)


@table(
    "name", ["password=", "DB_PASS: ", "PGPASSWORD=", "token=", "api_key=", "Authorization: Bearer ", "SIGNING_KEY="]
)
def test_a_secret_with_a_private_key_behind_it_is_no_code(name: str) -> None:
    text = f"{name}hunter22abcd1234hunter{PEM}"
    assert "hunter" not in redact(text)
    assert stream(*text) == redact(text)
    assert redact(redact(text)) == redact(text)


def test_a_private_key_behind_an_assignment_is_replaced_whole() -> None:
    assert redact(f"PASSWORD={PEM} x") == "PASSWORD=[REDACTED] x"


@pytest.mark.parametrize(
    "unit", ["-----BEGIN ", "-----BEGIN PRIVATE KEY----------END PRIVATE KEY-----", f"x={PEM}password="]
)
def test_a_text_that_cannot_be_cut_is_not_searched_with_every_chunk(unit: str, monkeypatch: pytest.MonkeyPatch) -> None:
    searched: list[int] = []

    def count(text: str, start: int = 0, *, floor: int = 0) -> Cut:
        searched.append(len(text) - start)
        return find_cut(text, start, floor=floor)

    monkeypatch.setattr(stream_redactor, "find_cut", count)
    redactor = StreamRedactor()
    text = unit * (33_000 // len(unit))
    shown = "".join(redactor.feed(text[at : at + 50]) for at in range(0, len(text), 50)) + redactor.flush()
    assert shown == redact(text)
    assert sum(searched) < 20 * len(text)

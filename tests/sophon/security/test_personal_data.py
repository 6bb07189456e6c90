"""Personal data in texts: what is recognised, what is not, and placeholders that come back as they were."""

import json
import time
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from sophon.security.personal_data import ALL_KINDS, compile_names, find_names, find_personal_data
from sophon.security.placeholders import Placeholders, StreamRestorer
from sophon.security.rewritten_text import fold
from tests.tables import table

NAMES = ("Ada Lovelace", "Zoë", "李雷", "Jörg Weiß", "İpek", "Işık", "Σίσυφος")
VALUES = {
    "ada@example.com": "EMAIL",
    "ada.b+c@mail.example.co.uk": "EMAIL",
    "ada@xn--bcher-kva.example": "EMAIL",
    "ada%40example.com": "EMAIL",
    "ada%2540example.com": "EMAIL",
    "ada&#64;example.com": "EMAIL",
    "ada\\u0040example.com": "EMAIL",
    "ada\uff20example.com": "EMAIL",
    "ada(at)example.com": "EMAIL",
    "ada [at] example [dot] com": "EMAIL",
    "o'brien@example.com": "EMAIL",
    "ada@example[.]com": "EMAIL",
    "ada[@]example[.]com": "EMAIL",
    "ada@exam\u200bple.com": "EMAIL",
    "иван@пример.рф": "EMAIL",
    r"\u0438\u0432\u0430\u043d@\u043f\u0440\u0438\u043c\u0435\u0440.\u0440\u0444": "EMAIL",
    r"m\u00fcller@example.com": "EMAIL",
    "+43–664–1234567": "PHONE",
    "+43\u2009664\u20091234567": "PHONE",
    "\uff0b43 664 1234567": "PHONE",
    "01.23.45.67.89": "PHONE",
    "0151.23456789": "PHONE",
    "٠٥٠١٢٣٤٥٦٧": "PHONE",
    "4111.1111.1111.1111": "CARD",
    "4111–1111–1111–1111": "CARD",
    "+43 664 1234567": "PHONE",
    "+43 (0) 664/123 45 67": "PHONE",
    "0043 664 1234567": "PHONE",
    "0664/1234567": "PHONE",
    "06641234567": "PHONE",
    "(555) 123-4567": "PHONE",
    "555-123-4567": "PHONE",
    "AT61 1904 3002 3457 3201": "IBAN",
    "DE89370400440532013000": "IBAN",
    "gb82 west 1234 5698 7654 32": "IBAN",
    "4111 1111 1111 1111": "CARD",
    "378282246310005": "CARD",
    "5555-5555-5555-4444": "CARD",
    "192.168.1.17": "IP",
    "192[.]168[.]1[.]17": "IP",
    "2001:db8::8a2e:370:7334": "IP",
    "Ada Lovelace": "NAME",
    "ADA  lovelace": "NAME",
    "Zoe\u0308": "NAME",
    "JÖRG WEISS": "NAME",
    "jörg weiss": "NAME",
    "JÖRG WEIẞ": "NAME",
    "Jo\u0308rg Weiß": "NAME",
    "ipek": "NAME",
    "İPEK": "NAME",
    "I\u0307PEK": "NAME",
    "IPEK": "NAME",
    "IŞIK": "NAME",
    "ışık": "NAME",
    "ΣΊΣΥΦΟΣ": "NAME",
    "李雷": "NAME",
}
ORDINARY = (
    "on 2024-01-15 at 12:30:45, 01-02-2024 and 09/11/2001",
    "order 1234567890123456, 4111 1111 1111 1112, in 1,234,567.89 of 100 000 000",
    "DE89370400440532013001 is no account, version 1.2.3 and 300.1.1.1",
    "std::vector<int>, a[::2], x[1:2:3], @decorator, pkg@1.2.3, a @ b",
    "Adagio, Zoes, Ada alone, f47ac10b-58cc-4372-a567-0e02b2c3d479",
    "1700000000000 and 0x0411111111111111 and #4111",
    "1+1=2, a+b, C++, 12+34+56, x = 1 + 2, AT&T; &amp; &unknown; &lt;b&gt; 5&6; C:\\new\\table",
    "1990–2000, 0151.2345, 01.02.2024, x[at].y, list(at), 4111.1111.1111.1112",
)


def placeholders() -> Placeholders:
    return Placeholders(ALL_KINDS, compile_names(NAMES))


def find(text: str) -> list[tuple[str, str]]:
    spans = [*find_personal_data(text), *find_names(text, compile_names(NAMES))]
    return [(text[each.start : each.end], each.label) for each in spans]


AROUND = [("", ""), ("x ", " y"), ("(", ")."), ('"', '",'), ("我叫", "吗"), ("\\n", "\\n"), ("\\u003c", "\\u003e")]


@table(("before", "after"), AROUND)
@table("value", VALUES)
def test_each_kind_is_found_whole(value: str, before: str, after: str) -> None:
    assert find(f"{before}{value}{after}") == [(value, VALUES[value])]


@table("following", ["from", "12/27", "2024", "and"])
@table("value", ["AT61 1904 3002 3457 3201", "4111 1111 1111 1111"])
def test_what_follows_a_number_belongs_not_to_it(value: str, following: str) -> None:
    assert find(f"pay {value} {following} now") == [(value, VALUES[value])]


def test_a_number_behind_another_one_is_found() -> None:
    assert ("4111 1111 1111 1111", "CARD") in find("2024 4111 1111 1111 1111")


ESCAPED = {
    "Zo\\u00eb": "NAME",
    "ZO\\u00cb": "NAME",
    "Zo\\\\u00EB": "NAME",
    "Zo\\xeb": "NAME",
    "zo%C3%ab": "NAME",
    "ZO%C3%8B": "NAME",
    "Ada%20Lovelace": "NAME",
    "ada\\u00a0lovelace": "NAME",
    "%E6%9D%8E%e9%9b%b7": "NAME",
    "z\\u00f6e@example.com": "EMAIL",
    "zoe@ex\\u00e4mple.com": "EMAIL",
    "zoe@ex%C3%A4mple.com": "EMAIL",
    "z%C3%B6e%40example.com": "EMAIL",
    "zoe\\u0040example.com": "EMAIL",
    "%2B43%20664%201234567": "PHONE",
    "\\u002b43 664\\u00a01234567": "PHONE",
    "4111%201111%201111%201111": "CARD",
    "2001%3Adb8%3A%3A8a2e%3A370%3A7334": "IP",
    "Ada+Lovelace": "NAME",
    "Ada\\nLovelace": "NAME",
    "Ada\\\\tLovelace": "NAME",
    "Ada&nbsp;Lovelace": "NAME",
    "zo&euml;": "NAME",
    "zo&#235;": "NAME",
    "zo%25C3%25AB": "NAME",
    "J\\u00f6rg+Wei&szlig;": "NAME",
    "%C4%B0pek": "NAME",
    "J%C3%B6rg+Wei%C3%9F": "NAME",
    "4111+1111+1111+1111": "CARD",
    "DE89+3704+0044+0532+0130+00": "IBAN",
    "%2B43+664+1234567": "PHONE",
    "+43+664+1234567": "PHONE",
    "(0664)+1234567": "PHONE",
    "ada@example&#46;com": "EMAIL",
    "ada@example&#x2e;com": "EMAIL",
    "ada@example&period;com": "EMAIL",
    "ada(at)example&#46;com": "EMAIL",
    "ada&amp;#64;example&amp;#46;com": "EMAIL",
    "ada&#64example&#46;com": "EMAIL",
    "ada@example%2Ecom": "EMAIL",
    "ada%2540example%252Ecom": "EMAIL",
}


@table(("before", "after"), [("", ""), ("x ", " y"), ('"', '",'), ("q=", "&z=1"), ("\\u003c", "\\n")])
@table("value", ESCAPED)
def test_an_escaped_value_is_found_whole(value: str, before: str, after: str) -> None:
    known = placeholders()
    text = f"{before}{value}{after} and {value}"
    assert known.mask(text) == f"{before}[{ESCAPED[value]}_1]{after} and [{ESCAPED[value]}_1]"
    assert known.restore(known.mask(text)) == text


def test_a_name_of_letters_beyond_the_first_plane_is_found_as_json_escapes_it() -> None:
    known = Placeholders(ALL_KINDS, compile_names(("𠮷田",)))
    assert known.mask(json.dumps("from 𠮷田.")) == '"from [NAME_1]."'


def test_every_letter_whose_folded_case_is_longer_is_known() -> None:
    letters = [letter for letter in map(chr, range(0x110000)) if len(letter.casefold()) > 1]
    folded = fold("".join(letters))
    assert len(letters) == len(folded.starts) > 100
    assert folded.find_span(0, len(folded.text)) == (0, len(letters))
    assert [folded.find_span(start, start + 1) for start in folded.starts] == [
        (at, at + 1) for at in range(len(letters))
    ]


@given(st.text("aßİıiI\u0307ŉﬃΣςé字 "), st.data())
def test_a_place_in_a_folded_text_is_one_in_the_text(text: str, data: st.DataObject) -> None:
    folded = fold(text)
    start, end = sorted(data.draw(st.tuples(*[st.integers(0, len(folded.text))] * 2)))
    first, last = folded.find_span(start, end)
    assert 0 <= first <= last <= len(text)
    assert folded.text[start:end] in fold(text[first:last]).text
    assert folded.find_span(0, len(folded.text)) == (0, len(text))


@table("text", ["Weisser", "Zoës", "Ipekt", "Jörg Weissß", "ŉipek", "ﬁzoë"])
def test_a_name_within_a_longer_word_stays(text: str) -> None:
    assert placeholders().mask(text) == text


@table("text", ORDINARY)
def test_ordinary_text_stays(text: str) -> None:
    assert placeholders().mask(text) == text


def test_the_same_value_has_the_same_placeholder() -> None:
    known = placeholders()
    assert known.mask("from a@x.org to b@x.org, cc a@x.org") == "from [EMAIL_1] to [EMAIL_2], cc [EMAIL_1]"
    assert known.mask("b@x.org at 10.0.0.1") == "[EMAIL_2] at [IP_1]"
    assert known.restore_json({"to": ["[EMAIL_2]"], "n": 1, "[IP_1]": None}) == {
        "to": ["b@x.org"], "n": 1, "10.0.0.1": None,
    }  # fmt: skip


def test_a_text_that_looks_like_a_placeholder_stays_itself() -> None:
    known = placeholders()
    text = "a@x.org is not [EMAIL_1]"
    assert known.mask(text) == "[EMAIL_1] is not [TEXT_1]"
    assert known.restore(known.mask(text)) == text
    assert known.restore("[EMAIL_7]") == "[EMAIL_7]"


PIECES = st.one_of(
    st.sampled_from([*VALUES, *ESCAPED, *ORDINARY, "[EMAIL_1]", "[TEXT_1]", "[", "]", "_1", "EMAIL", " ", "\n", "\\n"]),
    st.text(max_size=8),
    st.emails(),
)
TEXTS = st.lists(PIECES, max_size=10).map("".join)


@given(TEXTS, st.lists(st.integers(0, 300), max_size=8))
def test_each_text_comes_back_wherever_the_stream_is_cut(text: str, cuts: list[int]) -> None:
    known = placeholders()
    masked = known.mask(text)
    assert known.restore(masked) == text
    restorer = StreamRestorer(known)
    places = sorted({0, len(masked), *(cut for cut in cuts if cut < len(masked))})
    pieces = [masked[begin:end] for begin, end in pairwise(places)]
    assert "".join([*map(restorer.feed, pieces), restorer.flush()]) == text


@given(TEXTS)
def test_no_value_is_left_in_a_masked_text(text: str) -> None:
    known = placeholders()
    masked = known.mask(text)
    assert find(masked) == []
    assert known.mask_json(json.loads(json.dumps({"a": [text]})))["a"] == [masked]


HOSTILE = [
    "a.",
    "a@",
    "a@a.",
    "1 ",
    "+1 ",
    "AT61 ",
    "at61 1904 ",
    "4111 ",
    "1.1.",
    "a:",
    "::",
    "[",
    "(0",
    "\\n",
    "\\u00eb",
    "%C3",
    "\\",
    "Ada ",
    "Ada+",
    "&amp;",
    "&#46;",
    "&a",
    "4111+",
    "%25",
    "ß",
    "İ",
    "ﬁ",
]


@table("unit", HOSTILE)
def test_the_time_is_linear(unit: str) -> None:
    small, large = (measure(unit * (size // len(unit))) for size in (4_000, 32_000))
    assert large < 8 * 4 * max(small, 0.002)


def measure(text: str) -> float:
    spent: list[float] = []
    for _ in range(2):
        began = time.process_time()
        placeholders().mask(text)
        spent.append(time.process_time() - began)
    return min(spent)


@table("text", ["王芳@example.com", "さくら@example.jp", "김철수@example.kr", "用户@例子.广告", "ada@例子.中国"])
def test_an_address_in_a_script_without_spaces_is_found(text: str) -> None:
    assert find(text) == [(text, "EMAIL")]


@table("text", ["DE89.3704.0044.0532.0130.00", "DE89  3704  0044  0532  0130  00"])
def test_what_may_be_two_kinds_is_masked_whole(text: str) -> None:
    assert placeholders().mask(text) == "[IBAN_1]"

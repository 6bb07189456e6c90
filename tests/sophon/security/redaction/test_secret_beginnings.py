"""A text is not cut behind the beginning of a secret: the search from the end finds what one forwards finds."""

import re

from hypothesis import given, settings
from hypothesis import strategies as st

from sophon.security.redaction.redaction_pieces import find_safe_place
from sophon.security.redaction.secret_patterns import BOUNDARY
from tests.properties import examples

_SPACE = r"[\t-\r ]"
_QUOTE = r"(?:\\?[\"'])?"
_FIRST_NAMES = "pass(?:word|wd|phrase)?|pwd|secret"
_NAME = rf"(?:{_FIRST_NAMES}|key|token|authorization|bearer|basic|digest|bot)"
_ASSIGNMENT = rf"{_NAME}\\?[\"']?{_SPACE}{{0,4}}(?:(?::=|=>|[:=]){_SPACE}{{0,4}})?"
_ENTRY = rf"(?:{_FIRST_NAMES}|key|token)[\"']?,?{_SPACE}{{0,24}}(?:[\"']?value[\"']?{_SPACE}{{0,4}}:?{_SPACE}{{0,4}})?"
_WORDS = rf"(?:identified(?:{_SPACE}{{1,4}}by)?|sshpass(?:{_SPACE}{{1,4}}-p)?|-u|--user)[\t-\r =]{{0,4}}"
_COMMAND = rf"redis-cli(?:{_SPACE}{{1,4}}[^\t-\r \"'`;|&]{{1,64}}){{0,9}}{_SPACE}{{0,4}}"
FORWARDS = re.compile(rf"(?i:(?:{_ASSIGNMENT}|{_ENTRY}|{_WORDS}|{_COMMAND}){_QUOTE})\Z")
WORDS = (
    *("password", "pass", "secret", "token", "key", "bot", "digest", "Bearer", "authorization", "identified", "by"),
    *(
        "sshpass",
        "-p",
        "-u",
        "--user",
        "redis-cli",
        "-a",
        "value",
        "passwordx",
        "x",
        "secretoken",
        "\u0130",
        "\u212aey",
    ),
)
TEXTS = st.lists(
    st.one_of(
        st.sampled_from(WORDS),
        st.sampled_from([" ", " ", "  ", "\t", "\v", "\n", "'", '"', '\\"', "=", ":", ":=", "=>", ",", "天"]),
        st.text(" =:'\\,a", max_size=6),
    ),
    max_size=30,
).map("".join)


def find_forwards(text: str, place: int, limit: int) -> int:
    while place > limit and not (BOUNDARY.match(text, place - 1) and FORWARDS.search(text[:place]) is None):
        place -= 1
    return max(place, limit)


@given(TEXTS, st.data())
@settings(max_examples=examples(100), deadline=None)
def test_the_search_from_the_end_finds_the_last_safe_place(text: str, data: st.DataObject) -> None:
    place = data.draw(st.integers(0, len(text)))
    limit = data.draw(st.integers(0, place))
    assert max(find_safe_place(text, place, limit), limit) == find_forwards(text, place, limit)

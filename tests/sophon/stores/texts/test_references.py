"""Taking large texts out of JSON data and putting them back."""

from hypothesis import given
from hypothesis import strategies as st

from sophon.stores.texts.large_text import LARGE_TEXT_BYTES, is_large, text_id
from sophon.stores.texts.references import put_back_texts, split_into_parts, take_out_texts

LARGE = "x" * LARGE_TEXT_BYTES
TEXTS = st.text(max_size=3) | st.builds(lambda piece: piece * LARGE_TEXT_BYTES, st.text(min_size=1, max_size=3))
VALUES = st.recursive(
    st.none() | st.integers() | TEXTS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=3), inner, max_size=4),
    max_leaves=8,
)


@given(VALUES)
def test_what_is_taken_out_is_put_back(value) -> None:
    rest, found = take_out_texts(value)
    texts = {reference.id: text for reference, text in found.items()}
    assert put_back_texts(rest, list(found), texts.get) == value
    assert all(is_large(text) for text in texts.values())


def test_a_value_without_large_texts_is_not_copied() -> None:
    value = {"a": ["b", {"c": 1}]}
    assert take_out_texts(value)[0] is value


def test_a_text_that_is_gone_is_said_to_be_gone() -> None:
    rest, found = take_out_texts({"text": LARGE})
    (reference,) = found
    assert put_back_texts(rest, [reference], lambda _: None) == {
        "text": "[a text of 32,768 characters, which is no longer in the store]"
    }


def test_the_full_text_of_a_turn_consists_of_its_messages() -> None:
    first, last = LARGE, "y" * LARGE_TEXT_BYTES
    known = {text_id(each): each for each in (first, last)}
    assert split_into_parts(f"{first}\n\n{last}.", known) == [
        {"id": text_id(first)},
        "\n\n",
        {"id": text_id(last)},
        ".",
    ]


def test_a_text_of_which_much_is_new_is_stored_whole() -> None:
    assert split_into_parts(LARGE + "y" * LARGE_TEXT_BYTES, {"id": LARGE}) is None


@given(st.text(max_size=5), st.sampled_from([LARGE_TEXT_BYTES - 1, LARGE_TEXT_BYTES]))
def test_a_text_is_large_from_its_size_in_utf8_on(piece: str, size: int) -> None:
    text = (piece or "x") * (size // len((piece or "x").encode("utf-8", "surrogatepass")))
    assert is_large(text) == (len(text.encode("utf-8", "surrogatepass")) >= LARGE_TEXT_BYTES)

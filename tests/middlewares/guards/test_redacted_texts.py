"""The redactor of a turn knows what it has returned, and nothing else."""

from sophon.security import KNOWN_SECRETS
from sophon_middlewares.guards.redaction.model_redaction import MAX_TEXTS, RedactedTexts

KEY = "sk-ant-api03-" + "aB3dE5fG7h" * 9


def test_it_knows_what_it_has_returned_and_not_what_it_was_given() -> None:
    redactor = RedactedTexts()
    shown = redactor(f"the key is {KEY}")
    assert redactor.has_returned(shown)
    assert not redactor.has_returned(f"the key is {KEY}")


def test_a_secret_that_becomes_known_later_is_searched_for_in_all_texts() -> None:
    redactor, before = RedactedTexts(), KNOWN_SECRETS.values
    shown = redactor("the word is mellon-mellon")
    try:
        KNOWN_SECRETS.add("mellon-mellon")
        assert not redactor.has_returned(shown)
        assert "mellon" not in redactor("the word is mellon-mellon")
    finally:
        KNOWN_SECRETS.restore(before)


def test_it_keeps_few_texts() -> None:
    redactor = RedactedTexts()
    texts = [redactor(f"text number {number}") for number in range(MAX_TEXTS + 1)]
    assert [redactor.has_returned(text) for text in (texts[0], texts[1], texts[-1])] == [False, True, True]

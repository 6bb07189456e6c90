"""The notation of the grammars, and that both grammars are well-formed and linear."""

import re

import pytest

from sophon.decisions.family_patterns import FAMILY_NAMES
from sophon.decisions.fast_paths.families import FAMILIES
from sophon.decisions.grammars import GRAMMARS
from sophon.decisions.message_grammar import Grammar, to_expression
from sophon.decisions.message_patterns import MessageForms, PhraseSection
from sophon.security.linear_patterns import compile_linear
from tests.tables import table

EXAMPLE = """
<polite> = please | could you
<before> = <polite>
<behind> = please
<drink> = tea
  | coffee

[orders]
bring/s/ing [me] (a | the) <drink> [with <text>]

[talk]
bring .. <drink>
"""


def order(text: str) -> object:
    grammar = Grammar(EXAMPLE, "en")
    return MessageForms(grammar.sections["orders"], grammar).fullmatch(text)


@table(
    ("text", "parts"),
    [
        ("bring me a tea", {"language": "en", "text": ""}),
        ("Could you bring the coffee, please?", {"language": "en", "text": ""}),
        ("bringing a tea with Crème brûlée!", {"language": "en", "text": "Crème brûlée"}),
        ("bring tea", None),
        ("bring me a teapot", None),
        ("now bring me a tea", None),
    ],
)
def test_a_pattern_is_words_options_choices_rules_and_endings(text: str, parts: object) -> None:
    assert order(text) == parts


@table(
    ("text", "found"),
    [
        ("well, bring us some hot tea now", True),
        ("bring one two three four tea", False),
        ("bring it. Tea is fine", False),
        ("we bring it", False),
    ],
)
def test_a_phrase_is_found_anywhere_with_few_words_between_and_in_one_sentence(text: str, found: bool) -> None:
    grammar = Grammar(EXAMPLE)
    [phrase] = PhraseSection(grammar.sections["talk"], grammar).phrases
    assert (phrase.search(text) is not None) is found
    assert bool(list(phrase.finditer(text))) is found


@table(
    ("source", "problem"),
    [
        ("a ) b", "closes nothing"),
        ("( a | b", "is missing"),
        ("[ a", "is missing"),
        ("a <nothing>", "there is no rule"),
    ],
)
def test_a_pattern_that_is_not_well_formed_is_an_error(source: str, problem: str) -> None:
    with pytest.raises(ValueError, match=problem):
        to_expression(source, Grammar(EXAMPLE))


def test_a_pattern_outside_of_a_section_is_an_error() -> None:
    with pytest.raises(ValueError, match="in no section"):
        _ = Grammar("bring tea\n").sections


@table("language", GRAMMARS)
def test_each_language_has_each_family_and_every_pattern_is_one_of_re2(language: str) -> None:
    grammar = GRAMMARS[language]
    names = {*(each.name for each in FAMILIES), *FAMILY_NAMES, "targets", "recurrence"}
    assert set(grammar.sections) == names
    for patterns in grammar.sections.values():
        for source in patterns:
            compile_linear(re.sub(r"\(\?P<\w+>", "(", to_expression(source, grammar)))


@table("language", GRAMMARS)
def test_rules_are_written_without_accents_and_in_small_letters(language: str) -> None:
    grammar = GRAMMARS[language]
    written = " ".join([*grammar.rules.values(), *(each for lines in grammar.sections.values() for each in lines)])
    assert written.isascii()
    assert written == written.lower()

"""Compiled patterns of the grammars."""

import re
from collections.abc import Mapping
from typing import Final

from sophon._python.lazy_dataclass import dataclass
from sophon._python.lazy_pattern import lazy_pattern
from sophon.decisions.languages import GRAMMARS
from sophon.decisions.languages.request_grammar import Grammar, RequestWords

FAMILIES: Final = (
    "mail",
    "schedule",
    "schedule_end",
    "agent",
    "goal",
    "file",
    "command",
    "web",
    "memory",
    "remember",
    "",
)
"""What a wish can be about; "" is a tool of no family, of which the grammars know no words."""
_CALLS: Final = (
    r"(?:please |pls |bitte |por favor |oye |hey |ok |okay |so |now |jetzt |also |just |mal "
    r"|ahora |stp |s'il te plait |ich |que )*"
)


@dataclass(frozen=True, slots=True)
class RequestPatterns:
    """Patterns of one language. `verbs`, `nouns` and `state` are by family; a missing one matches nothing."""

    verbs: Mapping[str, re.Pattern[str]]
    nouns: Mapping[str, re.Pattern[str]]
    state: Mapping[str, re.Pattern[str]]
    any_verb: re.Pattern[str]
    first_verb: re.Pattern[str]
    known: re.Pattern[str]
    polite: re.Pattern[str]
    question: re.Pattern[str]
    definition: re.Pattern[str]
    talk: re.Pattern[str]
    light: re.Pattern[str]
    removal: re.Pattern[str]
    interval: re.Pattern[str]
    negation: re.Pattern[str]
    reminder: re.Pattern[str]
    no_longer: re.Pattern[str]
    small_talk: re.Pattern[str]


def _words(expression: str) -> re.Pattern[str]:
    return lazy_pattern(rf"(?<![\w./])(?:{expression})(?![\w/]|\.\w)" if expression else r"(?!)")


def _first(expression: str) -> re.Pattern[str]:
    return lazy_pattern(rf"{_CALLS}(?:{expression})(?!\w)")


def _compile(grammar: Grammar) -> RequestPatterns:
    requests = {"": RequestWords(""), **grammar.requests}
    verbs = "|".join(each.verbs for each in grammar.requests.values())
    return RequestPatterns(
        verbs={each: _words(requests[each].verbs) for each in FAMILIES},
        nouns={each: _words(requests[each].nouns) for each in FAMILIES},
        state={each: _words(requests[each].state) for each in FAMILIES},
        any_verb=_words(f"{verbs}|{grammar.talk}"),
        first_verb=_first(f"{verbs}|{grammar.removals}"),
        known=_words(f"{verbs}|{grammar.talk}|{grammar.light}|{grammar.removals}|{grammar.small_talk}"),
        polite=_words(grammar.polite),
        question=_first(grammar.questions),
        definition=_words(grammar.definitions),
        talk=_first(grammar.talk),
        light=_words(grammar.light),
        removal=_words(grammar.removals),
        interval=_words(grammar.intervals),
        negation=lazy_pattern(rf"(?<!\w)(?:{grammar.negations})\s+(?:[\w'-]+\s+){{0,3}}\Z"),
        reminder=_words(grammar.reminders),
        no_longer=_words(grammar.no_longer),
        small_talk=_first(grammar.small_talk),
    )


PATTERNS: Final[Mapping[str, RequestPatterns]] = {code: _compile(grammar) for code, grammar in GRAMMARS.items()}
"""The patterns by language code; each is compiled when it is first used."""
REFERENCE: Final = _words("|".join(each.references for each in GRAMMARS.values()))
"""Reference to an earlier action, in any language; for folded text."""
CONFIRMATION: Final = lazy_pattern(
    rf"[\s¡¿]*(?:(?:{'|'.join(each.confirmations for each in GRAMMARS.values())})(?!\w)[\s,.!]*){{1,4}}\Z"
)
"""A confirmation of what was said before, in any language; for folded text."""

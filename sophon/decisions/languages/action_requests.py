"""Whether a message asks for the actions of a family, in the grammar of its language."""

import re
from collections.abc import Sequence
from typing import Final, Literal

from sophon.decisions.languages.detection import detect_languages
from sophon.decisions.languages.request_patterns import PATTERNS, RequestPatterns
from sophon.decisions.languages.text_preparation import (
    cut_middle,
    fold_text,
    remove_quotations,
    remove_words_of_others,
    split_clauses,
    split_sentences,
)

ActionRequest = Literal["asked", "not_asked", "unclear"]
"""`not_asked`: the message is understood and asks for nothing of the kind, or says that it is not to be done."""


def find_action_request(text: str, family: str) -> ActionRequest:
    """Return whether a message asks for the actions of a family of `patterns.FAMILIES`.

    `unclear` is a message in a language without a grammar, and one with a part that no rule recognises as a question or
    as a wish for words only.
    """
    folded = remove_quotations(fold_text(cut_middle(text)))
    wish = _find_action_request(folded, family)
    # What asks for it may be words of others: then nobody knows, and the person is asked.
    return "unclear" if wish == "asked" and _find_action_request(_remove_material(folded), family) != "asked" else wish


def _find_action_request(folded: str, family: str) -> ActionRequest:
    languages = detect_languages(folded)
    found = {_find_in_language(folded, family, PATTERNS[each]) for each in languages} or {"unclear"}
    if "not_to_be_done" in found:
        return "not_asked"
    return "asked" if "asked" in found else "unclear" if "unclear" in found else "not_asked"


def find_name(text: str, words: Sequence[str]) -> ActionRequest:
    """Return whether a message asks for a tool of no family, in words of its name in any form (`send`: sends, sending).

    Such words count wherever they stand, except behind a negation.
    """
    found, folded = set[bool](), remove_quotations(fold_text(cut_middle(text)))
    name = re.compile(rf"\b(?:{'|'.join(re.escape(fold_text(each)) for each in words) or '(?!)'})\w{{0,3}}\b")
    for sentence, _ in split_sentences(folded):
        for clause in split_clauses(sentence):
            for match in name.finditer(clause):
                before = clause[: match.start()]
                found.add(any(each.negation.search(before) is not None for each in PATTERNS.values()))
    if True in found:
        return "not_asked"
    if found:
        return "asked" if name.search(_remove_material(folded)) is not None else "unclear"
    return find_action_request(text, "")


def names_tool(text: str, tool: str) -> bool:
    """Return whether a message has the whole name of a tool, outside of quotation marks and not behind a negation."""
    folded = _remove_material(remove_quotations(fold_text(cut_middle(text))))
    name = re.compile(rf"(?<![\w.]){re.escape(fold_text(tool))}(?!\w|\.\w)")
    places = [folded[: match.start()] for match in name.finditer(folded)]
    return bool(places) and not any(each.negation.search(before) for each in PATTERNS.values() for before in places)


def _remove_material(folded: str) -> str:
    """Return a folded text without the words of others in it, and without what a wish for words only is about, which
    follows a colon: "summarise this mail: ...".
    """
    own = remove_words_of_others(folded)
    start = 0
    for line in own.splitlines(keepends=True):
        for each in PATTERNS.values():
            begin = each.polite.sub(" ", line, count=1).strip()
            talk = each.talk.match(begin)
            colon = _COLON.search(line)
            if colon is not None and talk is not None and _COLON.search(begin, talk.end()) is not None:
                return own[: start + colon.start()]
        start += len(line)
    return own


_COLON: Final = re.compile(r":(?:\s|$)")


def _find_in_language(folded: str, family: str, patterns: RequestPatterns) -> str:
    if family not in ("memory", "remember"):
        folded = patterns.reminder.sub(" ", folded)
    found: set[str] = set()
    for sentence, is_question in split_sentences(folded):
        if family in ("schedule", "schedule_end"):
            found.add(_judge_schedule(sentence, family, is_question, patterns))
        is_polite = patterns.polite.search(sentence) is not None
        found |= {
            _judge_clause(clause, family, is_question and not is_polite, patterns) for clause in split_clauses(sentence)
        }
    for verdict in ("not_to_be_done", "asked", "unclear"):
        if verdict in found:
            return verdict
    return "not_asked"


def _judge_schedule(sentence: str, family: str, is_question: bool, patterns: RequestPatterns) -> str:
    """Judge a sentence by its repetition: "tell me the news every morning" asks for a schedule."""
    if patterns.interval.search(sentence) is None:
        return "not_asked"
    if patterns.no_longer.search(sentence) is not None:
        return "asked" if family == "schedule_end" else "not_to_be_done"
    is_directive = patterns.any_verb.search(sentence) is not None and not is_question
    return "asked" if is_directive and family == "schedule" and patterns.question.match(sentence) is None else "unclear"


def _judge_clause(clause: str, family: str, is_question: bool, patterns: RequestPatterns) -> str:
    verb = patterns.verbs[family].search(clause)
    if verb is not None and patterns.negation.search(clause[: verb.start()]) is not None:
        return "not_to_be_done"
    has_noun = patterns.nouns[family].search(clause) is not None
    is_definition = patterns.definition.search(clause) is not None
    asks_what = is_question or patterns.question.match(clause) is not None
    if asks_what and patterns.first_verb.match(clause) is None and patterns.polite.search(clause) is None:
        if is_definition or (verb is None and not has_noun):
            return "not_asked"
        return "asked" if patterns.state[family].search(clause) is not None else "unclear"
    return _judge_directive(clause, family, verb is not None, has_noun, patterns)


def _judge_directive(clause: str, family: str, has_verb: bool, has_noun: bool, patterns: RequestPatterns) -> str:
    talk = patterns.talk.match(clause)
    own = patterns.verbs[family].search(clause, 0, talk.end()) if talk is not None else None
    if talk is not None and own is None:
        if patterns.definition.search(clause) is not None or not has_noun:
            return "not_asked"
        return "asked" if patterns.state[family].search(clause) is not None else "unclear"
    light = patterns.removal if family == "schedule_end" else patterns.light
    helps = light.search(clause) or (patterns.removal.search(clause) if family == "command" else None)
    if has_verb or (has_noun and helps is not None):
        return "asked"
    if family == "schedule_end" and has_noun and patterns.no_longer.search(clause) is not None:
        return "asked"
    return "not_asked" if patterns.small_talk.match(clause) is not None and not has_noun else "unclear"

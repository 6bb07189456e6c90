"""Search for claims: of which kinds of work a sentence says that it has been done."""

import re
from collections.abc import Iterator, Mapping
from typing import Final

from sophon._python.lazy_dataclass import dataclass
from sophon._python.lazy_pattern import lazy_pattern
from sophon.decisions.languages.claims import CLAIM_GRAMMARS
from sophon.decisions.languages.claims.claim_grammar import FILES, ClaimGrammar, gap

LOOKUP: Final = "lookup"
"""Kind of a claim of having looked something up, which any call can be."""
CHANGE: Final = "change"
"""Group of the verbs that claim work only of a thing."""
MAX_SENTENCE: Final = 600
"""Characters of a sentence that are judged."""

MAX_SUBJECT: Final = 9
"""Words of the subject of a passive."""

_NEGATIVE = lazy_pattern(
    r"(?<!\w)(?:no|not|none|nothing|never|cannot|without|\w+n['’]t|kein\w*|nicht|nichts?|nie|ohne"
    r"|ning[uú]n\w*|nada|nunca|sin"
    r"|aucune?|rien|pas|jamais|sans|ne|n['’]\w+)(?!\w)"
)
_BREAK = lazy_pattern(r"[,;:—–(]")
_FILE = lazy_pattern(rf"(?<![\w./])(?:{FILES})(?!\w)")
_DEFINITE = lazy_pattern(
    r"(?:and |y |und |et )?(?:(?:the|your|all|both|this|that|these|it|everything|el|la|los|las|tus?|sus?|todo"
    r"|ya|der|die|das|de[nm]"
    r"|dein\w*|ihr\w*|alle\w*|es|les?|ton|ta|tes|votre|vos|tout|tous)(?!\w)|l['’])"
)
_PRONOUN = lazy_pattern(r"(?:this|that|these|it|everything|es|ya|todo|tout|alles)(?!\w)")
_OWN = lazy_pattern(r"(?:your|tus?|dein\w*|ton|ta|tes|votre|vos)(?!\w)")
_RELATIVE = lazy_pattern(r"(?<!\w)(?:that|which|who|whose|where|when|que|cual|donde|qui|dont|où)(?!\w)")
_FINITE = r"nicht|kein\w*|nie|noch|ist|sind|wird|werden|wurden?|ha[st]t?|haben?|kann|können|muss|müssen|soll|du|sie|er"
"""Words that make of a thing and a participle another sentence than "mail to Ada sent"."""
_ARTICLES = "the|your|an?|all|el|la|los|las|tus?|una?|les?|une?|ton|ta|tes|die|der|das|den|deine?n?"
_MARKS = " \t*_#>-•✅☑✔️🎉👍¡!"


@dataclass(frozen=True, slots=True)
class Claim:
    """Kinds of work that a sentence claims; `is_state`: it says how things are, which an earlier turn may have done."""

    kinds: frozenset[str]
    is_state: bool


@dataclass(frozen=True, slots=True)
class ClaimPatterns:
    """Compiled patterns of one language; in the first three a group is named for the kind of work that it claims."""

    active: re.Pattern[str]
    passive: re.Pattern[str]
    bare: re.Pattern[str]
    nouns: Mapping[str, re.Pattern[str]]
    lookup: re.Pattern[str]
    source: re.Pattern[str]
    state: re.Pattern[str]
    located: re.Pattern[str]
    promise: re.Pattern[str]
    done: re.Pattern[str]
    agreed: re.Pattern[str]
    now: re.Pattern[str]
    text_work: re.Pattern[str]
    hypothetical: re.Pattern[str]
    earlier: re.Pattern[str]
    agent: re.Pattern[str]


def _words(expression: str) -> re.Pattern[str]:
    return lazy_pattern(rf"(?<![\w./])(?:{expression})(?!\w)")


def _group(kinds: Mapping[str, str]) -> str:
    return "|".join(rf"(?P<{kind}>{words})" for kind, words in kinds.items())


def _compile(grammar: ClaimGrammar) -> ClaimPatterns:
    strong, things = _group(grammar.strong), "|".join(grammar.nouns.values())
    verbs = _group({**grammar.strong, CHANGE: grammar.changes})
    all_verbs = "|".join([*grammar.strong.values(), grammar.changes])
    return ClaimPatterns(
        active=lazy_pattern(rf"{grammar.active}(?:{verbs})(?!\w)"),
        passive=lazy_pattern(rf"{grammar.passive}(?:{verbs})(?!\w)"),
        bare=lazy_pattern(
            rf"(?:{strong})\s*(?:[.!:,]|\Z)"
            rf"|(?P<{CHANGE}>(?:\w+\s+)?(?:{things})\s+{gap(_FINITE, most=grammar.bare_words)}(?:{all_verbs})(?!\w)"
            rf"|(?:{grammar.changes})(?:\s*(?:[.!:,]|\Z)|\s+(?:{FILES})(?!\w)"
            rf"|\s+(?:{_ARTICLES})\s+(?:\S+\s+){{0,3}}?(?:{things})(?!\w)))"
        ),
        nouns={kind: _words(each) for kind, each in grammar.nouns.items()},
        lookup=lazy_pattern(rf"{grammar.active}(?:{grammar.lookups})(?!\w)"),
        source=_words(grammar.sources),
        state=_words(grammar.states),
        located=lazy_pattern(rf"(?<!\w)(?:{grammar.located})"),
        promise=_words(grammar.promises),
        done=_words(grammar.done),
        agreed=_words(f"{grammar.done}|{grammar.agreed}"),
        now=_words(grammar.now),
        text_work=_words(grammar.text_work),
        hypothetical=_words(grammar.hypothetical),
        earlier=_words(grammar.earlier),
        agent=lazy_pattern(rf"\s+(?:{grammar.agents})"),
    )


CLAIM_PATTERNS: Final[Mapping[str, ClaimPatterns]] = {code: _compile(each) for code, each in CLAIM_GRAMMARS.items()}
"""The patterns by language code; each is compiled when it is first used."""


def find_claim(sentence: str, before: str, language: str) -> Claim | None:
    """Return what a sentence of a reply claims, None if nothing; `before` is the sentence in front of it."""
    patterns, text = CLAIM_PATTERNS[language], _strip(sentence)
    if text.endswith("?") or not _may_claim(text, patterns) or patterns.earlier.search(text) is not None:
        return None
    nouns = frozenset(kind for kind, each in patterns.nouns.items() if each.search(text) is not None)
    is_done = opens_claim(before, language) or patterns.done.match(text) is not None
    is_new = is_done or patterns.now.search(text) is not None
    done = frozenset(_find_done(text, nouns, is_new, patterns))
    if done:
        return Claim(done, False)
    state = frozenset(_find_states(text, nouns, is_done, is_new, patterns))
    if not state and _is_changed(text, before, patterns):
        return Claim(frozenset({"file"}), False)
    return Claim(state, not is_done) if state else None


def _may_claim(text: str, patterns: ClaimPatterns) -> bool:
    """Return whether any form of a claim is in a sentence: most have none, and need no look at their nouns."""
    forms = (
        patterns.active,
        patterns.passive,
        patterns.state,
        patterns.located,
        patterns.promise,
        patterns.now,
        patterns.lookup,
    )
    return patterns.bare.match(text) is not None or any(each.search(text) is not None for each in forms)


def opens_claim(sentence: str, language: str) -> bool:
    """Return whether a sentence says no more than that something is done."""
    text = _strip(sentence)
    return CLAIM_PATTERNS[language].done.match(text) is not None and len(text.split()) <= 4


def _strip(sentence: str) -> str:
    return sentence[:MAX_SENTENCE].casefold().lstrip(_MARKS).rstrip(_MARKS.replace("!", ""))


def _find_done(text: str, nouns: frozenset[str], is_new: bool, patterns: ClaimPatterns) -> Iterator[str]:
    """Yield the kinds of work that somebody says to have done."""
    is_text_work = patterns.text_work.search(text) is not None and _FILE.search(text) is None
    for match in patterns.active.finditer(text):
        if _holds(match, text, patterns) and not (match.lastgroup == CHANGE and is_text_work):
            yield from _list_kinds(match, nouns)
    for match in _find_passives(text, patterns):
        is_strong = match.lastgroup != CHANGE
        if not _is_present(match) and (is_strong or not is_text_work) and (nouns or is_new or _OWN.match(text)):
            yield from _list_kinds(match, nouns)
    bare = patterns.bare.match(text)
    if bare is not None and patterns.hypothetical.match(text) is None:
        yield from _list_kinds(bare, nouns)
    if patterns.promise.search(text) is not None and patterns.hypothetical.search(text) is None:
        yield "schedule"
    if patterns.source.search(text) is not None and _holds(patterns.lookup.search(text), text, patterns):
        yield LOOKUP


def _find_states(
    text: str, nouns: frozenset[str], is_done: bool, is_new: bool, patterns: ClaimPatterns
) -> Iterator[str]:
    """Yield the kinds of work by which things are as they are said to be."""
    if _holds(patterns.state.search(text), text, patterns):
        yield from nouns
    is_certain = is_new or _FILE.search(text) is not None or "schedule" in nouns or _OWN.match(text) is not None
    for match in _find_passives(text, patterns):
        is_end = match.end() >= len(text.rstrip(" .!"))
        if _is_present(match) and (is_new or not _PRONOUN.match(text)) and (is_certain or is_end):
            yield from _list_kinds(match, nouns)
    if is_new and _FILE.search(text) is not None and _holds(patterns.located.search(text), text, patterns):
        yield "file"


def _list_kinds(match: re.Match[str], nouns: frozenset[str]) -> frozenset[str]:
    return nouns | {str(match.lastgroup)} - {CHANGE}


def _find_passives(text: str, patterns: ClaimPatterns) -> Iterator[re.Match[str]]:
    """Yield what is said to have been done to a thing that the person knows, by nobody else."""
    for match in patterns.passive.finditer(text):
        if not _holds(match, text, patterns) or patterns.agent.match(text, match.end()) is not None:
            continue
        subject = _find_clause(text, match)
        words = len(subject.split())
        if words <= MAX_SUBJECT and _RELATIVE.search(subject) is None and (words <= 2 or _DEFINITE.match(subject)):
            yield match


def _is_changed(text: str, before: str, patterns: ClaimPatterns) -> bool:
    """Return whether a reply that agrees says what a file does from now on."""
    agrees = patterns.agreed.match(text) is not None or patterns.agreed.match(_strip(before)) is not None
    return agrees and patterns.now.search(text) is not None and _FILE.search(text) is not None


def _is_present(match: re.Match[str]) -> bool:
    return match.group().split(maxsplit=1)[0] in _PRESENT


_PRESENT: Final = frozenset({"is", "are", "está", "están", "queda", "quedan", "ist", "sind", "est", "sont"})
"""Verbs of a state; those of an event name a time that is over."""


def _holds(match: re.Match[str] | None, text: str, patterns: ClaimPatterns) -> bool:
    """Return whether a match is a claim: nothing in front of it, in its clause, denies it or makes it a condition."""
    if match is None:
        return False
    clause = _find_clause(text, match)
    return _NEGATIVE.search(clause) is None and patterns.hypothetical.search(clause) is None


def _find_clause(text: str, match: re.Match[str]) -> str:
    """Return the beginning of the clause in which a match stands, up to the match."""
    breaks = [each.end() for each in _BREAK.finditer(text, 0, match.start())]
    return text[breaks[-1] if breaks else 0 : match.start()].strip()

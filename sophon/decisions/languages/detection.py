"""Language of a message, told by its script and its function words: whether the grammars can read it."""

from collections.abc import Mapping, Sequence
from typing import Final

from sophon._python.lazy_pattern import lazy_pattern
from sophon.decisions.languages import GRAMMARS
from sophon.decisions.languages.request_patterns import PATTERNS

_WORD = lazy_pattern(r"[^\W\d_]+")

OTHERS: Final[Mapping[str, frozenset[str]]] = {
    code: frozenset(words.split())
    for code, words in {
        "it": (
            "il lo la le i in gli di che e un una per non mi con del della dei nel sono sei ho hai ha puoi questo "
            "questa come cosa perche anche"
            " piu vorrei grazie ciao favore tutti quando dove chi da al alla mio mia"
        ),
        "pt": (
            "num numa ficheiro arquivo "
            "o a os as um uma do da dos das em no na que e por para com nao eu voce meu minha este esta "
            "isso isto como qual quando onde"
            " obrigado ola pode mais tem sao favor amanha todos cada ao pelo"
        ),
        "nl": (
            "de het een en van ik je jij niet dat die dit deze is met voor op te zijn mijn naar kun kan "
            "wat hoe waar wie graag alsjeblieft"
            " maar ook aan bij er wil elke morgen uit"
        ),
        "sv": (
            "och att det som en ett jag du inte ar pa for med till den har av kan min mitt vad hur tack "
            "hej var eller snalla om"
        ),
        "da": (
            "og at det som en et jeg du ikke er pa for med til den har af kan min mit hvad hvordan tak hej "
            "eller om venligst"
        ),
        "pl": "i w na z do nie to sie jest ze jak co czy ten ta te mi moj moja prosze dla o po za jutro",
        "cs": "a v na z do ne to se je ze jak co ten ta mi muj moje prosim pro o po za",
        "ro": "si in la cu de nu este un o pentru ca ce cum imi te rog mea meu pe din care",
        "tr": "ve bir bu da de icin ile ne nasil mi ben sen lutfen benim var yok bana su",
        "fi": "ja on ei se etta mina sina voitko minun tama kun mita miten kiitos hei ole",
        "hu": "a az es nem egy hogy van ez meg kerlek nekem mi hol miert de ki",
        "id": "yang dan di ini itu untuk tidak dengan saya kamu apa bisa tolong ke dari ada",
    }.items()
}
"""Function words of other languages in Latin script: not read, but told apart from the four."""


def _index_words() -> Mapping[str, Sequence[str]]:
    codes: dict[str, list[str]] = {}
    for code, words in [*((each, grammar.common) for each, grammar in GRAMMARS.items()), *OTHERS.items()]:
        for word in words:
            codes.setdefault(word, []).append(code)
    return codes


_CODES_BY_WORD: Final[Mapping[str, Sequence[str]]] = _index_words()
"""Codes of the languages, of both kinds, that have a function word."""


def detect_languages(folded: str, *, by_verbs: bool = True) -> tuple[str, ...]:
    """Return the codes of the languages that a folded text may be in, of those that have a grammar; empty if none.

    One that shares the script but has as many words of another language is in none. Without `by_verbs` a text without
    function words is in none either.
    """
    if not folded.isascii():
        letters = [each for each in folded if each.isalpha()]
        if 2 * sum(each <= "ɏ" for each in letters) < len(letters):
            return ()
    found = dict.fromkeys((*GRAMMARS, *OTHERS), 0)
    for word in _WORD.findall(folded):
        for code in _CODES_BY_WORD.get(word, ()):
            found[code] += 1
    counts = {code: found[code] + (by_verbs and PATTERNS[code].known.search(folded) is not None) for code in GRAMMARS}
    best = max(counts.values())
    if best <= max(found[code] for code in OTHERS):
        return ()
    return tuple(code for code, count in counts.items() if count == best)

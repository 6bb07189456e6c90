"""Messages that say too little to act upon: the host asks back instead of asking a model.

Source: WASP, policy guards.
"""

import re
from typing import Final

from sophon._python.lazy_pattern import lazy_pattern

RETRY_PREFIX: Final = "[RETRY OF PREVIOUS:"
"""How a text begins that repeats an earlier message; it is never low in intent."""


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_AMBIGUOUS: Final = {
    "en": _words(
        "ok okay k yes no yep nope maybe sure fine done go now this that it what why how and so hm hmm eh huh more "
        "again next continue stop wait right cool nice good great please well yeah true false here there"
    ),
    "es": _words("si sí vale bueno bien ya eso esto qué que más mas otra sigue pues listo claro aquí ahora nada"),
    "de": _words(
        "ja nein doch weiter mehr nochmal nochmals das dies was warum wieso wie und gut genau stimmt fertig jetzt hier "
        "da bitte halt los richtig falsch"
    ),
    "fr": _words(
        "oui non encore plus suite ça cela ceci quoi pourquoi comment et voilà accord maintenant ici vrai faux"
    ),
}
_GREETINGS: Final = _words(
    "hi hello hey yo hiya howdy greetings morning evening afternoon thanks thx bye goodbye welcome cheers help "
    "hola buenas buenos gracias adiós adios ayuda hallo moin servus guten danke tschüss hilfe "
    "bonjour bonsoir salut merci adieu aide"
)
_NEEDS_CONTEXT: Final = {
    "en": lazy_pattern(
        r"\s*(?:(?:do|try|run|send|show|explain|fix|change|delete|use|open) (?:it|that|this|them|those)(?: again| now)?"
        r"|(?:the same|same as before|as before|like before|the other one|the first one|the second one|the last one)"
        r"|(?:what|how) about (?:it|that|this))[\s.!?]*\Z",
        re.IGNORECASE,
    ),
    "es": lazy_pattern(
        r"\s*(?:(?:haz|repite|envía|muestra|borra|abre)(?:lo|la|los|las)?(?: eso| otra vez)?"
        r"|(?:lo mismo|como antes|el otro|la otra|el primero|el segundo))[\s.!?]*\Z",
        re.IGNORECASE,
    ),
}
_ASK_BACK: Final = {
    "en": "What would you like me to do? Please say a little more.",
    "es": "¿Qué quieres que haga? Dime un poco más, por favor.",
    "de": "Was soll ich tun? Bitte sag etwas mehr dazu.",
    "fr": "Que veux-tu que je fasse ? Dis-m'en un peu plus, s'il te plaît.",
}
_WORD = lazy_pattern(r"[^\W\d_]+(?:['’][^\W\d_]+)*")
MAX_AMBIGUOUS_WORDS: Final = 2


def is_low_intent(text: str) -> bool:
    """Return whether a message alone does not say what is wanted: one ambiguous word, only signs, digits or emoji, or
    a phrase that needs something said before.

    It is for the first message of a conversation: later ones have their context. Greetings and retries are clear.
    """
    text = text.strip()
    if not text or text.startswith(RETRY_PREFIX):
        return not text
    words = _list_words(text)
    if not words:
        return not re.search(r"\d\s*[-+*/^%]\s*\d", text)  # arithmetic is clear
    return _GREETINGS.isdisjoint(words) and _find_language(text, words) is not None


def ask_back(text: str) -> str:
    """Return the question to a message that says too little, in its language; in English if it has no words."""
    return _ASK_BACK[_find_language(text.strip(), _list_words(text)) or "en"]


def _list_words(text: str) -> list[str]:
    return [word.lower() for word in _WORD.findall(text.strip()[:200])]


def _find_language(text: str, words: list[str]) -> str | None:
    """Return the language in which a message says too little, None if it says enough."""
    for code, pattern in _NEEDS_CONTEXT.items():
        if pattern.match(text[:200]):
            return code
    if not 0 < len(words) <= MAX_AMBIGUOUS_WORDS or any(character.isdigit() for character in text):
        return None
    known = [code for code in _AMBIGUOUS if words[0] in _AMBIGUOUS[code]]
    return known[0] if known and all(any(word in each for each in _AMBIGUOUS.values()) for word in words) else None


_SMALL_TALK: Final = _GREETINGS.union(
    *_AMBIGUOUS.values(),
    _words(
        "there you your day good how are is doing going everyone all much so very me a lot night later see again up "
        "what's whats sup dear nice días dias tardes noches qué tal cómo como estás estas está muchas muy hasta luego "
        "mañana pronto todo tag morgen"
    ),
)
MAX_SMALL_TALK_WORDS: Final = 6


def is_small_talk(text: str) -> bool:
    """Return whether a message has no subject: it says too little, or is a greeting, thanks or a farewell."""
    words = [word.lower() for word in _WORD.findall(text[:200])]
    if is_low_intent(text):
        return True
    return 0 < len(words) <= MAX_SMALL_TALK_WORDS and len(text) <= 200 and all(each in _SMALL_TALK for each in words)

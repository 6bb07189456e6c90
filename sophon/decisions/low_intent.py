"""Messages that say too little to act upon: the host asks back instead of asking a model.

Source: reference/wasp.md 4.14.
"""

import re
from typing import Final

from sophon.lazy_pattern import lazy_pattern

RETRY_PREFIX: Final = "[RETRY OF PREVIOUS:"
"""How a text begins that repeats an earlier message; it is never low in intent."""

_AMBIGUOUS: Final = frozenset(
    [
        *("ok", "okay", "k", "yes", "no", "yep", "nope", "maybe", "sure", "fine", "done", "go", "now", "this", "that"),
        *(
            "it",
            "what",
            "why",
            "how",
            "and",
            "so",
            "hm",
            "hmm",
            "eh",
            "huh",
            "more",
            "again",
            "next",
            "continue",
            "stop",
        ),
        *("wait", "right", "cool", "nice", "good", "great", "please", "well", "yeah", "true", "false", "here", "there"),
        *(
            "si",
            "sí",
            "vale",
            "bueno",
            "bien",
            "ya",
            "eso",
            "esto",
            "qué",
            "que",
            "más",
            "mas",
            "otra",
            "sigue",
            "pues",
        ),
        *("listo", "claro", "aquí", "ahora", "nada"),
    ]
)
_GREETINGS: Final = frozenset(
    [
        *("hi", "hello", "hey", "yo", "hiya", "howdy", "greetings", "morning", "evening", "afternoon", "thanks", "thx"),
        *(
            "hola",
            "buenas",
            "buenos",
            "gracias",
            "adiós",
            "adios",
            "bye",
            "goodbye",
            "welcome",
            "cheers",
            "help",
            "ayuda",
        ),
    ]
)
_NEEDS_CONTEXT = lazy_pattern(
    r"\s*(?:(?:do|try|run|send|show|explain|fix|change|delete|use|open) (?:it|that|this|them|those)(?: again| now)?"
    r"|(?:the same|same as before|as before|like before|the other one|the first one|the second one|the last one)"
    r"|(?:what|how) about (?:it|that|this)|(?:haz|repite|envía|muestra|borra|abre)(?:lo|la|los|las)?(?: eso| otra vez)?"
    r"|(?:lo mismo|como antes|el otro|la otra|el primero|el segundo))[\s.!?]*\Z",
    re.IGNORECASE,
)
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
    words = [word.lower() for word in _WORD.findall(text[:200])]
    if not words:
        return not re.search(r"\d\s*[-+*/^%]\s*\d", text)  # arithmetic is clear
    if any(word in _GREETINGS for word in words):
        return False
    if _NEEDS_CONTEXT.match(text[:200]):
        return True
    has_digits = any(character.isdigit() for character in text)
    return len(words) <= MAX_AMBIGUOUS_WORDS and not has_digits and all(word in _AMBIGUOUS for word in words)

"""English text rules: quotes, sentences, content words, and first to second person."""

import re

_WORD = re.compile(r"[^\W_]+(?:['’-][^\W_]+){0,5}")
_SENTENCE = re.compile(r"(?<=[.!?])\s(?=\S)|\n")
_STOP_WORD_LIST = """
    a about all an and any anything are as at be been called can did do does everything find for from had has have he
    her him his how i if in into is it its know knows me mine my named of on or our please recall remember say says
    search she so some something tell that the their them there these they this those to told up us was we were what
    whats when where which who whom whose why will with would you your yours look
"""
_STOP_WORDS = frozenset(_STOP_WORD_LIST.split())
_SECOND_PERSON = {
    "i am": "you are",
    "i was": "you were",
    "i": "you",
    "i'm": "you are",
    "i’m": "you are",
    "i've": "you have",
    "i’ve": "you have",
    "i'll": "you will",
    "i’ll": "you will",
    "i'd": "you would",
    "i’d": "you would",
    "my": "your",
    "mine": "yours",
    "me": "you",
    "myself": "yourself",
}
_FIRST_PERSON = re.compile(r"(?<![\w'’])(?:i am|i was|i['’](?:m|ve|ll|d)|i|my|mine|me|myself)(?![\w'’])", re.IGNORECASE)


def capitalise(text: str) -> str:
    """Return the text with its first letter in upper case and the rest unchanged."""
    return text[:1].upper() + text[1:]


def strip_quotes(text: str) -> str:
    """Return the text without the pair of quotes or backticks around it."""
    text = text.strip()
    if len(text) >= 2 and (text[0] + text[-1] in ('""', "''", "``", "“”", "‘’")):
        return text[1:-1]
    return text


def extract_content_words(text: str) -> list[str]:
    """Return the words other than stop words, in lower case and in order, without duplicates."""
    words = (match[0].lower() for match in _WORD.finditer(text))
    return list(dict.fromkeys(w.removesuffix("'s").removesuffix("’s") for w in words if w not in _STOP_WORDS))


def to_second_person(text: str) -> str:
    """Convert first person to second person: "my cat" becomes "your cat"."""
    return _FIRST_PERSON.sub(lambda match: _SECOND_PERSON.get(match[0].lower(), match[0]), text)


def split_sentences(text: str) -> list[str]:
    """Split a text into sentences and lines, without those that consist of punctuation only."""
    return [part.strip() for part in _SENTENCE.split(text) if part.strip(" .-*#>`~")]


def ensure_full_stop(text: str) -> str:
    """Return the text with a full stop at the end, unless it ends in `.`, `!`, `?`, `:` or a backtick."""
    text = text.rstrip()
    return text if not text or text[-1] in ".!?:`" else text + "."

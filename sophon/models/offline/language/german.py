"""German text rules: which texts are German, where their clauses begin, content words, and the order of words."""

import re

_VERBS = (
    r"schreibe?|notiere?|merke?|sieh|schaue?|suche?|finde|fasse?|führe?|lies|zeige?|liste|rechne|berechne|sage?|nenne?"
    r"|vergiss|hole?|rufe?|lade|öffne|erstelle?|lösche?|speichere?|gib|starte|erzähle?"
)
ORDER = r"dann|danach|anschließend|schließlich|zuletzt|zum Schluss|am Ende|als Nächstes|als Letztes"
"""Words that put a clause after the one before it; they stand at its beginning, or behind its verb."""

_MONTHS = "Januar|Februar|März|April|Mai|Juni|Juli|August|September|Oktober|November|Dezember"
GERMAN_BOUNDARY = re.compile(
    rf"(?<!z\.B)(?<!z\. B)(?<!d\.h)(?<!\bDr)(?<!\bSt)[.!?;](?=\s|$)(?! (?:{_MONTHS})\b)"
    r"|\n"
    rf"|,? und (?=(?:{ORDER}|{_VERBS}|was|wie|welche[mnrs]?|wer|wo|wann|warum)\b)"
    r"|,? und (?=\(?\d[\d.,]{0,30} ?(?:[-+*/^%×÷]|(?:mal|plus|minus|geteilt|hoch)\b))"
    rf"|, (?=(?:{ORDER}|{_VERBS}|bitte)\b)",
    re.IGNORECASE,
)
GERMAN_INTRODUCTORY = re.compile(
    rf"(?:und|aber|also|ok(?:ay)?|bitte|nun|jetzt|zuerst|zunächst|als Erstes|erstens|zweitens|drittens|{ORDER})"
    r"(?:[,:!] ?| )|(?:hallo|hi|hey|guten (?:tag|morgen|abend))[,!] ",
    re.IGNORECASE,
)
GERMAN_SEQUENCE = re.compile(rf"(?:\w{{1,20}} (?:mir |dir )?)?(?:{ORDER})\b", re.IGNORECASE)

_WORD = re.compile(r"[^\W\d_]+")
_READ_CHARACTERS = 2000
"""Characters by which the language of a text is told."""

# Without what is a word of French, Spanish, Portuguese or Danish, too ("du", "es", "um", "den").
_GERMAN_WORD_LIST = """
    aber alle alles auch auf bei beides bitte dann das dass dein deine deinem der dir durch eine einem einen einer
    für gibt heißt heute ich ihr ist kannst kein keine könntest mein meine meinem meinen meiner mich mir mit nach
    nicht noch oder sein sind spät über uhr und vom von wann warum weißt welche welchen welcher welches wer wie
    wieviel wir wo zu zum zur zuerst zusammen morgen gestern danke hallo hilfe tschüss guten befehl datei dateien
    führe führ fasse merke merk notiere öffne rechne berechne rufe schreib schreibe sieh suche vergiss zeig zeige
    speichere
"""
_ENGLISH_WORD_LIST = """
    a about all an and are at be but by can could do does for from have he how i if into is it me my not of on or please
    read remember run she that the their then they this to we what when where which who will with write you your
"""
_GERMAN_WORDS, _ENGLISH_WORDS = frozenset(_GERMAN_WORD_LIST.split()), frozenset(_ENGLISH_WORD_LIST.split())
_FIRST_WORDS = frozenset({"lies", "liste", "hole", "lade", "nenne", "starte", "wer", "was"})
"""Words that are German at the beginning of a message only: a question never begins with an English "was" or "lies"."""

_STOP_WORD_LIST = """
    alles am an auf aus bin bitte das dass dein deine dem den der die du ein eine einem einen einer er es für habe hast
    hat heiße heißen heißt ich ihr im in ist mein meine meinem meinen meiner mich mir mit nach nicht noch oder sie sind
    über um und unser unsere von war waren wann warum was weißt welche welchen welcher welches wer wie wir wo wohne zu
"""
_STOP_WORDS = frozenset(_STOP_WORD_LIST.split())
_SUBJECT = re.compile(
    r"(?:ich|du|er|sie|es|wir|man|[A-ZÄÖÜ][\w-]{1,40}"
    r"|(?:mein|meine|dein|deine|unser|unsere|der|die|das|ein|eine)(?: [a-zäöüß]{1,30}){0,2} [A-ZÄÖÜ][\w-]{1,40})(?= )"
)
_SEPARABLE = ("ab", "an", "auf", "aus", "ein", "los", "mit", "vor", "weg", "zu", "zurück")
"""Prefixes that leave a verb in a main clause ("ankommt", "kommt an"): such a clause is left as it is."""


def is_german(text: str) -> bool:
    """Return whether a text has more German words than English ones; of words that are both, none counts."""
    words = [word.lower() for word in _WORD.findall(text[:_READ_CHARACTERS])]
    german = sum(word in _GERMAN_WORDS for word in words) + (bool(words) and words[0] in _FIRST_WORDS)
    return german > sum(word in _ENGLISH_WORDS for word in words)


def extract_german_query(topic: str) -> str:
    """Return the content words as a query, nouns in -en also without the -n: the stems of the memory are English."""
    words = [word.lower() for word in _WORD.findall(topic)]
    content = [word for word in words if word not in _STOP_WORDS]
    singular = [word[:-1] for word in content if len(word) > 4 and word.endswith("en")]
    return " ".join(dict.fromkeys([*content, *singular]))


def to_main_clause(text: str) -> str:
    """Return what follows "dass" as a sentence: "meine Katze Ada heißt" is "meine Katze heißt Ada".

    What is not sure to be one plain clause is left as it is.
    """
    subject = _SUBJECT.match(text)
    rest, _, verb = (text[subject.end() + 1 :] if subject is not None else "").rpartition(" ")
    if subject is None or not rest or "," in text or " und " in text or not verb.isalpha() or not verb.islower():
        return text
    return text if verb.startswith(_SEPARABLE) else f"{subject[0]} {verb} {rest}"

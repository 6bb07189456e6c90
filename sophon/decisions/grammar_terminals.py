"""Terminals of the grammars: what a rule cannot spell out in words, as expressions of RE2.

Most have a named group: a part of the message that the tool of a fast path gets. They match texts without accents.
"""

from collections.abc import Mapping
from typing import Final

GAP: Final = "[,:;]? "
"""What stands in front of each word."""

_HOUR: Final = (
    r"(?:\d{1,2}(?:[:.h][0-5]\d)?|noon|midday|midnight|mediodia|medianoche"
    r"|(?:one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve"
    r"|una|dos|tres|cuatro|cinco|seis|siete|ocho|nueve|diez|once|doce)\b)"
    r"(?: ?[ap]\.? ?m\b\.?| ?hrs?\b| ?h\b| o'clock| y media| y cuarto)?"
    r"(?: in the (?:morning|afternoon|evening)| at night| de la (?:manana|tarde|noche))?"
)
MONTHS: Final = (
    *("january", "february", "march", "april", "may", "june"),
    *("july", "august", "september", "october", "november", "december"),
)
MESES: Final = (
    *("enero", "febrero", "marzo", "abril", "mayo", "junio"),
    *("julio", "agosto", "septiembre", "octubre", "noviembre", "diciembre"),
)
_MONTH: Final = f"(?:{'|'.join([*MONTHS, *MESES])})"
_AMOUNT: Final = (
    r"(?:\d{1,4}|two|three|four|five|six|seven|eight|nine|ten|twelve|fifteen|twenty|thirty|forty-five|sixty"
    r"|dos|tres|cuatro|cinco|seis|siete|ocho|nueve|diez|doce|quince|veinte|treinta)"
)

UNSPACED: Final[Mapping[str, str]] = {"start": r"(?:^|[.:;])", "comma": ",", "colon": ":"}
"""What stands for itself: the beginning of a text or of a part of it, and punctuation that must be there."""

TERMINALS: Final[Mapping[str, str]] = {
    "hour": _HOUR,
    "time": rf"(?P<time>(?:half past |quarter past |quarter to )?{_HOUR})",
    "day": (
        r"(?P<day>today|tonight|this (?:morning|afternoon|evening)|esta (?:tarde|noche)"
        r"|tomorrow|the day after tomorrow|(?:mon|tues|wednes|thurs|fri|satur|sun)day"
        r"|hoy|pasado manana|manana|lunes|martes|miercoles|jueves|viernes|sabado|domingo"
        rf"|\d{{1,2}}(?:st|nd|rd|th)? (?:of |de )?{_MONTH}|{_MONTH} \d{{1,2}}(?:st|nd|rd|th)?|\d{{4}}-\d\d-\d\d)\b"
    ),
    "when": (
        r"(?P<when>today|tomorrow|now|right now|tonight|this week|at the moment|hoy|manana|ahora|ahora mismo|esta noche"
        r"|esta semana|on (?:mon|tues|wednes|thurs|fri|satur|sun)days?"
        r"|el (?:lunes|martes|miercoles|jueves|viernes|sabado|domingo))\b"
    ),
    "amount": rf"{_AMOUNT}\b",
    "number": rf"(?P<number>half an|an?|one|media|una?|{_AMOUNT})\b",
    "unit": r"(?P<unit>(?:minute|min|hour|hr|day|week|minuto|hora|dia|semana)s?)\b",
    "url": r"(?P<url>https?://[^\s<>\"']+?)",
    "domain": (
        r"(?P<domain>(?:[a-z0-9-]+\.)+(?:com|org|net|io|dev|es|de|co|ai|gov|edu|eu|uk|fr)"
        r"(?:/[^\s<>\"']*?)?)"
    ),
    "address": r"(?P<to>[\w.+-]+@[\w-]+(?:\.[\w-]+)+)",
    "subject": r"(?P<subject>\"[^\"]+\"|[^\"].*?)",
    "text": r"(?P<text>\S.*?)",
    "body": r"(?P<text>\S.*)",
    "query": r"(?P<query>[^\s.!?].*?)",
    "quoted": r"(?P<query>\"[^\"]+\")",
    "place": r"(?P<place>[a-z][a-z .'/-]+?)",
    "town": r"(?P<place>[a-z]+(?:[ -][a-z]+)?)",
    "id": r"(?P<name>#?[\w-]+)",
    "titled": r"(?P<name>[^\s\"][^\"]*?)",
    "title": r"(?P<name>\"[^\"]+\")",
}
"""What stands behind a gap, as a word does."""

"""Arithmetic in symbols and in words: finds the expression in a clause and hands it to the calculator."""

import re

from sophon.models.offline.skill import Ask, Finding, Skill, Wish
from sophon.tools.tool import Risk

_UNITS = """zero one two three four five six seven eight nine ten
    eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen nineteen"""
_TENFOLD = "twenty thirty forty fifty sixty seventy eighty ninety"
_SMALL = {word: n for n, word in enumerate(_UNITS.split())}
_TENS = {word: 10 * n for n, word in enumerate(_TENFOLD.split(), 2)}
_SCALES = {"hundred": 100, "thousand": 1000, "million": 1_000_000}

_NUMBER_WORD = "|".join([*_SMALL, *_TENS, *_SCALES])
_NUMBER_WORDS = re.compile(
    rf"\b(?:{_NUMBER_WORD})(?:(?:[ -]|(?<=hundred) and |(?<=thousand) and )(?:{_NUMBER_WORD})){{0,8}}\b"
)
_N = r"(-?\d[\d.]{0,30})"
_PHRASES = tuple(
    (re.compile(pattern), put)
    for pattern, put in (
        (r"(?<=\d),(?=\d{3}\b)", ""),
        (rf"\bsquare root of {_N}", r"sqrt(\1)"),
        (r"\bsquare root of ?\(", "sqrt("),
        (rf"{_N} ?(?:%|per ?cent) of {_N}", r"\1 / 100 * \2"),
        (rf"{_N} ?(?:%|per ?cent\b)(?! ?[\d(])", r"(\1 / 100)"),
        (rf"\b(?:half of|half) {_N}", r"\1 / 2"),
        (rf"{_N} (?:squared)\b", r"\1 ** 2"),
        (rf"{_N} (?:cubed)\b", r"\1 ** 3"),
        (rf"\b(?:add|sum of|sum up|total of) {_N} (?:and|to|with) {_N}", r"\1 + \2"),
        (rf"\bsubtract {_N} from {_N}", r"\2 - \1"),
        (rf"\bdifference (?:of|between) {_N} and {_N}", r"\1 - \2"),
        (rf"\b(?:multiply|product of) {_N} (?:by|and|with) {_N}", r"\1 * \2"),
        (rf"\b(?:divide|quotient of) {_N} (?:by|and) {_N}", r"\1 / \2"),
        (r"(?<=[\d)]) ?(?:to the power of|to the power|raised to) ?(?=[\d(-])", " ** "),
        (r"(?<=[\d)]) ?(?:times|multiplied by|[x×·]) ?(?=[\d(s-])", " * "),
        (r"(?<=[\d)]) ?(?:divided by|over|÷) ?(?=[\d(s-])", " / "),
        (r"(?<=[\d)]) ?(?:modulo|mod) ?(?=[\d(s-])", " % "),
        (r"(?<=[\d)]) ?plus ?(?=[\d(s-])", " + "),
        (r"(?<=[\d)]) ?(?:minus|−|–) ?(?=[\d(s-])", " - "),
        (r"\^", " ** "),
    )
)
_PIECES = re.compile(r"\d[\d.]*(?:e[+-]?\d+\b)?|sqrt(?= ?\()|\*\*|//|[-+*/%()]|\s+|[^\s\d]", re.IGNORECASE)
_CUE = re.compile(
    r"\b(?:what(?:['’]?s| is| are| do(?:es)?)|how much|calculate|compute|work out|evaluate|solve|add|subtract|multiply"
    r"|divide|sum|product|difference|root|result|equals?|give me|tell me|percent)\b|=|%",
    re.IGNORECASE,
)
_DATE = re.compile(r"\b\d{4}-\d\d-\d\d\b|\b\d\d?/\d\d?/\d{4}\b|\bhttps?://|\b\d+\.\d+\.\d")
_OPERATION = re.compile(r"(?:[\d)] ?(?:\*\*|//|[-+*/%]) ?[-+(\ds])|sqrt")
_LONGEST = 200


def expression(clause: str) -> str | None:
    """The arithmetic in a clause as the calculator reads it, or None. Pure; words become symbols, `^` becomes `**`."""
    if _DATE.search(clause):
        return None
    text = _NUMBER_WORDS.sub(_as_digits, clause.lower())
    if not any(mark.isdigit() for mark in text):
        return None
    for pattern, put in _PHRASES:
        text = pattern.sub(put, text)
    found = max(_runs(text), key=len, default="")
    if not _OPERATION.search(found) or len(found) > _LONGEST or not _balanced(found):
        return None
    alone = found == text.strip(" =?.!")
    return found if alone or _CUE.search(clause) else None


def _match(ask: Ask) -> Wish | None:
    found = expression(ask.clause)
    return Wish("calculator", {"expression": found}) if found else None


def _tell(finding: Finding) -> str:
    return f"{_asked(finding.wish)} = {finding.text.strip()}."


def _asked(wish: Wish) -> str:
    return str(wish.arguments.get("expression", "")).replace("**", "^")


def _runs(text: str) -> list[str]:
    """The stretches of numbers, operators and brackets, without loose ends."""
    runs: list[str] = []
    current = ""
    for piece in _PIECES.finditer(text):
        mark = piece[0]
        if mark.isspace():
            current += " "
        elif mark[0].isdigit() or mark == "sqrt" or mark in _MARKS:
            current += mark.rstrip(".") if mark[0].isdigit() else mark
        else:
            runs.append(current)
            current = ""
    runs.append(current)
    return [trimmed for run in runs if (trimmed := _trimmed(run))]


def _trimmed(run: str) -> str:
    return " ".join(run.split()).lstrip("*/%+) ").rstrip("*/%+-( ")


def _balanced(text: str) -> bool:
    depth = 0
    for mark in text:
        depth += (mark == "(") - (mark == ")")
        if depth < 0:
            return False
    return depth == 0


def _as_digits(match: re.Match[str]) -> str:
    total = part = 0
    for word in match[0].replace("-", " ").split():
        scale = _SCALES.get(word)
        if scale is None:
            part += _SMALL.get(word, 0) + _TENS.get(word, 0)
        elif scale == 100:
            part = max(part, 1) * 100
        else:
            total, part = total + max(part, 1) * scale, 0
    return str(total + part)


_MARKS = frozenset({"**", "//", "-", "+", "*", "/", "%", "(", ")"})

ARITHMETIC = Skill(
    tool="calculator",
    group="math",
    match=_match,
    tell=_tell,
    deed=lambda wish: f"calculate {_asked(wish)}",
    risk=Risk.NONE,
)

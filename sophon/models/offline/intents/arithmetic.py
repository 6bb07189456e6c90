"""Arithmetic intent: extract an expression in symbols or words from a clause for the calculator tool."""

import re

from sophon.models.offline.intent import CallResult, Intent, IntentInput, PlannedCall
from sophon.tools.tool import Risk

_SMALL_NUMBER_WORDS = """zero one two three four five six seven eight nine ten
    eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen nineteen"""
_TENS_WORDS = "twenty thirty forty fifty sixty seventy eighty ninety"
_SMALL_NUMBERS = {word: n for n, word in enumerate(_SMALL_NUMBER_WORDS.split())}
_TENS = {word: 10 * n for n, word in enumerate(_TENS_WORDS.split(), 2)}
_SCALES = {"hundred": 100, "thousand": 1000, "million": 1_000_000}

_NUMBER_WORD = "|".join([*_SMALL_NUMBERS, *_TENS, *_SCALES])
_NUMBER_WORDS = re.compile(
    rf"\b(?:{_NUMBER_WORD})(?:(?:[ -]|(?<=hundred) and |(?<=thousand) and )(?:{_NUMBER_WORD})){{0,8}}\b"
)
_NUMBER = r"(-?\d[\d.]{0,30})"
_PHRASES = tuple(
    (re.compile(pattern), replacement)
    for pattern, replacement in (
        (r"(?<=\d),(?=\d{3}\b)", ""),
        (rf"\bsquare root of {_NUMBER}", r"sqrt(\1)"),
        (r"\bsquare root of ?\(", "sqrt("),
        (rf"{_NUMBER} ?(?:%|per ?cent) of {_NUMBER}", r"\1 / 100 * \2"),
        (rf"{_NUMBER} ?(?:%|per ?cent\b)(?! ?[\d(])", r"(\1 / 100)"),
        (rf"\b(?:half of|half) {_NUMBER}", r"\1 / 2"),
        (rf"{_NUMBER} (?:squared)\b", r"\1 ** 2"),
        (rf"{_NUMBER} (?:cubed)\b", r"\1 ** 3"),
        (rf"\b(?:add|sum of|sum up|total of) {_NUMBER} (?:and|to|with) {_NUMBER}", r"\1 + \2"),
        (rf"\bsubtract {_NUMBER} from {_NUMBER}", r"\2 - \1"),
        (rf"\bdifference (?:of|between) {_NUMBER} and {_NUMBER}", r"\1 - \2"),
        (rf"\b(?:multiply|product of) {_NUMBER} (?:by|and|with) {_NUMBER}", r"\1 * \2"),
        (rf"\b(?:divide|quotient of) {_NUMBER} (?:by|and) {_NUMBER}", r"\1 / \2"),
        (r"(?<=[\d)]) ?(?:to the power of|to the power|raised to) ?(?=[\d(-])", " ** "),
        (r"(?<=[\d)]) ?(?:times|multiplied by|[x×·]) ?(?=[\d(s-])", " * "),
        (r"(?<=[\d)]) ?(?:divided by|over|÷) ?(?=[\d(s-])", " / "),
        (r"(?<=[\d)]) ?(?:modulo|mod) ?(?=[\d(s-])", " % "),
        (r"(?<=[\d)]) ?plus ?(?=[\d(s-])", " + "),
        (r"(?<=[\d)]) ?(?:minus|−|–) ?(?=[\d(s-])", " - "),
        (r"\^", " ** "),
    )
)
_TOKENS = re.compile(r"\d[\d.]*(?:e[+-]?\d+\b)?|sqrt(?= ?\()|\*\*|//|[-+*/%()]|\s+|[^\s\d]", re.IGNORECASE)
_QUESTION_CUE = re.compile(
    r"\b(?:what(?:['’]?s| is| are| do(?:es)?)|how much|calculate|compute|work out|evaluate|solve|add|subtract|multiply"
    r"|divide|sum|product|difference|root|result|equals?|give me|tell me|percent)\b|=|%",
    re.IGNORECASE,
)
_DATE = re.compile(r"\b\d{4}-\d\d-\d\d\b|\b\d\d?/\d\d?/\d{4}\b|\bhttps?://|\b\d+\.\d+\.\d")
_OPERATION = re.compile(r"(?:[\d)] ?(?:\*\*|//|[-+*/%]) ?[-+(\ds])|sqrt")
_MAX_LENGTH = 200


def extract_expression(clause: str) -> str | None:
    """Extract the arithmetic expression of a clause in calculator syntax, or None. Pure; `^` becomes `**`."""
    if _DATE.search(clause):
        return None
    text = _NUMBER_WORDS.sub(_number_words_to_digits, clause.lower())
    if not any(symbol.isdigit() for symbol in text):
        return None
    for pattern, replacement in _PHRASES:
        text = pattern.sub(replacement, text)
    found = max(_expression_runs(text), key=len, default="")
    if not _OPERATION.search(found) or len(found) > _MAX_LENGTH or not _has_balanced_brackets(found):
        return None
    is_whole_clause = found == text.strip(" =?.!")
    return found if is_whole_clause or _QUESTION_CUE.search(clause) else None


def _match(intent_input: IntentInput) -> PlannedCall | None:
    found = extract_expression(intent_input.clause)
    return PlannedCall("calculator", {"expression": found}) if found else None


def _describe_result(result: CallResult) -> str:
    return f"{expression_of(result.call)} = {result.text.strip()}."


def expression_of(call: PlannedCall) -> str:
    """Return the expression of a call, as people write it."""
    return str(call.arguments.get("expression", "")).replace("**", "^")


def _expression_runs(text: str) -> list[str]:
    """Return the runs of numbers, operators and brackets, without dangling operators."""
    runs: list[str] = []
    current = ""
    for token in _TOKENS.finditer(text):
        symbol = token[0]
        if symbol.isspace():
            current += " "
        elif symbol[0].isdigit() or symbol == "sqrt" or symbol in _OPERATORS:
            current += symbol.rstrip(".") if symbol[0].isdigit() else symbol
        else:
            runs.append(current)
            current = ""
    runs.append(current)
    return [stripped for run in runs if (stripped := _strip_operators(run))]


def _strip_operators(run: str) -> str:
    return " ".join(run.split()).lstrip("*/%+) ").rstrip("*/%+-( ")


def _has_balanced_brackets(text: str) -> bool:
    depth = 0
    for symbol in text:
        depth += (symbol == "(") - (symbol == ")")
        if depth < 0:
            return False
    return depth == 0


def _number_words_to_digits(match: re.Match[str]) -> str:
    total = part = 0
    for word in match[0].replace("-", " ").split():
        scale = _SCALES.get(word)
        if scale is None:
            part += _SMALL_NUMBERS.get(word, 0) + _TENS.get(word, 0)
        elif scale == 100:
            part = max(part, 1) * 100
        else:
            total, part = total + max(part, 1) * scale, 0
    return str(total + part)


_OPERATORS = frozenset({"**", "//", "-", "+", "*", "/", "%", "(", ")"})

ARITHMETIC = Intent(
    tool="calculator",
    group="math",
    match_clause=_match,
    describe_result=_describe_result,
    describe_call=lambda call: f"calculate {expression_of(call)}",
    risk=Risk.NONE,
)

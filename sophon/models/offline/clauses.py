"""Cutting what a person wrote into clauses: one question, one order, one statement each.

A cut is made where a sentence ends, at list markers, and at commas or "and" in front of a word that opens a clause.
What stands in quotes, and a command that is given after a colon, is never cut in the middle. Every pattern looks at
bounded pieces or runs over the text once, so the work grows with the length of the text and no faster.
"""

import re
from dataclasses import dataclass

MOST_CLAUSES = 20
"""As many as a plan may have steps; what is left of a longer text stays in the last clause."""

_SEQUENCE = (
    r"then|finally|lastly|next|after(?: that|wards| this)|at last|at the end|as a last step"
    r"|second(?:ly)?|third(?:ly)?|fourth(?:ly)?|followed by"
)
_OPENERS = (
    r"what(?:['’]?s)?|who(?:['’]s)?|whose|where|when|why|how|which|can you|could you|do you|please|also|tell"
    r"|show|remember|memori[sz]e|note|write|save|store|put|read|list|open|fetch|get|download|visit"
    r"|calculate|compute|work out|run|execute|look|search|find|recall|summari[sz]e|sum up|forget|delete"
    r"|create|send|book|schedule|translate|compare|explain|give|multiply|divide|subtract|check|report|combine|print|describe"
    r"|update|build|analy[sz]e|use|call"
)
_SUM = (
    r"(?:the )?(?:square root|sum|product|current|time|date)\b"
    r"|\(?\d[\d.]{0,30} ?(?:[-+*/^%×÷]|(?:times|plus|minus|percent|divided)\b)"
)
_BOUNDARY = re.compile(
    r"(?<!e\.g)(?<!i\.e)(?<!\bDr)(?<!\bMr)(?<!\bMrs)(?<!\bSt)[.!?;](?=\s|$)"
    r"|\n"
    rf"|,? and (?=(?:{_SEQUENCE}|{_OPENERS})\b)"
    rf"|,? and (?={_SUM})"
    rf"|, (?=(?:but )?(?:{_SEQUENCE}|{_OPENERS})\b)"
    r"| (?=(?:then|after that|afterwards|finally|followed by) )",
    re.IGNORECASE,
)
_QUOTED = re.compile(r"\"[^\"\n]*\"|“[^“”\n]*”|`[^`\n]*`|(?<!\w)'[^'\n]*'(?!\w)")
_COMMAND = re.compile(r"\b(?:run|execute)\b[^:\n]{0,30}:[^\n]*", re.IGNORECASE)
_GIVEN = re.compile(
    r"\b(?:(?:summari[sz]e|sum up|recap)\b[^:.!?\n]{0,80}|(?:write|save) (?:to|into) [^:\n]{1,80}"
    r"|(?:remember|note|write down) (?:this|the following)):(?=\s)",
    re.IGNORECASE,
)
"""An order whose text is given after a colon and reaches to the end."""
_ORDERED = re.compile(rf"(?:{_SEQUENCE})\b", re.IGNORECASE)
_KEEPS = re.compile(
    r"\W{0,3}(?:(?:first|then|next|please|and|also|finally)(?: of all)?,? ){0,3}"
    r"(?:remember|note|memori[sz]e|write down|jot|keep in mind|don't forget)\b",
    re.IGNORECASE,
)
_NUMBERED = re.compile(r"(?:^|(?<=\s))\(?(\d{1,2})[.)] ", re.MULTILINE)
_BULLET = re.compile(r"^[-*•] ", re.MULTILINE)
_LEADING = re.compile(
    rf"(?:and|but|so|ok(?:ay)?|well|please|also|now|first(?:ly)?(?: of all)?|to begin with|{_SEQUENCE}"
    r"|(?:can|could|would|will) you(?: please)?|i(?: would|['’]d) like you to|i want you to)(?:[,:!] ?| )"
    r"|(?:hey|hi|hello)(?: there)?[,!] ",
    re.IGNORECASE,
)
_GREETING = re.compile(r"(?:hi|hello|hey|good (?:morning|evening|afternoon|day))(?: there)?\W*", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Clause:
    """One thing that was asked or said. `follows`: the words say that it comes after the clause before it."""

    text: str
    follows: bool = False


def cut(text: str) -> list[Clause]:
    """The clauses of a text in order, at most 20; an empty text has none."""
    tidy = _tidy(text)
    given = _GIVEN.search(tidy)
    clauses: list[Clause] = []
    follows = False
    for piece in _prose(tidy[: given.start()] if given else tidy, MOST_CLAUSES - bool(given)):
        clause = _cleaned(piece, follows)
        follows = clause.follows and not clause.text
        if clause.text:
            clauses.append(clause)
    if given:
        clauses.append(Clause(tidy[given.start() :], follows))
    return [clause for clause in clauses if not _GREETING.fullmatch(clause.text)] or clauses


def _tidy(text: str) -> str:
    lines = (" ".join(line.split()) for line in text.splitlines())
    return "\n".join(line for line in lines if line)


def _items(text: str) -> list[str]:
    """The items of a numbered or bulleted list with what stands before it, or the whole text."""
    starts = _numbered(text) or [match.span() for match in _BULLET.finditer(text)]
    if len(starts) < 2:
        return [text]
    before = text[: starts[0][0]].strip()
    ends = [start for start, _ in starts[1:]] + [len(text)]
    items = [text[begin:end].strip() for (_, begin), end in zip(starts, ends, strict=True)]
    return items if not before or before.endswith(":") else [before, *items]


def _numbered(text: str) -> list[tuple[int, int]]:
    spans: list[tuple[int, int]] = []
    for match in _NUMBERED.finditer(text):
        if int(match[1]) == len(spans) + 1:
            spans.append(match.span())
    return spans if len(spans) > 1 else []


def _prose(text: str, most: int) -> list[str]:
    pieces: list[str] = []
    items = _items(text)
    for at, item in enumerate(items):
        if len(pieces) + 1 >= most:
            return [*pieces, "\n".join(items[at:])]
        pieces += _pieces(item, most - len(pieces))
    return pieces


def _pieces(text: str, most: int) -> list[str]:
    pieces: list[str] = []
    shields = _shields(text)
    start = shield = 0
    for match in _BOUNDARY.finditer(text):
        while shield < len(shields) and shields[shield][1] <= match.start():
            shield += 1
        if shield < len(shields) and shields[shield][0] <= match.start() and not _breaks(text, match, shields[shield]):
            continue
        if match[0].strip(", ").lower() == "and" and match[0][0] == " " and _keeps(text, start, match.end()):
            continue
        if len(pieces) + 1 >= most:
            break
        pieces.append(text[start : match.end() if match[0] == "?" else match.start()])
        start = match.end()
    pieces.append(text[start:])
    return pieces


def _shields(text: str) -> list[tuple[int, int, bool]]:
    """(start, end, soft) of what is not cut; a soft one gives way to a comma with "then" and the like."""
    spans = [(*match.span(), False) for match in _QUOTED.finditer(text)]
    command = _COMMAND.search(text)
    if command is None:
        return spans
    begin, end = command.span()
    return [s for s in spans if s[1] <= begin] + [(begin, end, True)] + [s for s in spans if s[0] >= end]


def _breaks(text: str, boundary: re.Match[str], shield: tuple[int, int, bool]) -> bool:
    return shield[2] and boundary[0][0] == "," and _ORDERED.match(text, boundary.end()) is not None


def _keeps(text: str, start: int, end: int) -> bool:
    """Whether the piece is something to be kept word by word, which a mere "and" does not end."""
    return _KEEPS.match(text, start) is not None and _ORDERED.match(text, end) is None


def _cleaned(piece: str, follows: bool) -> Clause:
    """The piece without the words that only lead up to it; nothing may be left."""
    piece = piece.strip(" ,;\n")
    for _ in range(5):
        leading = _LEADING.match(piece) or _LEADING.fullmatch(piece + " ")
        if leading is None:
            break
        follows = follows or _ORDERED.match(leading[0]) is not None
        piece = piece[leading.end() :].lstrip()
    return Clause(piece.rstrip(" ,;") if piece.strip(".,;:!? ") else "", follows)

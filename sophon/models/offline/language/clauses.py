"""Clause splitter: one question, instruction or statement per clause.

The text is split at the end of a sentence, at list markers, and at a comma or "and" before a word that starts a clause.
Quoted text, and a command given after a colon, are not split. Every pattern has bounded repetition or scans the text
once, so that the running time is linear in the length of the text.
"""

import re

from sophon._python.lazy_dataclass import dataclass
from sophon.models.offline.language.german import (
    GERMAN_BOUNDARY,
    GERMAN_INTRODUCTORY,
    GERMAN_SEQUENCE,
    is_german,
)

MAX_CLAUSES = 20
"""Equal to the default maximum of plan steps; the rest of a longer text stays in the last clause."""

_SEQUENCE_WORDS = (
    r"then|finally|lastly|next|after(?: that|wards| this)|at last|at the end|as a last step"
    r"|second(?:ly)?|third(?:ly)?|fourth(?:ly)?|followed by"
)
_CLAUSE_STARTERS = (
    r"what(?:['’]?s)?|who(?:['’]s)?|whose|where|when|why|how|which|can you|could you|do you|please|also|tell"
    r"|show|remember|memori[sz]e|note|write|save|store|put|read|list|open|fetch|get|download|visit"
    r"|calculate|compute|work out|run|execute|look|search|find|recall|summari[sz]e|sum up|forget|delete"
    r"|create|send|book|schedule|translate|compare|explain|give|multiply|divide|subtract|check|report|combine|print|describe"
    r"|update|build|analy[sz]e|use|call"
)
_ARITHMETIC = (
    r"(?:the )?(?:square root|sum|product|current|time|date)\b"
    r"|\(?\d[\d.]{0,30} ?(?:[-+*/^%×÷]|(?:times|plus|minus|percent|divided)\b)"
)
_BOUNDARY = re.compile(
    r"(?<!e\.g)(?<!i\.e)(?<!\bDr)(?<!\bMr)(?<!\bMrs)(?<!\bSt)[.!?;](?=\s|$)"
    r"|\n"
    rf"|,? and (?=(?:{_SEQUENCE_WORDS}|{_CLAUSE_STARTERS})\b)"
    rf"|,? and (?={_ARITHMETIC})"
    rf"|, (?=(?:but )?(?:{_SEQUENCE_WORDS}|{_CLAUSE_STARTERS})\b)"
    r"| (?=(?:then|after that|afterwards|finally|followed by) )",
    re.IGNORECASE,
)
_QUOTED = re.compile(r"\"[^\"\n]*\"|“[^“”\n]*”|`[^`\n]*`|(?<!\w)'[^'\n]*'(?!\w)")
_COMMAND = re.compile(r"\b(?:run|execute|führe?|starte)\b[^:\n]{0,30}:[^\n]*", re.IGNORECASE)
_TEXT_AFTER_COLON = re.compile(
    r"\b(?:(?:summari[sz]e|sum up|recap)\b[^:.!?\n]{0,80}|(?:write|save) (?:to|into) [^:\n]{1,80}"
    r"|fasse?\b[^:.!?\n]{0,80}\bzusammen"
    r"|(?:remember|note|write down) (?:this|the following)):(?=\s)",
    re.IGNORECASE,
)
"""An instruction whose text follows a colon and extends to the end."""
_SEQUENCE_WORD = re.compile(rf"(?:{_SEQUENCE_WORDS})\b", re.IGNORECASE)
_STORE_INSTRUCTION = re.compile(
    r"\W{0,3}(?:(?:first|then|next|please|and|also|finally)(?: of all)?,? ){0,3}"
    r"(?:remember|note|memori[sz]e|write down|jot|keep in mind|don't forget"
    r"|merke? dir|notiere?|schreibe? (?:\w{1,10} )?auf|vergiss nicht)\b",
    re.IGNORECASE,
)
_SCHEDULE_INSTRUCTION = re.compile(r"\W{0,3}(?:please )?(?:every|each|daily|hourly)\b", re.IGNORECASE)
_NUMBERED = re.compile(r"(?:^|(?<=\s))\(?(\d{1,2})[.)] ", re.MULTILINE)
_BULLET = re.compile(r"^[-*•] ", re.MULTILINE)
_INTRODUCTORY = re.compile(
    rf"(?:and|but|so|ok(?:ay)?|well|please|also|now|first(?:ly)?(?: of all)?|to begin with|{_SEQUENCE_WORDS}"
    r"|(?:can|could|would|will) you(?: please)?|i(?: would|['’]d) like you to|i want you to)(?:[,:!] ?| )"
    r"|(?:hey|hi|hello)(?: there)?[,!] ",
    re.IGNORECASE,
)
_GREETING = re.compile(
    r"(?:hi|hello|hey|good (?:morning|evening|afternoon|day)|hallo|guten (?:morgen|tag|abend))(?: there)?\W*",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Clause:
    """One question, instruction or statement. `is_sequential`: the wording puts it after the previous clause
    ("then").
    """

    text: str
    is_sequential: bool = False


def split_clauses(text: str) -> list[Clause]:
    """Split a text into its clauses, at most 20 and in order; an empty text has none."""
    normalised = _normalise_whitespace(text)
    german = is_german(normalised)
    text_after_colon = _TEXT_AFTER_COLON.search(normalised)
    clauses: list[Clause] = []
    follows = False
    before_colon = normalised[: text_after_colon.start()] if text_after_colon else normalised
    for piece in _split_items(before_colon, MAX_CLAUSES - bool(text_after_colon), german=german):
        clause = _strip_introduction(piece, follows, german=german)
        follows = clause.is_sequential and not clause.text
        if clause.text:
            clauses.append(clause)
    if text_after_colon:
        clauses.append(Clause(normalised[text_after_colon.start() :], follows))
    return [clause for clause in clauses if not _GREETING.fullmatch(clause.text)] or clauses


def _normalise_whitespace(text: str) -> str:
    lines = (" ".join(line.split()) for line in text.splitlines())
    return "\n".join(line for line in lines if line)


def _split_list(text: str) -> list[str]:
    """Return the items of a numbered or bulleted list, preceded by the text before it, or the whole text."""
    starts = _numbered_spans(text) or [match.span() for match in _BULLET.finditer(text)]
    if len(starts) < 2:
        return [text]
    before = text[: starts[0][0]].strip()
    ends = [start for start, _ in starts[1:]] + [len(text)]
    items = [text[begin:end].strip() for (_, begin), end in zip(starts, ends, strict=True)]
    return items if not before or before.endswith(":") else [before, *items]


def _numbered_spans(text: str) -> list[tuple[int, int]]:
    spans: list[tuple[int, int]] = []
    for match in _NUMBERED.finditer(text):
        if int(match[1]) == len(spans) + 1:
            spans.append(match.span())
    return spans if len(spans) > 1 else []


def _split_items(text: str, max_pieces: int, *, german: bool) -> list[str]:
    pieces: list[str] = []
    items = _split_list(text)
    for at, item in enumerate(items):
        if len(pieces) + 1 >= max_pieces:
            return [*pieces, "\n".join(items[at:])]
        pieces += _split_item(item, max_pieces - len(pieces), GERMAN_BOUNDARY if german else _BOUNDARY)
    return pieces


def _split_item(text: str, max_pieces: int, boundary: re.Pattern[str]) -> list[str]:
    pieces: list[str] = []
    protected = _protected_spans(text)
    start = index = 0
    for match in boundary.finditer(text):
        while index < len(protected) and protected[index][1] <= match.start():
            index += 1
        if (
            index < len(protected)
            and protected[index][0] <= match.start()
            and not _overrides_protection(text, match, protected[index])
        ):
            continue
        if match[0].lower() in (" and ", " und ") and _is_stored_text(text, start, match.end()):
            continue
        if match[0][0] in ", " and _SCHEDULE_INSTRUCTION.match(text, start) is not None:
            continue  # what is to be done every morning is not done now
        if len(pieces) + 1 >= max_pieces:
            break
        pieces.append(text[start : match.end() if match[0] == "?" else match.start()])
        start = match.end()
    pieces.append(text[start:])
    return pieces


def _protected_spans(text: str) -> list[tuple[int, int, bool]]:
    """Return the spans (start, end, is_soft) not to be split; a soft one is split at a comma followed by "then" etc."""
    spans = [(*match.span(), False) for match in _QUOTED.finditer(text)]
    command = _COMMAND.search(text)
    if command is None:
        return spans
    begin, end = command.span()
    return [s for s in spans if s[1] <= begin] + [(begin, end, True)] + [s for s in spans if s[0] >= end]


def _overrides_protection(text: str, boundary: re.Match[str], span: tuple[int, int, bool]) -> bool:
    return span[2] and boundary[0][0] == "," and _SEQUENCE_WORD.match(text, boundary.end()) is not None


def _is_stored_text(text: str, start: int, end: int) -> bool:
    """Return whether the piece is text to be stored word for word, which a plain "and" does not end."""
    return _STORE_INSTRUCTION.match(text, start) is not None and _SEQUENCE_WORD.match(text, end) is None


def _strip_introduction(piece: str, follows: bool, *, german: bool) -> Clause:
    """Build a clause without introductory words; its text may be empty."""
    piece = piece.strip(" ,;\n")
    introductory, sequence = (GERMAN_INTRODUCTORY, GERMAN_SEQUENCE) if german else (_INTRODUCTORY, _SEQUENCE_WORD)
    for _ in range(5):
        introduction = introductory.match(piece) or introductory.fullmatch(piece + " ")
        if introduction is None:
            break
        follows = follows or sequence.match(introduction[0]) is not None
        piece = piece[introduction.end() :].lstrip()
    follows = follows or (german and sequence.match(piece) is not None)
    return Clause(piece.rstrip(" ,;") if piece.strip(".,;:!? ") else "", follows)

"""Faults of an answer that its form shows: nothing at all, a refusal, cut off, a format not kept, failed tools.

A fault says that the answer is bad. Without a fault nothing is known: a wrong answer has the form of a right one.
"""

import json
import re
from collections.abc import Mapping
from typing import Final, Literal, TypeAlias

from sophon.learning.contract import ScoredTurn

Fault: TypeAlias = Literal["empty", "refusal", "cut_off", "format", "failed_tools"]

FAULT_SCORES: Final[Mapping[Fault, float]] = {
    "empty": 0.0,
    "refusal": 0.2,
    "failed_tools": 0.2,
    "format": 0.4,
    "cut_off": 0.4,
}
"""Score of an answer with the fault; all are below `POOR_BELOW`."""

CUT_OFF_REASONS: Final = frozenset({"length", "max_iterations", "loop_detected"})

_OPENING: Final = 240
"""Characters in which a refusal begins; later ones are about a part of the answer."""
_REFUSAL_LENGTH: Final = 700
"""An answer that is longer than this says more than that it refuses."""

_REFUSAL: Final = re.compile(
    r"""
    \b(?: i \s (?:can't|cannot|can\snot|am\sunable\sto|am\snot\sable\sto|won't|will\snot|must\sdecline\sto)
          (?:\s\w+)? \s
          (?:help|assist|do|provide|answer|comply|access|fulfil|fulfill|complete|create|generate|write|share|discuss
            |browse|open|see|offer|give|support|process|perform|translate|read|look|tell|continue|carry)
        | i'm \s (?:unable|not\sable|not\sallowed) \s to | i \s won't \s be \s able \s to
        | i \s don't \s have \s (?:access|the\sability)
        | (?:as|i'm|i\sam) \s (?:just\s|only\s)? an \s ai\b
        | i \s have \s to \s decline | i \s must \s decline
        | (?:can't|cannot) \s (?:help|assist) \s (?:you\s)? with
        | (?:that|this) \s is \s (?:something|not\ssomething) \s i \s (?:can't|cannot|can)\b
        | (?:ich \s kann|kann \s ich) \s (?:das|dir|ihnen|dabei|dazu|hierbei|diese\w*)? \s? (?:leider\s)?
          (?:\w+\s){0,3}? nicht
        | (?:dabei|dazu|damit) \s kann \s ich \s (?:\w+\s){0,2}? nicht
        | no \s puedo \s (?:ayudar|hacer|proporcionar|responder|acceder|continuar)
        | je \s ne \s (?:peux|suis) \s pas \s (?:\w+\s){0,2}?
          (?:aider|faire|fournir|répondre|accéder|en\smesure|capable|autorisé)
    )
    """,
    re.IGNORECASE | re.VERBOSE,
)
_FENCE: Final = re.compile(r"^[ \t]*```", re.MULTILINE)
_OPEN_END: Final = re.compile(
    r"(?:[,(\[{]|\b(?:and|or|the|a|an|of|to|with|because|which|that|und|oder|der|die|das|weil|et|ou|le|la|y|o|el))\s*$",
    re.IGNORECASE,
)
_LIST_LINE: Final = re.compile(r"^[ \t]*(?:[-*+•]|\d+[.)])[ \t]+\S", re.MULTILINE)
_SENTENCE_END: Final = re.compile(r"[.!?](?=\s|$)")
_ASKS_JSON: Final = re.compile(
    r"\b(?:as|in|return|only|valid|with|output)\b[^.?!\n]{0,20}\bjson\b(?!\s+(?:file|schema|parser|library|format\s+is))",
    re.I,
)
_ASKS_LIST: Final = re.compile(
    r"\bbullet(?:ed)?\b(?:\s+(?:points?|list))?|\bas\s+a\s+(?:numbered\s+)?list\b|\bnumbered\s+list\b"
    r"|\bals\s+(?:nummerierte\s+)?liste\b|\bstichpunkt",
    re.I,
)
_ASKS_TABLE: Final = re.compile(
    r"\b(?:as|in|make|draw|give|show)\b[^.?!\n]{0,30}\btable\b(?!\s+(?:of\s+contents|name|spoon))|\bals\s+tabelle\b",
    re.I,
)
_ASKS_ONE_SENTENCE: Final = re.compile(r"\bin\s+(?:one|a\s+single|1)\s+sentence\b|\bin\s+einem\s+satz\b", re.I)
_ASKS_ONE_WORD: Final = re.compile(
    r"\b(?:in|with)\s+(?:one|a\s+single|1)\s+word\b|\bone[-\s]word\s+answer\b|\bmit\s+einem\s+wort\b", re.I
)
_ASKS_YES_NO: Final = re.compile(r"\byes\s+or\s+no\b|\bja\s+oder\s+nein\b", re.I)
_ASKS_NUMBER: Final = re.compile(r"\b(?:just|only)\s+(?:the|a)\s+number\b|\bnur\s+die\s+zahl\b", re.I)
_ASKS_WORDS: Final = re.compile(
    r"\b(?:at\s+most|no\s+more\s+than|under|max(?:imum)?(?:\s+of)?|höchstens)\s+(\d{1,4})\s+(?:words|wörter)\b", re.I
)
_ASKS_CODE: Final = re.compile(r"\b(?:in|as)\s+a\s+code\s+block\b|\bcode\s+only\b|\bonly\s+(?:the\s+)?code\b", re.I)
_FENCED: Final = re.compile(r"^[ \t]*```\w*\n(.*?)^[ \t]*```", re.MULTILINE | re.DOTALL)
_NUMBER: Final = re.compile(r"\d")


def find_faults(turn: ScoredTurn) -> list[Fault]:
    """Return the faults of an answer, in the order of `Fault`."""
    reply = turn.reply_text.strip().replace("’", "'")
    if not reply:
        return ["empty"]
    checks: Mapping[Fault, bool] = {
        "refusal": is_refusal(reply),
        "cut_off": is_cut_off(reply, turn.finish_reason),
        "format": not keeps_format(turn.request_text, reply),
        "failed_tools": 0 < turn.tools_used <= turn.tool_failures,
    }
    return [fault for fault, is_found in checks.items() if is_found]


def is_refusal(reply: str) -> bool:
    """Return whether an answer begins with a refusal and says little else."""
    return len(reply) <= _REFUSAL_LENGTH and _REFUSAL.search(reply[:_OPENING]) is not None


def is_cut_off(reply: str, finish_reason: str) -> bool:
    """Return whether a limit ended the answer, or it ends inside of a code fence or a clause."""
    has_open_fence = len(_FENCE.findall(reply)) % 2 == 1
    return finish_reason in CUT_OFF_REASONS or has_open_fence or _OPEN_END.search(reply) is not None


def keeps_format(request: str, reply: str) -> bool:
    """Return whether an answer has the format that the request asks for in so many words."""
    words, sentences = len(reply.split()), len(_SENTENCE_END.findall(reply))
    limit = _ASKS_WORDS.search(request)
    broken = (
        _ASKS_JSON.search(request) and not _is_json(reply),
        _ASKS_LIST.search(request) and not _LIST_LINE.search(reply),
        _ASKS_TABLE.search(request) and "|" not in reply and "\t" not in reply,
        _ASKS_ONE_SENTENCE.search(request) and sentences > 2,
        _ASKS_ONE_WORD.search(request) and words > 3,
        _ASKS_YES_NO.search(request) and not re.match(r"\W*(?:yes|no|ja|nein)\b", reply, re.I),
        _ASKS_NUMBER.search(request) and (words > 3 or not _NUMBER.search(reply)),
        _ASKS_CODE.search(request) and not _FENCE.search(reply),
        limit is not None and words > 1.2 * int(limit[1]),
    )
    return not any(broken)


def _is_json(reply: str) -> bool:
    return any(map(_parses, [reply, *_FENCED.findall(reply)]))


def _parses(text: str) -> bool:
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return False
    return True

"""Claims of a reply about actions: those of calls that did not run are removed, failures that it hides are added.

Source: reference/wasp.md 4.14, Action announcer and schedule honesty.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Final

from sophon.decisions.actions import Action, matches_any
from sophon.decisions.intent_phrases import FAMILIES
from sophon.lazy_dataclass import dataclass
from sophon.lazy_pattern import lazy_pattern

BLOCK_TITLE: Final = "Actions:"
NOT_DONE: Final = "I have not done that: no such action ran."
"""What is left of a reply that was nothing but claims."""

_I = (
    r"(?:I(?:['’]ve| have| just| have just|['’]ve just)?|(?:it|this|that)(?:['’]s| has been| is| was)|(?:has|have) been"
)
_HE = r"|(?:ya )?(?:te |le |lo |la )?(?:he|ha sido|queda|quedó))"


def _claim(done: str, what: str) -> re.Pattern[str]:
    return lazy_pattern(
        rf"\b{_I}{_HE}\s+(?:\w+ly\s+)?(?:{done})\b[^.!?\n]{{0,80}}?\b(?:{what})\b"
        rf"|\b(?:your|the|tu|el|la)\s+(?:{what})\s+(?:has been|have been|was|is now|is|ha sido|está)\s+(?:{done})\b",
        re.IGNORECASE,
    )


CLAIMS: Final[Mapping[str, re.Pattern[str]]] = {
    "mail": _claim(
        "sent|mailed|e-?mailed|replied|forwarded|enviado|mandado|respondido|reenviado",
        "e-?mails?|mails?|messages?|repl(?:y|ies)|correos?|mensajes?",
    ),
    "schedule": _claim(
        "scheduled|set(?: up)?|created|added|cancel?led|removed|deleted|programado|creado|agendado|cancelado|borrado",
        "reminders?|schedules?|alarms?|scheduled tasks?|appointments?|timers?|recordatorios?|alarmas?|tareas?|citas?",
    ),
    "agent": _claim("created|started|launched|spawned|creado|iniciado|lanzado", "(?:sub-?)?agents?|bots?|agentes?"),
    "goal": _claim("created|started|added|creado|iniciado", "goals?|objetivos?"),
    "file": _claim(
        "saved|written|wrote|created|updated|deleted|moved|guardado|escrito|creado|borrado|movido",
        r"files?|folders?|documents? to disk|archivos?|ficheros?|[\w-]+\.(?:txt|md|csv|json|py|pdf|docx|html)",
    ),
    "command": _claim(
        "run|ran|executed|installed|ejecutado|instalado", "commands?|scripts?|tests?|packages?|comandos?"
    ),
    "memory": _claim("forgotten|deleted|erased|olvidado|borrado", "memor(?:y|ies)|memorias?|recuerdos?"),
}
"""How a reply claims that an action of a family is done."""

_FAILURE_WORDS = lazy_pattern(
    r"\b(?:fail\w*|errors?|could ?n[o'’]t|could not|can ?not|can['’]t|unable|denied|refused|rejected|not allowed"
    r"|not permitted"
    r"|blocked|did ?n[o'’]t|timed out|falló|fallo|error|no pude|no pudo|no se pudo|rechazad\w|denegad\w|bloquead\w)\b",
    re.IGNORECASE,
)
_SENTENCE_END = lazy_pattern(r"((?<=[.!?])\s+|\n+)")
_OWN_BLOCK = lazy_pattern(rf"\n*^{BLOCK_TITLE}[ ]*\n(?:- .*(?:\n|\Z))+\s*\Z", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Announcement:
    """A reply with its actions: the text, the claims that were removed, and the failures that it had hidden."""

    text: str
    removed: Sequence[str] = ()
    hidden: Sequence[Action] = ()


def announce(text: str, actions: Sequence[Action], *, has_block: bool = True) -> Announcement:
    """Return the reply without claims of actions that did not run, and with its actions and the failures it hides.

    A block of actions that the model wrote itself is replaced by the real one.
    """
    honest, removed = remove_false_claims(_OWN_BLOCK.sub("", text), actions)
    hidden = find_hidden_failures(honest, actions)
    shown = [each for each in actions if each.has_effects or each in hidden] if has_block else [*hidden]
    if removed and not honest.strip():
        honest = NOT_DONE
    parts = [honest.rstrip(), write_block(shown)] if shown else [honest]
    return Announcement("\n\n".join(part for part in parts if part), removed, hidden)


def remove_false_claims(text: str, actions: Sequence[Action]) -> tuple[str, list[str]]:
    """Return the text without the sentences that claim an action of a family of which none was done, and these."""
    false = [pattern for family, pattern in CLAIMS.items() if not _was_done(family, actions)]
    if not any(pattern.search(text) for pattern in false):
        return text, []
    kept: list[str] = []
    removed: list[str] = []
    pieces = [*_SENTENCE_END.split(text), ""]
    for sentence, end in zip(pieces[::2], pieces[1::2], strict=True):
        is_false = any(pattern.search(sentence) for pattern in false) and _FAILURE_WORDS.search(sentence) is None
        (removed if is_false else kept).append(sentence + end)
    return "".join(kept).strip(), [each.strip() for each in removed if each.strip()]


def find_hidden_failures(text: str, actions: Sequence[Action]) -> list[Action]:
    """Return the actions that failed or were denied, were not done later either, and are not mentioned in the text."""
    if _FAILURE_WORDS.search(text) is not None:
        return []
    return [
        each
        for index, each in enumerate(actions)
        if each.outcome != "done"
        and not any(later.tool == each.tool and later.outcome == "done" for later in actions[index + 1 :])
    ]


def write_block(actions: Sequence[Action]) -> str:
    """Return the block of actions: a line for each, in order; equal ones once."""
    lines = [
        f"- {each.tool}: {each.outcome}{f' ({each.detail})' if each.outcome != 'done' and each.detail else ''}"
        for each in actions
    ]
    return "\n".join([BLOCK_TITLE, *dict.fromkeys(lines)])


def _was_done(family: str, actions: Sequence[Action]) -> bool:
    known = FAMILIES.get(family)
    return any(
        each.outcome == "done"
        and each.has_effects
        and (known is None or matches_any(each.tool, known.tools) or not _is_known(each.tool))
        for each in actions
    )


def _is_known(tool: str) -> bool:
    """Return whether a tool is of any family; one of none may be what a claim is about."""
    return any(matches_any(tool, family.tools) for family in FAMILIES.values())

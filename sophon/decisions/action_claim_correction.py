"""Claims of a reply about actions: those of calls that did not run are removed, failures that it hides are added.

Source: WASP, Action announcer and schedule honesty.
"""

import re
from collections.abc import Collection, Mapping, Sequence
from typing import Final

from sophon._python.lazy_dataclass import dataclass
from sophon._python.lazy_pattern import lazy_pattern
from sophon.decisions.actions_taken import Action, matches_any, only_reads
from sophon.decisions.intent_families import find_family
from sophon.decisions.languages.claims.claim_search import (
    CLAIM_PATTERNS,
    LOOKUP,
    MAX_SENTENCE,
    Claim,
    find_claim,
    opens_claim,
)
from sophon.decisions.languages.detection import detect_languages
from sophon.decisions.languages.text_preparation import cut_middle, fold_text, remove_quotations

BLOCK_TITLE: Final = "Actions:"
NOT_DONE: Final = "I have not done that: no such action ran."
_NOT_DONE: Final[Mapping[str, str]] = {
    "es": "No lo he hecho: no se ejecutó ninguna acción así.",
    "de": "Das habe ich nicht getan: keine solche Aktion ist gelaufen.",
    "fr": "Je ne l'ai pas fait : aucune action de ce genre n'a été exécutée.",
}
"""What is left of a reply that was nothing but claims, by language; in any other `NOT_DONE`."""

COMPATIBLE: Final[Mapping[str, frozenset[str]]] = {
    "mail": frozenset({"mail", "web", "command"}),
    "web": frozenset({"web", "mail", "command"}),
    "schedule": frozenset({"schedule", "schedule_end"}),
    "agent": frozenset({"agent"}),
    "goal": frozenset({"goal"}),
    "file": frozenset({"file", "command"}),
    "command": frozenset({"command", "file"}),
    "memory": frozenset({"memory", "remember"}),
}
"""Families of tools that can have done the work of a claim of each kind."""
NO_WORK: Final = ("http.request", "calculator", "memory.graph", "load_*")
"""Tools of no family that only read, which their names do not say."""

_FAILURE_WORDS = lazy_pattern(
    r"\b(?:fail\w*|errors?|could ?n[o'’]t|could not|can ?not|can['’]t|unable|denied|refused|rejected|not allowed"
    r"|not permitted"
    r"|blocked|did ?n[o'’]t|timed out|falló|fallo|no (?:he|ha) podido|no pude|no pudo|no se pudo"
    r"|rechazad\w|denegad\w|bloquead\w|fehlgeschlagen|fehler|gescheitert"
    r"|konnten? (?:\w+ ){0,6}nicht|nicht (?:möglich|erlaubt)|abgelehnt"
    r"|verweigert|blockiert|échoué\w*|échec|erreur|impossible|n['’]ai pas pu|n['’]a pas pu"
    r"|refusé\w*|bloqué\w*|interdit\w*)\b",
    re.IGNORECASE,
)
_SENTENCE_END = lazy_pattern(r"((?<=[.!?])\s+|\n+)")
_OWN_BLOCK = lazy_pattern(rf"^{BLOCK_TITLE}[ ]*\n(?:- .*(?:\n|\Z))+\s*\Z", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Announcement:
    """A reply with its actions: the text, the claims that were removed, and the failures that it had hidden."""

    text: str
    removed: Sequence[str] = ()
    hidden: Sequence[Action] = ()


def announce(text: str, actions: Sequence[Action], *, earlier: Collection[str] = ()) -> Announcement:
    """Return the reply without claims of actions that did not run, and with its actions and the failures it hides.

    A block of actions that the model wrote itself is replaced by the real one. `earlier` are the tools that earlier
    turns have used with success.
    """
    own = _OWN_BLOCK.sub("", text)
    honest, removed = remove_false_claims(own if own == text else own.rstrip("\n"), actions, earlier)
    hidden = find_hidden_failures(honest, actions)
    shown = [each for each in actions if each.has_effects or each in hidden]
    if removed and not honest.strip():
        honest = _NOT_DONE.get(next(iter(detect_languages(fold_text(cut_middle(text)))), ""), NOT_DONE)
    parts = [honest.rstrip(), write_block(shown)] if shown else [honest]
    return Announcement("\n\n".join(part for part in parts if part), removed, hidden)


def remove_false_claims(text: str, actions: Sequence[Action], earlier: Collection[str] = ()) -> tuple[str, list[str]]:
    """Return the text without the sentences that claim work of a kind of which none was done, and these.

    A sentence about how things are may also rest on what a tool of `earlier` did. What stands in quotation marks or in
    a block of code claims nothing.
    """
    of_text = detect_languages(fold_text(cut_middle(text)), by_verbs=False) or tuple(CLAIM_PATTERNS)
    kept: list[str] = []
    removed: list[str] = []
    before, in_code = "", False
    pieces = [*_SENTENCE_END.split(text), ""]
    for sentence, end in zip(pieces[::2], pieces[1::2], strict=True):
        in_code ^= sentence.count("```") % 2 == 1
        said = remove_quotations(sentence[:MAX_SENTENCE])
        languages = dict.fromkeys([*of_text, *detect_languages(fold_text(said), by_verbs=False)])
        if (
            not in_code
            and any(_is_false(find_claim(said, before, each), actions, earlier) for each in languages)
            and _FAILURE_WORDS.search(said) is None
        ):
            if kept and any(opens_claim(kept[-1], each) for each in languages):
                removed.append(kept.pop())
            removed.append(sentence + end)
        else:
            kept.append(sentence + end)
        before = said if said.strip() else before
    return "".join(kept).strip() if removed else text, [each.strip() for each in removed if each.strip()]


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


def _is_false(claim: Claim | None, actions: Sequence[Action], earlier: Collection[str]) -> bool:
    if claim is None:
        return False
    tools = {each.tool for each in actions if each.outcome == "done"} | {*(earlier if claim.is_state else ())}
    return not any(_can_have_done(tool, kind) for tool in tools for kind in claim.kinds)


def _can_have_done(tool: str, kind: str) -> bool:
    """Return whether a call of a tool can be the work of a kind; one of no family can be any."""
    if kind == LOOKUP:
        return True
    family = find_family(tool)
    if only_reads(tool) or matches_any(tool, NO_WORK):
        return False
    return not family or family in COMPATIBLE[kind]

"""Statements to remember: which messages may hold some, and how the answer of a model that lists them is read."""

import json
import re
from collections.abc import Sequence
from typing import Final, Literal, cast

from sophon._python.lazy_dataclass import dataclass
from sophon._python.lazy_pattern import lazy_pattern
from sophon.memory.relations import Relation, parse_relations

MAX_STATEMENTS: Final = 5
"""Statements that are taken of one answer."""

MIN_CHARACTERS, MAX_CHARACTERS = 3, 500

_SECRET = lazy_pattern(
    r"\b(?:sk|pk|ghp|xox[bp]|eyJ)[-_A-Za-z0-9.]{12,}|\b(?:password|passphrase|passwort|pin|token|api[ _-]?key|secret)\b"
    r"|\b\d(?:[ -]?\d){11,18}\b|-----BEGIN",
    re.IGNORECASE,
)
# English, German, French, Spanish, Italian, Portuguese, Dutch.
_FIRST_PERSON = lazy_pattern(
    r"\b(?:i am|i'm|i’m|i(?:'ve| have| live| work| like| love| hate| prefer| need| always| never| usually| use| study)"
    r"|my|mine|our|we (?:are|have|live|use)|call me|remember|from now on|ich (?:bin|habe|heiße|wohne|lebe|arbeite|mag"
    r"|nutze|esse|trinke)|mein\w*|unser\w*|nenn mich|merk dir|je (?:suis|m'appelle|vis|travaille|préfère|n'aime)"
    r"|j'(?:ai|aime|habite|adore)|m(?:on|a|es)|soy|tengo|me (?:llamo|gusta|encanta)|vivo|trabajo|prefiero|sono|ho"
    r"|mi chiamo|mi piace|abito|lavoro|moro|trabalho|gosto|tenho|sou|ik (?:ben|heb|woon|werk|hou)|mijn)\b",
    re.IGNORECASE,
)
_BULLET = lazy_pattern(r"(?:[-*•]|\d+[.)])\s+(.*)")


@dataclass(frozen=True, slots=True)
class Statement:
    """One sentence about a person or their world."""

    text: str
    category: Literal["fact", "preference"] = "fact"
    relations: tuple[Relation, ...] = ()


def may_state_facts(text: str) -> bool:
    """Return whether a message reads as if its author said something of themselves; no model is asked."""
    return _FIRST_PERSON.search(text) is not None


def parse_statements(answer: str) -> list[Statement]:
    """Return the statements in a model's answer: a JSON list with `text`, `category` and `relations`, or bullets, else
    none.

    What is invalid or looks like a secret is left out, and what follows the first `MAX_STATEMENTS`.
    """
    listed: Sequence[object] | None = _parse_json(answer)
    if listed is None:
        listed = [{"text": match[1]} for line in answer.splitlines() if (match := _BULLET.match(line.strip()))]
    found = [statement for item in listed if (statement := _parse_statement(item)) is not None]
    return found[:MAX_STATEMENTS]


def normalize_statement(text: str) -> str:
    """Return what is equal for two spellings of a statement."""
    return " ".join(re.findall(r"\w+", text.lower()))


def _parse_statement(item: object) -> Statement | None:
    if not isinstance(item, dict):
        return None
    fields = cast(dict[str, object], item)
    text, category = fields.get("text"), fields.get("category", "fact")
    if not isinstance(text, str) or not MIN_CHARACTERS <= len(text.strip()) <= MAX_CHARACTERS or _SECRET.search(text):
        return None
    if category not in ("fact", "preference"):
        return None
    relations = parse_relations(fields.get("relations"), text)
    return Statement(text.strip(), "preference" if category == "preference" else "fact", relations)


def _parse_json(answer: str) -> Sequence[object] | None:
    start, end = answer.find("["), answer.rfind("]")
    try:
        items: object = json.loads(answer[start : end + 1]) if 0 <= start < end else None
    except ValueError:
        return None
    return cast(list[object], items) if isinstance(items, list) else None

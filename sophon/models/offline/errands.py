"""From a question to calls: each clause becomes an errand, which is done, open, or waits for one before it."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from sophon.messages import ToolCall
from sophon.models.offline.clauses import cut
from sophon.models.offline.conversation import is_talk
from sophon.models.offline.reading import Reading
from sophon.models.offline.skill import Ask, Finding, Skill, Wish
from sophon.models.offline.table import skill_for, skill_of
from sophon.tools.tool import Tool

MOST_ROUNDS = 3
"""Replies with calls per question: tools to be loaded, what reads what was written, and no more."""

_LOAD = "load_tools"
_REFERS = re.compile(
    r"\b(?:both|them|these|those|everything|the (?:results?|answers?|outcome|output|findings|summary|sum|above))\b"
    r"|\b(?:read|show|open|print|send|summari[sz]e|explain|describe|translate|check|save|write|store|compare|use|put"
    r"|remember|note|combine|report) (?:it|this|that|all)\b",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Errand:
    """A clause, the skill that it calls for (None: it needs no tool), and how far it is.

    `wish` is the call to be made next, None when there is none left; `waits` tells that it has to be made later.
    `asked` is the last call that was made for it, as it was made. `material` is what was found before it.
    """

    clause: str
    material: Sequence[str]
    skill: Skill | None = None
    wish: Wish | None = None
    finding: Finding | None = None
    asked: Wish | None = None
    waits: bool = False


def errands(reading: Reading, tools: Mapping[str, Tool]) -> list[Errand]:
    """The errands of a question in order; pure, so the next round reads the same errands and finds them further on."""
    found: list[Errand] = []
    material = list(reading.material)
    for clause in cut(reading.question):
        errand = _errand(clause.text, tuple(material), reading, tools)
        if errand.wish is not None and _must_wait(errand, found):
            errand = replace(errand, waits=True)
        if errand.finding is not None and not errand.finding.trouble:
            material.append(skill_of_finding(errand).tell(errand.finding))
        found.append(errand)
    return found


def calls(reading: Reading, todo: Iterable[Errand], tools: Mapping[str, Tool]) -> list[ToolCall]:
    """The calls of this round, independent ones together; a missing tool is asked for by its group, once."""
    if reading.rounds >= MOST_ROUNDS:
        return []
    wishes: dict[bytes, Wish] = {}
    for errand in todo:
        wish = errand.wish if not errand.waits else None
        if wish is not None and wish.tool not in tools:
            wish = _loading(wish, reading, tools)
        if wish is not None:
            wishes.setdefault(wish.tool.encode() + ToolCall("", wish.tool, wish.arguments).canonical(), wish)
    return [ToolCall(f"call_{n}", w.tool, w.arguments) for n, w in enumerate(wishes.values(), reading.last_id + 1)]


def refers_back(clause: str) -> bool:
    """Whether a clause needs what came before it ("both", "the results", "read it")."""
    return _REFERS.search(clause) is not None


def skill_of_finding(errand: Errand) -> Skill:
    """The skill that tells the errand's finding: its own, or that of the tool that was called in its name."""
    tool = errand.finding.wish.tool if errand.finding is not None else ""
    return errand.skill if errand.skill is not None and errand.skill.tool == tool else skill_of(tool)


def _errand(clause: str, material: Sequence[str], reading: Reading, tools: Mapping[str, Tool]) -> Errand:
    matched = None if is_talk(clause) else skill_for(Ask(clause, "\n".join(material), tools))
    if matched is None:
        return Errand(clause, material)
    skill, wish = matched
    finding = reading.finding(wish, clause)
    if finding is None:
        return Errand(clause, material, skill, wish)
    following = skill.after(finding) if skill.after is not None and not finding.trouble else None
    if following is None:
        return Errand(clause, material, skill, None, finding, wish)
    last = reading.finding(following, clause)
    return Errand(clause, material, skill, None if last else following, last or finding, following if last else wish)


def _must_wait(errand: Errand, before: Iterable[Errand]) -> bool:
    unfinished = [other for other in before if other.wish is not None]
    if unfinished and refers_back(errand.clause):
        return True
    store = errand.skill.store if errand.skill is not None else ""
    return bool(store) and any(o.skill is not None and o.skill.writes and o.skill.store == store for o in unfinished)


def _loading(wish: Wish, reading: Reading, tools: Mapping[str, Tool]) -> Wish | None:
    group = skill_of(wish.tool).group
    if _LOAD not in tools or not group:
        return None
    loading = Wish(_LOAD, {"group": group})
    return None if reading.finding(loading, "") else loading

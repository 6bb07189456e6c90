"""Tool call selection: match each clause of a question to an intent, track its progress and select the next calls."""

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
"""Maximum of replies with tool calls per question: loading tools, then writers, then readers."""

_LOAD_TOOLS = "load_tools"
_REFERENCE = re.compile(
    r"\b(?:both|them|these|those|everything|the (?:results?|answers?|outcome|output|findings|summary|sum|above))\b"
    r"|\b(?:read|show|open|print|send|summari[sz]e|explain|describe|translate|check|save|write|store|compare|use|put"
    r"|remember|note|combine|report) (?:it|this|that|all)\b",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Errand:
    """Progress of one clause: its intent (None: it needs no tool), its next call and its result.

    `wish` is the next call, None if there is none; `waits`: the call must wait for an earlier clause. `asked` is the
    last call made for the clause, as it was made. `material` is the results of the clauses before it.
    """

    clause: str
    material: Sequence[str]
    skill: Skill | None = None
    wish: Wish | None = None
    finding: Finding | None = None
    asked: Wish | None = None
    waits: bool = False


def errands(reading: Reading, tools: Mapping[str, Tool]) -> list[Errand]:
    """Return the progress of the question's clauses in order. Pure: the next round returns the same clauses."""
    tracked: list[Errand] = []
    previous_results = list(reading.material)
    for clause in cut(reading.question):
        progress = _track_clause(clause.text, tuple(previous_results), reading, tools)
        if progress.wish is not None and _must_wait(progress, tracked):
            progress = replace(progress, waits=True)
        if progress.finding is not None and not progress.finding.trouble:
            previous_results.append(skill_of_finding(progress).tell(progress.finding))
        tracked.append(progress)
    return tracked


def calls(reading: Reading, todo: Iterable[Errand], tools: Mapping[str, Tool]) -> list[ToolCall]:
    """Return the calls of this round, independent ones together; a missing tool's group is loaded once."""
    if reading.rounds >= MOST_ROUNDS:
        return []
    selected: dict[bytes, Wish] = {}
    for progress in todo:
        call = progress.wish if not progress.waits else None
        if call is not None and call.tool not in tools:
            call = _load_tools_call(call, reading, tools)
        if call is not None:
            selected.setdefault(call.tool.encode() + ToolCall("", call.tool, call.arguments).canonical(), call)
    return [ToolCall(f"call_{n}", c.tool, c.arguments) for n, c in enumerate(selected.values(), reading.last_id + 1)]


def refers_back(clause: str) -> bool:
    """Return whether a clause refers to earlier results ("both", "the results", "read it")."""
    return _REFERENCE.search(clause) is not None


def skill_of_finding(errand: Errand) -> Skill:
    """Return the intent that describes the result: the clause's own, or that of the tool that was called."""
    tool = errand.finding.wish.tool if errand.finding is not None else ""
    return errand.skill if errand.skill is not None and errand.skill.tool == tool else skill_of(tool)


def _track_clause(
    clause: str, previous_results: Sequence[str], transcript: Reading, tools: Mapping[str, Tool]
) -> Errand:
    matched = None if is_talk(clause) else skill_for(Ask(clause, "\n".join(previous_results), tools))
    if matched is None:
        return Errand(clause, previous_results)
    intent, call = matched
    result = transcript.finding(call, clause)
    if result is None:
        return Errand(clause, previous_results, intent, call)
    follow_up = intent.after(result) if intent.after is not None and not result.trouble else None
    if follow_up is None:
        return Errand(clause, previous_results, intent, None, result, call)
    last = transcript.finding(follow_up, clause)
    if last is None:
        return Errand(clause, previous_results, intent, follow_up, result, call)
    return Errand(clause, previous_results, intent, None, last, follow_up)


def _must_wait(progress: Errand, earlier: Iterable[Errand]) -> bool:
    unfinished = [other for other in earlier if other.wish is not None]
    if unfinished and refers_back(progress.clause):
        return True
    resource = progress.skill.store if progress.skill is not None else ""
    return bool(resource) and any(
        o.skill is not None and o.skill.writes and o.skill.store == resource for o in unfinished
    )


def _load_tools_call(call: Wish, transcript: Reading, tools: Mapping[str, Tool]) -> Wish | None:
    group = skill_of(call.tool).group
    if _LOAD_TOOLS not in tools or not group:
        return None
    load_call = Wish(_LOAD_TOOLS, {"group": group})
    return None if transcript.finding(load_call, "") else load_call

"""Plans and votes: the clauses of a request become steps, each with the tools that its words call for."""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import orjson

from sophon.memory.search import folded_words
from sophon.messages import Message
from sophon.models.model import ModelRequest
from sophon.models.offline.clauses import Clause, cut
from sophon.models.offline.errands import refers_back
from sophon.models.offline.reading import step_parts
from sophon.models.offline.skill import Ask, Skill
from sophon.models.offline.table import skill_for, skill_of
from sophon.models.offline.words import capitalised, content_words
from sophon.tools.tool import Risk, Tool

_OFFERED = re.compile(r"^- ([\w.-]{1,100}) \(risk (none|low|medium|high|critical)\)", re.MULTILINE)
_PROMPTS = ("That plan cannot be run:", "Break the user's request into steps", "Does the request below need")
_REQUEST = "\n\nRequest:\n"
_SUMS_UP = re.compile(r"(?:summari[sz]e|sum up|recap|combine|report|compare|conclude|answer)\b", re.IGNORECASE)


def plan(request: ModelRequest) -> str:
    """The JSON of contract.md for the request's last question."""
    goal, _ = step_parts(_request(request.messages))
    risks = _offered(request)
    steps: list[dict[str, Any]] = []
    skills: list[Skill | None] = []
    for clause in cut(goal):
        matched = skill_for(Ask(clause.text, "", {tool.name: tool for tool in request.tools}))
        skill = matched[0] if matched else None
        hints = _hints(clause, matched[1].tool if matched else "", skill, request.tools, risks)
        needed = _needed(clause, skill, skills)
        steps.append(_step(len(steps), clause, [f"step{at + 1}" for at in needed], hints, risks))
        skills.append(skill)
    return orjson.dumps({"goal": goal.strip(), "steps": steps}).decode()


def vote(request: ModelRequest) -> str:
    """Yes for a request of three clauses, or of two of which one follows the other."""
    clauses = cut(step_parts(_request(request.messages))[0])
    ordered = any(clause.follows or refers_back(clause.text) for clause in clauses[1:])
    return "yes" if len(clauses) >= 3 or ordered else "no"


def _step(
    at: int, clause: Clause, needed: Sequence[str], hints: Sequence[str], risks: Mapping[str, Risk]
) -> dict[str, Any]:
    return {
        "id": f"step{at + 1}",
        "description": capitalised(clause.text),
        "depends_on": needed,
        "tool_hints": hints,
        "estimated_risk": max((risks.get(n, skill_of(n).risk) for n in hints), default=Risk.LOW).label,
        "model_hint": None,
    }


def _needed(clause: Clause, skill: Skill | None, before: Sequence[Skill | None]) -> list[int]:
    """All steps before one that looks back or sums up, the last one where the words say "then", and the writers of
    what it reads.
    """
    if not before:
        return []
    if refers_back(clause.text) or (skill is None and _SUMS_UP.match(clause.text)):
        return list(range(len(before)))
    needed = {len(before) - 1} if clause.follows else set[int]()
    store = skill.store if skill is not None else ""
    needed |= {at for at, s in enumerate(before) if store and s is not None and s.writes and s.store == store}
    return sorted(needed)


def _hints(
    clause: Clause, tool: str, skill: Skill | None, tools: Iterable[Tool], risks: Mapping[str, Risk]
) -> list[str]:
    """The tool of the skill, or those whose names or tags the clause speaks of; never one that is not offered."""
    if skill is not None:
        return [name for name in (tool, skill.leads_to) if name and (name in risks or not risks)]
    said = set(folded_words(clause.text))
    return [
        t.name
        for t in tools
        if set(folded_words(t.name.replace("_", " "))) <= said
        or any(set(folded_words(tag)) <= said for tag in t.tags if content_words(tag))
    ]


def _offered(request: ModelRequest) -> dict[str, Risk]:
    """The tools that the instructions list, with their risks, or those of the request; empty if there are none."""
    listed = (found for m in request.messages if m.role == "system" for found in _OFFERED.findall(m.content))
    offered = {name: Risk.parse(risk) for name, risk in listed}
    return offered or {tool.name: tool.risk for tool in request.tools}


def _request(messages: Sequence[Message]) -> str:
    """What the person asked, below the prompts of planning."""
    for message in reversed(messages):
        if message.role != "user":
            continue
        _, found, request = message.content.partition(_REQUEST)
        if found and message.content.startswith(_PROMPTS):
            return request
        if not message.content.startswith(_PROMPTS):
            return message.content
    return ""

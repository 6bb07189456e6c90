"""Plans and planning votes of the offline model: each clause of a request becomes a step with tool hints."""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import orjson

from sophon.memory.full_text_scan import tokenize
from sophon.messages import Message
from sophon.models.model import ModelRequest
from sophon.models.offline.call_selection import refers_to_previous_results
from sophon.models.offline.intent import Intent, IntentInput
from sophon.models.offline.intents.registry import intent_for_tool, match_intent
from sophon.models.offline.language.clauses import Clause, split_clauses
from sophon.models.offline.language.english import capitalise, extract_content_words
from sophon.models.offline.transcript import split_step_prompt
from sophon.tools.tool import Risk, Tool

_TOOL_LINE = re.compile(r"^- ([\w.-]{1,100}) \(risk (none|low|medium|high|critical)\)", re.MULTILINE)
_PLANNING_PROMPTS = ("That plan cannot be run:", "Break the user's request into steps", "Does the request below need")
_REVIEW_PROMPT = "Review the plan below"
_REQUEST_MARK = "\n\nRequest:\n"
_SUMMARISING = re.compile(
    r"(?:summari[sz]e|sum up|recap|combine|report|compare|conclude|answer|fasse?\b.{0,80}\bzusammen)\b", re.IGNORECASE
)


def build_plan_json(request: ModelRequest) -> str:
    """Build the plan of the request's last question as JSON (goal, steps), in the format that planning expects."""
    goal, _ = split_step_prompt(_find_request(request.messages))
    risks = _tool_risks(request)
    steps: list[dict[str, Any]] = []
    intents: list[Intent | None] = []
    for clause in split_clauses(goal):
        matched = match_intent(IntentInput(clause.text, "", {tool.name: tool for tool in request.tools}))
        intent = matched[0] if matched else None
        hints = _tool_hints(clause, matched[1].tool if matched else "", intent, request.tools, risks)
        dependencies = [f"step{index + 1}" for index in _dependencies(clause, intent, intents)]
        steps.append(_step_to_json(len(steps), clause, dependencies, hints, risks))
        intents.append(intent)
    return orjson.dumps({"goal": goal.strip(), "steps": steps}).decode()


def is_plan_review(request: ModelRequest) -> bool:
    """Return whether a `plan` request is the review of a goal's plan (`planner_prompts` of goals)."""
    return any(each.role == "system" and each.content.startswith(_REVIEW_PROMPT) for each in request.messages)


def review_plan() -> str:
    """Return the review of a plan: its form was checked already, and more the rules cannot judge."""
    return '{"verdict": "ok", "issues": []}'


def vote_on_planning(request: ModelRequest) -> str:
    """Return "yes" for a request of at least three clauses, or of two if one depends on the other; else "no"."""
    clauses = split_clauses(split_step_prompt(_find_request(request.messages))[0])
    ordered = any(clause.is_sequential or refers_to_previous_results(clause.text) for clause in clauses[1:])
    return "yes" if len(clauses) >= 3 or ordered else "no"


def _step_to_json(
    index: int, clause: Clause, dependencies: Sequence[str], hints: Sequence[str], risks: Mapping[str, Risk]
) -> dict[str, Any]:
    return {
        "id": f"step{index + 1}",
        "description": capitalise(clause.text),
        "depends_on": dependencies,
        "tool_hints": hints,
        "estimated_risk": max((risks.get(n, intent_for_tool(n).risk) for n in hints), default=Risk.LOW).label,
        "model_hint": None,
    }


def _dependencies(clause: Clause, intent: Intent | None, earlier: Sequence[Intent | None]) -> list[int]:
    """Return the indices of the steps that a step depends on.

    A step that refers back or summarises depends on all steps before it; a sequential one ("then") on the last; a
    reader on the earlier writers of the same resource.
    """
    if not earlier:
        return []
    if refers_to_previous_results(clause.text) or (intent is None and _SUMMARISING.match(clause.text)):
        return list(range(len(earlier)))
    dependencies = {len(earlier) - 1} if clause.is_sequential else set[int]()
    resource = intent.resource if intent is not None else ""
    dependencies |= {
        index
        for index, other in enumerate(earlier)
        if resource and other is not None and other.is_writer and other.resource == resource
    }
    return sorted(dependencies)


def _tool_hints(
    clause: Clause, tool: str, intent: Intent | None, tools: Iterable[Tool], risks: Mapping[str, Risk]
) -> list[str]:
    """Return the intent's tools, or those whose name or tag the clause mentions; only tools that are available."""
    if intent is not None:
        return [name for name in (tool, intent.follow_up_tool) if name and (name in risks or not risks)]
    words = set(tokenize(clause.text))
    return [
        t.name
        for t in tools
        if set(tokenize(t.name.replace("_", " "))) <= words
        or any(set(tokenize(tag)) <= words for tag in t.tags if extract_content_words(tag))
    ]


def _tool_risks(request: ModelRequest) -> dict[str, Risk]:
    """Return tool name -> risk from the list in the system prompt, else from the request's tools."""
    listed = (found for m in request.messages if m.role == "system" for found in _TOOL_LINE.findall(m.content))
    risks = {name: Risk.parse(risk) for name, risk in listed}
    return risks or {tool.name: tool.risk for tool in request.tools}


def _find_request(messages: Sequence[Message]) -> str:
    """Return the user's request, without the planning prompt above it."""
    for message in reversed(messages):
        if message.role != "user":
            continue
        _, found, request = message.content.partition(_REQUEST_MARK)
        if found and message.content.startswith(_PLANNING_PROMPTS):
            return request
        if not message.content.startswith(_PLANNING_PROMPTS):
            return message.content
    return ""

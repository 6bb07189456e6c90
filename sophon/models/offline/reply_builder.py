"""Reply of the offline model: the tool calls to make or, once their results are present, a text about them."""

import re
from collections.abc import Mapping, Sequence
from itertools import pairwise

from sophon._python.lazy_dataclass import dataclass
from sophon.messages import Message, ToolCall
from sophon.models.model import ModelRequest
from sophon.models.offline.call_selection import ClauseProgress, intent_for_result, select_tool_calls, track_clauses
from sophon.models.offline.intent import CallResult, PlannedCall
from sophon.models.offline.intents.memory import filter_matching_hits
from sophon.models.offline.intents.registry import intent_for_tool
from sophon.models.offline.language.english import ensure_full_stop, to_second_person
from sophon.models.offline.language.german import is_german
from sophon.models.offline.small_talk import (
    GERMAN_NOTE,
    OFFLINE_NOTE,
    DirectAnswer,
    answer_unknown_request,
    answer_without_tool,
    recall_user_statement,
)
from sophon.models.offline.tool_results import format_failure_reason, parse_tool_result
from sophon.models.offline.transcript import ParsedTranscript, parse_transcript
from sophon.tools.tool import Tool
from sophon.tools.untrusted_text import unfence_text

_PROMPT_PREFIX = "The request was worked on by a plan. Its goal: "

_GOAL_REPORT = "[AUTO-DETECTED: goal"
"""First line of the message that asks for the report of a goal, `step_text` of goals; its results are fenced."""

_PROMPT_SUFFIX = "\n\nAnswer the user's request from these results."

_STEP_HEADING = re.compile(
    r"^Step (?P<id>[^\s(]{1,80}) \((?P<text>.*)\), (?P<status>pending|running|completed|failed|skipped|cancelled):$",
    re.MULTILINE,
)

_SUMMARISING = re.compile(
    r"\W*(?:summari[sz]e|sum up|recap|combine|report|give (?:me )?a summary|fasse?\b.{0,80}\bzusammen)\b", re.IGNORECASE
)


@dataclass(frozen=True, slots=True)
class OfflineReply:
    """Reply of the offline model: tool calls, or a text."""

    text: str = ""
    tool_calls: Sequence[ToolCall] = ()


def build_reply(request: ModelRequest) -> OfflineReply:
    """Build the reply to a `reply` or `step` request. Pure: the same request has the same reply."""
    transcript = parse_transcript(request.messages)
    plan = answer_synthesis_prompt(request.messages)
    if plan is not None:
        return OfflineReply(_add_note(DirectAnswer(plan), transcript, request))
    usable: Mapping[str, Tool] = {} if request.tool_choice == "none" else {tool.name: tool for tool in request.tools}
    clauses = track_clauses(transcript, usable)
    selected = select_tool_calls(transcript, clauses, usable)
    if selected:
        return OfflineReply(tool_calls=selected)
    return OfflineReply(_add_note(_answer(transcript, clauses, usable), transcript, request))


def _answer(transcript: ParsedTranscript, clauses: Sequence[ClauseProgress], tools: Mapping[str, Tool]) -> DirectAnswer:
    parts: list[str] = []
    unmatched: list[str] = []
    is_introduction = False
    for progress in clauses:
        answer = _answer_clause(progress, transcript, tools)
        if answer is None:
            unmatched.append(progress.clause)
        elif not (answer.is_introduction and is_introduction):
            parts.append(answer.text)
            is_introduction = is_introduction or answer.is_introduction
    parts += _describe_other_results(transcript, clauses)
    if unmatched and not is_introduction:
        parts.append(answer_unknown_request(unmatched, transcript).text)
        is_introduction = True
    if not parts:
        return answer_unknown_request(["an empty message"], transcript)
    return DirectAnswer(_join_parts(parts), is_introduction)


def _answer_clause(
    progress: ClauseProgress, transcript: ParsedTranscript, tools: Mapping[str, Tool]
) -> DirectAnswer | None:
    result = progress.result
    german = progress.intent is not None and progress.intent.language == "de"
    if progress.intent is None:
        return answer_without_tool(progress.clause, transcript, progress.previous_results)
    if progress.pending_call is not None and result is None:
        return DirectAnswer(_describe_omitted_call(progress.pending_call, tools, german=german))
    if result is None:
        return None
    if result.failure:
        return DirectAnswer(_describe_failure(result, german=german))
    if result.call.tool == "memory.search" and not german and not filter_matching_hits(result):
        statement = recall_user_statement(str(result.call.arguments.get("query", "")), transcript)
        if statement is not None:
            return DirectAnswer(statement)
    text = intent_for_result(progress).describe_result(result)
    if result.is_edited:
        changed = (
            "Der Aufruf wurde vor der Freigabe geändert." if german else "The call was changed before it was approved."
        )
        text = f"{changed} {text}"
    if progress.pending_call is not None:
        text = f"{text} {_describe_omitted_call(progress.pending_call, tools, german=german)}"
    return DirectAnswer(text)


def _describe_omitted_call(call: PlannedCall, tools: Mapping[str, Tool], *, german: bool) -> str:
    description = intent_for_tool(call.tool, german=german).describe_call(call)
    if german and call.tool in tools:
        return f"Ich wollte {description}, aber diese Frage hat ihre Runden mit Werkzeugen aufgebraucht."
    if german:
        return f"Ich wollte {description}, aber das Werkzeug {call.tool} steht mir hier nicht zur Verfügung."
    if call.tool in tools:
        return f"I did not {description}: this question has used up its rounds of tools."
    return f"I could not {description}: the tool {call.tool} is not available to me here."


def _describe_failure(result: CallResult, *, german: bool) -> str:
    intent, why = intent_for_tool(result.call.tool, german=german), format_failure_reason(result.text)
    description = intent.describe_call(result.call)
    if german:
        became = "das wurde abgelehnt" if result.failure == "denied" else "das ging nicht"
        return f"Ich wollte {description}, aber {became}: {why}"
    if result.failure == "denied":
        return f"I did not {description}, because that was refused: {why}"
    return f"I tried to {description}, and it did not work: {why}"


def _describe_other_results(transcript: ParsedTranscript, clauses: Sequence[ClauseProgress]) -> list[str]:
    """Report results of calls that belong to no clause, such as calls of another model before a failover."""
    described = {_call_key(e.executed_call) for e in clauses if e.executed_call is not None}
    parts: list[str] = []
    german = is_german(transcript.question)
    for executed, text in transcript.executed_calls:
        call = PlannedCall(executed.name, executed.arguments)
        if _call_key(call) in described or executed.name == "load_tools" or _has_follow_up(executed, clauses):
            continue
        result = parse_tool_result(call, text)
        parts.append(
            _describe_failure(result, german=german)
            if result.failure
            else intent_for_tool(executed.name, german=german).describe_result(result)
        )
    return parts


def _has_follow_up(call: ToolCall, clauses: Sequence[ClauseProgress]) -> bool:
    return any(e.intent is not None and e.intent.follow_up is not None and e.intent.tool == call.name for e in clauses)


def _call_key(call: PlannedCall) -> tuple[str, bytes]:
    return call.tool, ToolCall("", call.tool, call.arguments).canonical_arguments()


def _join_parts(parts: Sequence[str]) -> str:
    """Join the parts: single-line parts with spaces, multi-line parts as separate paragraphs."""
    text = parts[0]
    for before, part in pairwise(parts):
        text += (" " if "\n" not in before and "\n" not in part else "\n\n") + part
    return text


def _add_note(answer: DirectAnswer, transcript: ParsedTranscript, request: ModelRequest) -> str:
    if answer.is_introduction or not transcript.is_first_reply or request.purpose != "reply":
        return answer.text
    return _join_parts([answer.text, GERMAN_NOTE if is_german(transcript.question) else OFFLINE_NOTE])


@dataclass(frozen=True, slots=True)
class SynthesisStep:
    """A step in the synthesis prompt; `text` is its result, or the reason why there is none."""

    description: str
    status: str
    text: str


def answer_synthesis_prompt(messages: Sequence[Message]) -> str | None:
    """Return the answer from a plan's results, or None if the last message is not a synthesis prompt."""
    if not messages or messages[-1].role == "tool":
        return None
    content = messages[-1].content
    if content.startswith(_GOAL_REPORT):
        content = unfence_text(content.partition("\n")[2])
    if not content.startswith(_PROMPT_PREFIX):
        return None
    steps = parse_synthesis_prompt(content)
    return _answer_from_steps(steps) if steps else None


def parse_synthesis_prompt(prompt: str) -> list[SynthesisStep]:
    """Parse the steps of a prompt in the layout of `sophon.plans.synthesis_prompt`, in plan order."""
    text = prompt.rpartition(_PROMPT_SUFFIX)[0] or prompt
    heads = list(_STEP_HEADING.finditer(text))
    ends = [head.start() for head in heads[1:]] + [len(text)]
    return [
        SynthesisStep(head["text"], head["status"], text[head.end() : end].strip())
        for head, end in zip(heads, ends, strict=True)
    ]


def _answer_from_steps(steps: Sequence[SynthesisStep]) -> str:
    """Answer with the last step alone if it summarises, else with every result in plan order."""
    done = [step for step in steps if step.status == "completed"]
    if done and done[-1] is steps[-1] and _SUMMARISING.match(done[-1].description):
        done = done[-1:]
    parts = [step.text for step in done if step.text]
    parts += [
        f"“{to_second_person(s.description)}” is not done ({s.status}): {ensure_full_stop(s.text)}"
        for s in steps
        if s.status != "completed"
    ]
    return "\n\n".join(parts) or "The plan came to no result."

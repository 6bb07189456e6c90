"""Tool call selection: match each clause of a question to an intent, track its progress and select the next calls."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from sophon._python.lazy_dataclass import dataclass
from sophon.messages import ToolCall
from sophon.models.offline.intent import CallResult, Intent, IntentInput, PlannedCall
from sophon.models.offline.intents.registry import intent_for_tool, match_intent
from sophon.models.offline.language.clauses import split_clauses
from sophon.models.offline.language.german import is_german
from sophon.models.offline.small_talk import is_small_talk
from sophon.models.offline.transcript import ParsedTranscript
from sophon.tools.tool import Tool

MAX_ROUNDS = 3
"""Maximum of replies with tool calls per question: loading tools, then writers, then readers."""

_LOAD_TOOLS = "load_tools"
_REFERENCE = re.compile(
    r"\b(?:both|them|these|those|everything|the (?:results?|answers?|outcome|output|findings|summary|sum|above)"
    r"|beides|beiden?|die Ergebnisse|das Ergebnis)\b"
    r"|\b(?:read|show|open|print|send|summari[sz]e|explain|describe|translate|check|save|write|store|compare|use|put"
    r"|remember|note|combine|report) (?:it|this|that|all)\b",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class ClauseProgress:
    """Progress of one clause: its intent (None: it needs no tool), its next call and its result.

    `pending_call` is the next call, None if there is none; `is_blocked`: the call must wait for an earlier clause.
    `executed_call` is the last call made for the clause, as it was made. `previous_results` is the results of the
    clauses before it.
    """

    clause: str
    previous_results: Sequence[str]
    intent: Intent | None = None
    pending_call: PlannedCall | None = None
    result: CallResult | None = None
    executed_call: PlannedCall | None = None
    is_blocked: bool = False


def track_clauses(transcript: ParsedTranscript, tools: Mapping[str, Tool]) -> list[ClauseProgress]:
    """Return the progress of the question's clauses in order. Pure: the next round returns the same clauses."""
    tracked: list[ClauseProgress] = []
    previous_results = list(transcript.previous_results)
    for clause in split_clauses(transcript.question):
        progress = _track_clause(clause.text, tuple(previous_results), transcript, tools)
        if progress.pending_call is not None and _must_wait(progress, tracked):
            progress = replace(progress, is_blocked=True)
        if progress.result is not None and not progress.result.failure:
            previous_results.append(intent_for_result(progress).describe_result(progress.result))
        tracked.append(progress)
    return tracked


def select_tool_calls(
    transcript: ParsedTranscript, clauses: Iterable[ClauseProgress], tools: Mapping[str, Tool]
) -> list[ToolCall]:
    """Return the calls of this round, independent ones together; a missing tool's group is loaded once."""
    if transcript.round_count >= MAX_ROUNDS:
        return []
    selected: dict[bytes, PlannedCall] = {}
    for progress in clauses:
        call = progress.pending_call if not progress.is_blocked else None
        if call is not None and call.tool not in tools:
            call = _load_tools_call(call, transcript, tools)
        if call is not None:
            selected.setdefault(
                call.tool.encode() + ToolCall("", call.tool, call.arguments).canonical_arguments(), call
            )
    return [
        ToolCall(f"call_{n}", c.tool, c.arguments)
        for n, c in enumerate(selected.values(), transcript.last_call_number + 1)
    ]


def refers_to_previous_results(clause: str) -> bool:
    """Return whether a clause refers to earlier results ("both", "the results", "read it")."""
    return _REFERENCE.search(clause) is not None


def intent_for_result(progress: ClauseProgress) -> Intent:
    """Return the intent that describes the result: the clause's own, or that of the tool that was called."""
    tool = progress.result.call.tool if progress.result is not None else ""
    return (
        progress.intent
        if progress.intent is not None and progress.intent.tool == tool
        else intent_for_tool(tool, german=is_german(progress.clause))
    )


def _track_clause(
    clause: str, previous_results: Sequence[str], transcript: ParsedTranscript, tools: Mapping[str, Tool]
) -> ClauseProgress:
    matched = None if is_small_talk(clause) else match_intent(IntentInput(clause, "\n".join(previous_results), tools))
    if matched is None:
        return ClauseProgress(clause, previous_results)
    intent, call = matched
    result = transcript.find_result(call, clause)
    if result is None:
        return ClauseProgress(clause, previous_results, intent, call)
    follow_up = intent.follow_up(result) if intent.follow_up is not None and not result.failure else None
    if follow_up is None:
        return ClauseProgress(clause, previous_results, intent, None, result, call)
    last = transcript.find_result(follow_up, clause)
    if last is None:
        return ClauseProgress(clause, previous_results, intent, follow_up, result, call)
    return ClauseProgress(clause, previous_results, intent, None, last, follow_up)


def _must_wait(progress: ClauseProgress, earlier: Iterable[ClauseProgress]) -> bool:
    unfinished = [other for other in earlier if other.pending_call is not None]
    if unfinished and refers_to_previous_results(progress.clause):
        return True
    resource = progress.intent.resource if progress.intent is not None else ""
    return bool(resource) and any(
        o.intent is not None and o.intent.is_writer and o.intent.resource == resource for o in unfinished
    )


def _load_tools_call(call: PlannedCall, transcript: ParsedTranscript, tools: Mapping[str, Tool]) -> PlannedCall | None:
    group = intent_for_tool(call.tool).group
    if _LOAD_TOOLS not in tools or not group:
        return None
    load_call = PlannedCall(_LOAD_TOOLS, {"group": group})
    return None if transcript.find_result(load_call, "") else load_call

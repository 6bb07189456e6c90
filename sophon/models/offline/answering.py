"""Reply of the offline model: the tool calls to make or, once their results are present, a text about them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from sophon.messages import ToolCall
from sophon.models.model import ModelRequest
from sophon.models.offline.conversation import Remark, remark, said_before, unknown
from sophon.models.offline.display import found, reason
from sophon.models.offline.errands import Errand, calls, errands, skill_of_finding
from sophon.models.offline.introduction import NOTE
from sophon.models.offline.reading import Reading, read
from sophon.models.offline.skill import Finding, Wish
from sophon.models.offline.skills.memory import fitting
from sophon.models.offline.synthesis import told_by_plan
from sophon.models.offline.table import skill_of
from sophon.tools.tool import Tool


@dataclass(frozen=True, slots=True)
class Reply:
    """Reply of the offline model: tool calls, or a text."""

    text: str = ""
    calls: Sequence[ToolCall] = ()


def reply(request: ModelRequest) -> Reply:
    """Build the reply to a `reply` or `step` request. Pure: the same request has the same reply."""
    transcript = read(request.messages)
    plan = told_by_plan(request.messages)
    if plan is not None:
        return Reply(_add_note(Remark(plan), transcript, request))
    usable: Mapping[str, Tool] = {} if request.tool_choice == "none" else {tool.name: tool for tool in request.tools}
    clauses = errands(transcript, usable)
    selected = calls(transcript, clauses, usable)
    if selected:
        return Reply(calls=selected)
    return Reply(_add_note(_answer(transcript, clauses, usable), transcript, request))


def _answer(transcript: Reading, clauses: Sequence[Errand], tools: Mapping[str, Tool]) -> Remark:
    parts: list[str] = []
    unmatched: list[str] = []
    is_introduction = False
    for progress in clauses:
        answer = _answer_clause(progress, transcript, tools)
        if answer is None:
            unmatched.append(progress.clause)
        elif not (answer.introduces and is_introduction):
            parts.append(answer.text)
            is_introduction = is_introduction or answer.introduces
    parts += _describe_other_results(transcript, clauses)
    if unmatched and not is_introduction:
        parts.append(unknown(unmatched, transcript).text)
        is_introduction = True
    if not parts:
        return unknown(["an empty message"], transcript)
    return Remark(_join_parts(parts), is_introduction)


def _answer_clause(progress: Errand, transcript: Reading, tools: Mapping[str, Tool]) -> Remark | None:
    result = progress.finding
    if progress.skill is None:
        return remark(progress.clause, transcript, progress.material)
    if progress.wish is not None and result is None:
        return Remark(_describe_omitted_call(progress.wish, tools))
    if result is None:
        return None
    if result.trouble:
        return Remark(_describe_failure(result))
    if result.wish.tool == "memory.search" and not fitting(result):
        statement = said_before(str(result.wish.arguments.get("query", "")), transcript)
        if statement is not None:
            return Remark(statement)
    text = skill_of_finding(progress).tell(result)
    if result.edited:
        text = f"The call was changed before it was approved. {text}"
    return Remark(f"{text} {_describe_omitted_call(progress.wish, tools)}" if progress.wish is not None else text)


def _describe_omitted_call(call: Wish, tools: Mapping[str, Tool]) -> str:
    description = skill_of(call.tool).deed(call)
    if call.tool in tools:
        return f"I did not {description}: this question has used up its rounds of tools."
    return f"I could not {description}: the tool {call.tool} is not available to me here."


def _describe_failure(result: Finding) -> str:
    description, why = skill_of(result.wish.tool).deed(result.wish), reason(result.text)
    if result.trouble == "denied":
        return f"I did not {description}, because that was refused: {why}"
    return f"I tried to {description}, and it did not work: {why}"


def _describe_other_results(transcript: Reading, clauses: Sequence[Errand]) -> list[str]:
    """Report results of calls that belong to no clause, such as calls of another model before a failover."""
    described = {_call_key(e.asked) for e in clauses if e.asked is not None}
    parts: list[str] = []
    for executed, text in transcript.made:
        call = Wish(executed.name, executed.arguments)
        if _call_key(call) in described or executed.name == "load_tools" or _has_follow_up(executed, clauses):
            continue
        result = found(call, text)
        parts.append(_describe_failure(result) if result.trouble else skill_of(executed.name).tell(result))
    return parts


def _has_follow_up(call: ToolCall, clauses: Sequence[Errand]) -> bool:
    return any(e.skill is not None and e.skill.after is not None and e.skill.tool == call.name for e in clauses)


def _call_key(call: Wish) -> tuple[str, bytes]:
    return call.tool, ToolCall("", call.tool, call.arguments).canonical()


def _join_parts(parts: Sequence[str]) -> str:
    """Join the parts: single-line parts with spaces, multi-line parts as separate paragraphs."""
    text = parts[0]
    for before, part in pairwise(parts):
        text += (" " if "\n" not in before and "\n" not in part else "\n\n") + part
    return text


def _add_note(answer: Remark, transcript: Reading, request: ModelRequest) -> str:
    if answer.introduces or not transcript.first or request.purpose != "reply":
        return answer.text
    return _join_parts([answer.text, NOTE])

"""The reply: which tools to call, or, once their results are there, what to say of them in plain English."""

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
    """Calls to be made, or the text."""

    text: str = ""
    calls: Sequence[ToolCall] = ()


def reply(request: ModelRequest) -> Reply:
    """Answer a `reply` or `step` call; pure: the same request has the same reply."""
    reading = read(request.messages)
    plan = told_by_plan(request.messages)
    if plan is not None:
        return Reply(_with_note(Remark(plan), reading, request))
    usable: Mapping[str, Tool] = {} if request.tool_choice == "none" else {tool.name: tool for tool in request.tools}
    todo = errands(reading, usable)
    wanted = calls(reading, todo, usable)
    if wanted:
        return Reply(calls=wanted)
    return Reply(_with_note(_answer(reading, todo, usable), reading, request))


def _answer(reading: Reading, todo: Sequence[Errand], tools: Mapping[str, Tool]) -> Remark:
    parts: list[str] = []
    lost: list[str] = []
    introduces = False
    for errand in todo:
        said = _said(errand, reading, tools)
        if said is None:
            lost.append(errand.clause)
        elif not (said.introduces and introduces):
            parts.append(said.text)
            introduces = introduces or said.introduces
    parts += _leftovers(reading, todo)
    if lost and not introduces:
        said = unknown(lost, reading)
        parts.append(said.text)
        introduces = True
    if not parts:
        return unknown(["an empty message"], reading)
    return Remark(_joined(parts), introduces)


def _said(errand: Errand, reading: Reading, tools: Mapping[str, Tool]) -> Remark | None:
    finding = errand.finding
    if errand.skill is None:
        return remark(errand.clause, reading, errand.material)
    if errand.wish is not None and finding is None:
        return Remark(_undone(errand.wish, tools))
    if finding is None:
        return None
    if finding.trouble:
        return Remark(_went_wrong(finding))
    if finding.wish.tool == "memory.search" and not fitting(finding):
        known = said_before(str(finding.wish.arguments.get("query", "")), reading)
        if known is not None:
            return Remark(known)
    text = skill_of_finding(errand).tell(finding)
    if finding.edited:
        text = f"The call was changed before it was approved. {text}"
    return Remark(f"{text} {_undone(errand.wish, tools)}" if errand.wish is not None else text)


def _undone(wish: Wish, tools: Mapping[str, Tool]) -> str:
    deed = skill_of(wish.tool).deed(wish)
    if wish.tool in tools:
        return f"I did not {deed}: this question has used up its rounds of tools."
    return f"I could not {deed}: the tool {wish.tool} is not available to me here."


def _went_wrong(finding: Finding) -> str:
    deed, why = skill_of(finding.wish.tool).deed(finding.wish), reason(finding.text)
    if finding.trouble == "denied":
        return f"I did not {deed}, because that was refused: {why}"
    return f"I tried to {deed}, and it did not work: {why}"


def _leftovers(reading: Reading, todo: Sequence[Errand]) -> list[str]:
    """What came of calls that belong to no clause: made by another model, say, before this one took over."""
    told = {_key(e.asked) for e in todo if e.asked is not None}
    parts: list[str] = []
    for call, text in reading.made:
        wish = Wish(call.name, call.arguments)
        if _key(wish) in told or call.name == "load_tools" or _first_of_two(call, todo):
            continue
        finding = found(wish, text)
        parts.append(_went_wrong(finding) if finding.trouble else skill_of(call.name).tell(finding))
    return parts


def _first_of_two(call: ToolCall, todo: Sequence[Errand]) -> bool:
    return any(e.skill is not None and e.skill.after is not None and e.skill.tool == call.name for e in todo)


def _key(wish: Wish) -> tuple[str, bytes]:
    return wish.tool, ToolCall("", wish.tool, wish.arguments).canonical()


def _joined(parts: Sequence[str]) -> str:
    """Short sentences in one line, whatever has lines of its own in a paragraph of its own."""
    text = parts[0]
    for before, part in pairwise(parts):
        text += (" " if "\n" not in before and "\n" not in part else "\n\n") + part
    return text


def _with_note(said: Remark, reading: Reading, request: ModelRequest) -> str:
    if said.introduces or not reading.first or request.purpose != "reply":
        return said.text
    return _joined([said.text, NOTE])

"""Plan synthesis: the answer to the user from the results of the plan's steps.

Parses the layout of `sophon.plans.synthesis_prompt`; a test checks that both match.
"""

import re
from collections.abc import Sequence

from sophon.lazy_dataclass import dataclass
from sophon.messages import Message
from sophon.models.offline.language.english import ensure_full_stop, to_second_person
from sophon.tools.untrusted_text import unfence_text

_PROMPT_PREFIX = "The request was worked on by a plan. Its goal: "
_GOAL_REPORT = "[AUTO-DETECTED: goal"
"""First line of the message that asks for the report of a goal, `sophon.goals.step_text`; its results are fenced."""

_PROMPT_SUFFIX = "\n\nAnswer the user's request from these results."
_STEP_HEADING = re.compile(
    r"^Step (?P<id>[^\s(]{1,80}) \((?P<text>.*)\), (?P<status>pending|running|completed|failed|skipped|cancelled):$",
    re.MULTILINE,
)
_SUMMARISING = re.compile(
    r"\W*(?:summari[sz]e|sum up|recap|combine|report|give (?:me )?a summary|fasse?\b.{0,80}\bzusammen)\b", re.IGNORECASE
)


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
    """Parse the steps of a synthesis prompt, in plan order."""
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

"""The last call of a plan: answers the person from what each step came to.

Reads the layout of sophon.plans.synthesis_prompt; a test holds the two together.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from sophon.messages import Message
from sophon.models.offline.words import ended, to_you

_BEGINNING = "The request was worked on by a plan. Its goal: "
_END = "\n\nAnswer the user's request from these results."
_STEP = re.compile(
    r"^Step (?P<id>[^\s(]{1,80}) \((?P<what>.*)\), (?P<status>pending|running|completed|failed|skipped|cancelled):$",
    re.MULTILINE,
)
_SUMS_UP = re.compile(r"\W*(?:summari[sz]e|sum up|recap|combine|report|give (?:me )?a summary)\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class StepTold:
    """A step as the synthesis is told of it; `text` is its result, or the reason why there is none."""

    description: str
    status: str
    text: str


def told_by_plan(messages: Sequence[Message]) -> str | None:
    """The answer from a plan's results, or None if the request is no synthesis."""
    if not messages or messages[-1].role == "tool" or not messages[-1].content.startswith(_BEGINNING):
        return None
    steps = told_steps(messages[-1].content)
    return _answer(steps) if steps else None


def told_steps(prompt: str) -> list[StepTold]:
    """The steps in a synthesis prompt, in plan order."""
    text = prompt.rpartition(_END)[0] or prompt
    heads = list(_STEP.finditer(text))
    ends = [head.start() for head in heads[1:]] + [len(text)]
    return [
        StepTold(head["what"], head["status"], text[head.end() : end].strip())
        for head, end in zip(heads, ends, strict=True)
    ]


def _answer(steps: Sequence[StepTold]) -> str:
    """A last step that sums up speaks for the others; else every result stands by itself, in plan order."""
    done = [step for step in steps if step.status == "completed"]
    if done and done[-1] is steps[-1] and _SUMS_UP.match(done[-1].description):
        done = done[-1:]
    parts = [step.text for step in done if step.text]
    parts += [
        f"“{to_you(s.description)}” is not done ({s.status}): {ended(s.text)}" for s in steps if s.status != "completed"
    ]
    return "\n\n".join(parts) or "The plan came to no result."

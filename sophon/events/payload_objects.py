"""Objects within the payloads of events, as `TypedDict`s: their keys, and who may read each."""

from typing import NotRequired

from sophon._python.lazy_typed_dict import TypedDict
from sophon.events.visibility import Plain, Text


class ErrorDetail(TypedDict):
    """Why a task failed; the id is also in the log."""

    code: Plain
    message: Text
    id: NotRequired[Plain]


class EscalationDetail(TypedDict):
    """Why a guard asks a person about a call."""

    guard: Plain
    rule: Plain
    reason: str


class PlanStepDetail(TypedDict):
    """A step of a plan, which runs once the steps that it depends on are completed."""

    id: Plain
    description: Text
    depends_on: list[Plain]
    tool_hints: list[Text]
    estimated_risk: Plain
    model_hint: Text | None


class PlanDetail(TypedDict):
    """A plan: its goal, and its steps."""

    id: Plain
    goal: Text
    steps: list[PlanStepDetail]


class AttachmentDetail(TypedDict):
    """A file of a message, whose bytes are at `/api/attachments/{id}`; `tokens` is about what a model counts for it."""

    id: str
    name: str
    media_type: str
    size: int
    tokens: NotRequired[int]

"""Events of the decisions before a model is asked, and of the stages of a chain."""

from collections.abc import Mapping
from dataclasses import field
from typing import Any, Literal, TypeAlias

from sophon._python.lazy_dataclass import dataclass
from sophon.events.base import Event
from sophon.events.visibility import Plain
from sophon.redaction_hook import redact

Stage: TypeAlias = Literal[
    "classifier",
    "assembler",
    "transport",
    "scorer",
    "learner",
    "auth_resolve",
    "history_sanitize",
    "context_guard",
    "tool_split",
    "execute",
    "failover_decide",
    "context_builder",
    "llm_loop",
    "url_outcomes",
    "validator",
    "announcer",
]


@dataclass(slots=True, kw_only=True)
class RouteChosen(Event):
    """Routing chose the models of a turn; `model` is the first one, empty if a booster answered without any.

    `flags`: `escalated`, `budget`, `constrained`, `unsure`, `policy`, `blamed`, `demoted`. For the strategy
    Priority only the chain clawft sends it.
    """

    is_trace = True

    model: Plain
    strategy: Plain
    reason: str
    tier: Plain = ""
    task_type: Plain = ""
    complexity: float = 0.0
    flags: tuple[Plain, ...] = ()

    def __post_init__(self) -> None:
        self.reason = redact(self.reason)


@dataclass(slots=True, kw_only=True)
class StageCompleted(Event):
    """A stage of a chain has done its part of a model call, the first one being 1.

    `stage`: of classification and learning `classifier`, `assembler`, `transport`, `scorer`, `learner` (that of the
    router is `route_chosen`); of a reply `url_outcomes`, `validator`, `announcer`; the others are published stages of
    the chains clawdesk and wasp. `data` holds names and numbers, no text of the conversation; of a stage of clawdesk
    also `started_at` (ISO 8601 in UTC), `duration_ms` up to now and without other stages, and `outcome`: `ok`,
    `failed`, `suspended`.
    """

    is_trace = True

    stage: Stage
    model_call: int = 1
    data: Mapping[str, Any]


@dataclass(slots=True, kw_only=True)
class DecisionMade(Event):
    """Rules decided what kind of work a message is, before a model was asked.

    `strategy`: `direct`, `goal`, `scheduled_task`, `sub_agent` or `script`; `hits`: matching patterns by family.
    `fast_path`: the tool whose result answers the message, empty if none does. `low_intent`: the message says too
    little, and was answered with a question.
    """

    is_trace = True
    wire_name = "decision"

    strategy: Plain
    fast_path: Plain = ""
    low_intent: bool = False
    hits: Mapping[str, int] = field(default_factory=dict[str, int])

"""Events of tools and skills: what is offered, loaded, called and changed."""

from collections.abc import Mapping
from dataclasses import field
from typing import Any

from sophon._python.lazy_dataclass import dataclass, new_dict
from sophon.events.base import Event
from sophon.events.visibility import Plain
from sophon.messages import ToolCallOutcome
from sophon.redaction_hook import redact


@dataclass(slots=True, kw_only=True)
class ToolsOffered(Event):
    """The tools that a model is offered, once for each change of them in the turn.

    `tokens` is the length of their definitions, `by_group` the same by group: `mcp:ID` is an MCP server, "" are the
    tools of no group.
    """

    is_trace = True

    names: list[str]
    tokens: int
    by_group: Mapping[str, int]


@dataclass(slots=True, kw_only=True)
class ToolCallStarted(Event):
    """A tool call started to run."""

    unique_by = ("run_id", "call_id")

    call_id: Plain
    tool: Plain
    arguments_digest: str
    arguments: Mapping[str, Any] = field(default_factory=new_dict)


@dataclass(slots=True, kw_only=True)
class ToolCallCompleted(Event):
    """A tool call ended with exactly one outcome; a call that was denied before it ran has no `tool_call_started`.

    `interrupted`: the host was killed while the call ran, so whether it took effect is unknown. `result` is the text
    that the model reads, without the fence around untrusted text.
    """

    unique_by = ("run_id", "call_id")

    call_id: Plain
    tool: Plain
    outcome: ToolCallOutcome
    duration_ms: int = 0
    result: str = ""

    def __post_init__(self) -> None:
        if self.outcome != "completed":
            self.result = redact(self.result)


@dataclass(slots=True, kw_only=True)
class CustomToolChanged(Event):
    """A custom tool was `created`, `updated`, `enabled`, `disabled`, `shared`, `unshared` or `deleted` (`change`).

    In a turn it is of its session; over HTTP and by the command line of none, for operators. `by` is who did it.
    """

    durable = False
    audience = "operators"

    tool: Plain
    change: Plain
    by: str = ""


@dataclass(slots=True, kw_only=True)
class SkillsOffered(Event):
    """The skills whose names and descriptions stand in the prompts of the turn; `left_out` did not fit.

    `tokens` is the length of the list.
    """

    is_trace = True

    names: list[str]
    tokens: int
    left_out: list[str] = field(default_factory=list[str])


@dataclass(slots=True, kw_only=True)
class SkillLoaded(Event):
    """The instructions of a skill were read in the turn; `tokens` is their length."""

    name: Plain
    tokens: int

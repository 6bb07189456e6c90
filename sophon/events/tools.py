"""Events of tools, skills and MCP servers: what is offered, loaded, called and changed."""

from collections.abc import Mapping
from dataclasses import field
from typing import Any, ClassVar

from sophon._python.lazy_dataclass import dataclass
from sophon.events.base import Event
from sophon.messages import ToolCallOutcome
from sophon.security import redact


@dataclass(slots=True, kw_only=True)
class ToolsOffered(Event):
    """The tools that a model is offered, once for each change of them in the turn.

    `tokens` is the length of their definitions, `by_group` the same by group: `mcp:ID` is an MCP server, "" are the
    tools of no group.
    """

    durable: ClassVar[bool] = False
    is_trace: ClassVar[bool] = True

    names: list[str]
    tokens: int
    by_group: Mapping[str, int]


@dataclass(slots=True, kw_only=True)
class ToolCallStarted(Event):
    """A tool call started to run."""

    call_id: str
    tool: str
    arguments_digest: str
    arguments: Mapping[str, Any] = field(default_factory=lambda: {})


@dataclass(slots=True, kw_only=True)
class ToolCallCompleted(Event):
    """A tool call ended with exactly one outcome; a call that was denied before it ran has no ToolCallStarted.

    `interrupted`: the host was killed while the call ran, so whether it took effect is unknown. `result` is the text
    that the model reads, without the fence around untrusted text.
    """

    call_id: str
    tool: str
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

    durable: ClassVar[bool] = False

    tool: str
    change: str
    by: str = ""


@dataclass(slots=True, kw_only=True)
class SkillsOffered(Event):
    """The skills whose names and descriptions stand in the prompts of the turn; `left_out` did not fit.

    `tokens` is the length of the list.
    """

    durable: ClassVar[bool] = False
    is_trace: ClassVar[bool] = True

    names: list[str]
    tokens: int
    left_out: list[str] = field(default_factory=list[str])


@dataclass(slots=True, kw_only=True)
class SkillLoaded(Event):
    """The instructions of a skill were read in the turn; `tokens` is their length."""

    name: str
    tokens: int


@dataclass(slots=True, kw_only=True)
class McpRequested(Event):
    """A request to an MCP server ended: `tool` is the name at the server, `protocol` the version that was spoken.

    `questions` is how many questions it had for a person, `error` why it failed, "" if it did not.
    """

    durable: ClassVar[bool] = False
    is_trace: ClassVar[bool] = True

    server: str
    tool: str
    protocol: str
    duration_ms: int
    questions: int = 0
    error: str = ""


@dataclass(slots=True, kw_only=True)
class McpServerChanged(Event):
    """The state or the tools of an MCP server have changed; of no session, for operators.

    `state` is `starting`, `ready`, `failed` or `disabled`, `error` the last failure. `tools` are offered, and `changed`
    are not, because nobody has accepted their new definition.
    """

    durable: ClassVar[bool] = False

    server: str
    state: str
    error: str = ""
    tools: int = 0
    changed: int = 0

    def __post_init__(self) -> None:
        self.error = redact(self.error)

"""Intent: matches a clause to a tool call, and describes the call and its result."""

from collections.abc import Callable, Mapping
from dataclasses import field
from typing import Any, Literal, TypeAlias

from sophon._python.lazy_dataclass import dataclass
from sophon.tools.tool import Risk, Tool

CallFailure: TypeAlias = Literal["", "denied", "failed"]
"""How a call failed: "" not at all, "denied" without running, "failed" with an error."""

IntentResource: TypeAlias = Literal["", "memory", "files", "machine"]
"""What an intent reads or changes; a reader waits for an earlier writer of the same resource."""


@dataclass(frozen=True, slots=True)
class PlannedCall:
    """A tool call that a clause asks for."""

    tool: str
    arguments: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class IntentInput:
    """Input of the matchers: a clause, the results of the clauses before it (`previous_results`) and the available
    tools.
    """

    clause: str
    previous_results: str = ""
    tools: Mapping[str, Tool] = field(default_factory=dict[str, Tool])


@dataclass(frozen=True, slots=True)
class CallResult:
    """Result of a call: the tool's text without fences, and the clause that asked for it ("" if unknown).

    `is_edited`: an approver changed the arguments; `call` is the call that ran.
    """

    call: PlannedCall
    text: str
    failure: CallFailure = ""
    clause: str = ""
    is_edited: bool = False


@dataclass(frozen=True, slots=True)
class Intent:
    """One entry of the registry: a tool, a matcher for clauses, and texts about the call and its result.

    `match_clause` returns the call for a clause, or None. `describe_result` describes a result. `describe_call`
    describes the call as an infinitive ("read notes.txt"), for failures. `follow_up` may return one more call, of the
    tool `follow_up_tool`, from the first result. `risk` and `group` are those of the built-in tool. `is_writer`: the
    call changes its `resource`. `language`: that of its clauses and texts.
    """

    tool: str
    group: str
    match_clause: Callable[[IntentInput], PlannedCall | None]
    describe_result: Callable[[CallResult], str]
    describe_call: Callable[[PlannedCall], str]
    risk: Risk = Risk.LOW
    resource: IntentResource = ""
    is_writer: bool = False
    follow_up: Callable[[CallResult], PlannedCall | None] | None = None
    follow_up_tool: str = ""
    language: Literal["en", "de"] = "en"

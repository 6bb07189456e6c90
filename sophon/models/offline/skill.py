"""Intent: matches a clause to a tool call, and describes the call and its result in English."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

from sophon.tools.tool import Risk, Tool

Trouble: TypeAlias = Literal["", "denied", "failed"]
"""How a call failed: "" not at all, "denied" without running, "failed" with an error."""

Store: TypeAlias = Literal["", "memory", "files", "machine"]
"""What an intent reads or changes; a reader waits for an earlier writer of the same resource."""


@dataclass(frozen=True, slots=True)
class Wish:
    """A tool call that a clause asks for."""

    tool: str
    arguments: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Ask:
    """Input of the matchers: a clause, the results of the clauses before it (`material`) and the available tools."""

    clause: str
    material: str = ""
    tools: Mapping[str, Tool] = field(default_factory=dict[str, Tool])


@dataclass(frozen=True, slots=True)
class Finding:
    """Result of a call: the tool's text without fences, and the clause that asked for it ("" if unknown).

    `edited`: an approver changed the arguments; `wish` is the call that ran.
    """

    wish: Wish
    text: str
    trouble: Trouble = ""
    clause: str = ""
    edited: bool = False


@dataclass(frozen=True, slots=True)
class Skill:
    """One entry of the registry: a tool, a matcher for clauses, and texts about the call and its result.

    `match` returns the call for a clause, or None. `tell` describes a result. `deed` describes the call as an
    infinitive ("read notes.txt"), for failures. `after` may return one more call, of the tool `leads_to`, from the
    first result. `risk` and `group` are those of the built-in tool. `writes`: the call changes its `store`.
    """

    tool: str
    group: str
    match: Callable[[Ask], Wish | None]
    tell: Callable[[Finding], str]
    deed: Callable[[Wish], str]
    risk: Risk = Risk.LOW
    store: Store = ""
    writes: bool = False
    after: Callable[[Finding], Wish | None] | None = None
    leads_to: str = ""

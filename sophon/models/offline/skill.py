"""What a skill of the offline model is: how to see in a clause that a tool is wanted, and how to tell what it gave."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

from sophon.tools.tool import Risk, Tool

Trouble: TypeAlias = Literal["", "denied", "failed"]
"""How a call went wrong: not at all, it was refused and did not run, or it ran into an error."""

Store: TypeAlias = Literal["", "memory", "files", "machine"]
"""What a skill reads or changes; a reader waits for an earlier writer of the same store."""


@dataclass(frozen=True, slots=True)
class Wish:
    """A call that a clause asks for."""

    tool: str
    arguments: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Ask:
    """A clause with its surroundings: `material` is what the clauses before it came to, `tools` what is offered."""

    clause: str
    material: str = ""
    tools: Mapping[str, Tool] = field(default_factory=dict[str, Tool])


@dataclass(frozen=True, slots=True)
class Finding:
    """What came of a wish: the tool's text without fences, and the clause that asked for it ("" if unknown).

    `edited`: a person changed the arguments before approving, and `wish` is what ran.
    """

    wish: Wish
    text: str
    trouble: Trouble = ""
    clause: str = ""
    edited: bool = False


@dataclass(frozen=True, slots=True)
class Skill:
    """One row of the table: a tool, the clauses that call for it, and what to say of its result.

    `deed` names the call as an infinitive ("read notes.txt"), for what went wrong. `after` may ask for one more call,
    of the tool `leads_to`, once the first result is there. `risk` and `group` are those of the built-in tool.
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

"""A tool: a typed function that a model may ask for, with what the chain must know about it as data."""

import inspect
import json
import re
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass, field
from enum import IntEnum
from typing import Any, TypeAlias, cast, overload

import orjson
from pydantic import BaseModel

from sophon.clock import Clock, SystemClock
from sophon.errors import CompositionError
from sophon.tools.arguments import ArgumentSchema, argument_schema

ToolFunction: TypeAlias = Callable[..., Any]
"""A function, async or not; one that is not async runs in a worker thread."""

WIRE_NAME_LIMIT = 64
"""Characters that the strictest provider allows in a function's name."""


class Risk(IntEnum):
    """What a tool can do to the world; the approval gate asks from HIGH on. Source: reference/sophon.md 5.14."""

    NONE = 0
    LOW = 1
    MEDIUM = 2
    HIGH = 3
    CRITICAL = 4

    @property
    def label(self) -> str:
        """The name in lower case, as it stands on the wire."""
        return self.name.lower()

    @classmethod
    def parse(cls, text: str) -> "Risk":
        """Read a label in any case; raises ValueError with the five names."""
        risk = cls.__members__.get(text.strip().upper())
        if risk is None:
            raise ValueError(f"{text!r} is no risk; choose from {', '.join(r.label for r in cls)}")
        return risk


@dataclass(frozen=True, slots=True, eq=False)
class Tool:
    """A function, its schema and its traits; still callable as the function it was made from.

    `timeout_seconds` and `max_result` (characters) are None for the settings' defaults. `idempotent` tells that
    running it twice does no harm, `serial` that it must not run beside others, `editable` that a person may change
    its arguments while approving, `external` that its result is text from outside, which is fenced before a model
    sees it (`sophon.tools.fencing`).
    """

    name: str
    description: str
    function: ToolFunction
    schema: ArgumentSchema
    risk: Risk = Risk.LOW
    tags: tuple[str, ...] = ()
    group: str = ""
    idempotent: bool = False
    serial: bool = False
    timeout_seconds: float | None = None
    max_result: int | None = None
    editable: bool = True
    external: bool = False
    definition: Mapping[str, Any] = field(init=False, repr=False)
    """Name, description and JSON Schema of the parameters, as every provider wants them; made once."""
    is_async: bool = field(init=False, repr=False)

    def __post_init__(self) -> None:
        if type(self.risk) is not Risk:
            raise CompositionError(f"tool {self.name!r}: risk {self.risk!r} is no Risk; write Risk.HIGH, for example")
        if isinstance(self.tags, str):
            raise CompositionError(f"tool {self.name!r}: tags is a text; write a tuple: ({self.tags!r},)")
        definition = {"name": self.name, "description": self.description, "parameters": self.schema.json_schema}
        object.__setattr__(self, "definition", definition)
        object.__setattr__(self, "is_async", inspect.iscoroutinefunction(self.function))

    @property
    def parameters(self) -> Mapping[str, Any]:
        """The JSON Schema of the arguments."""
        return self.schema.json_schema

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call the function itself, with no check and no gate."""
        return self.function(*args, **kwargs)

    async def invoke(self, arguments: Mapping[str, Any], ctx: object, *, clock: Clock | None = None) -> str:
        """Check the arguments, run the function, give its answer as text.

        A parameter named `ctx` receives the turn's context; `clock` has the worker thread for a function that is not
        async. Raises InvalidArguments, and whatever the function raises.
        """
        values = self.schema.validate(self.name, arguments)
        if self.schema.wants_context:
            values["ctx"] = ctx
        if self.is_async:
            return as_text(await self.function(**values))
        time = clock or SystemClock()
        answer = await time.in_thread(lambda: self.function(**values), abandon_on_cancel=True)
        return as_text(await cast(Awaitable[object], answer) if isinstance(answer, Awaitable) else answer)


@overload
def tool(function: ToolFunction, /) -> Tool: ...


@overload
def tool(
    *,
    name: str | None = None,
    description: str | None = None,
    risk: Risk = Risk.LOW,
    tags: tuple[str, ...] = (),
    group: str = "",
    idempotent: bool = False,
    serial: bool = False,
    timeout_seconds: float | None = None,
    max_result: int | None = None,
    editable: bool = True,
    external: bool = False,
) -> Callable[[ToolFunction], Tool]: ...


def tool(
    function: ToolFunction | None = None,
    /,
    *,
    name: str | None = None,
    description: str | None = None,
    **traits: Any,
) -> Tool | Callable[[ToolFunction], Tool]:
    """Make a Tool of a typed function; with or without parentheses.

    The name defaults to the function's and may have dots; the description defaults to the docstring, whose `Args:`
    section describes the parameters. Traits are the fields of Tool.
    """

    def make(function: ToolFunction) -> Tool:
        called = name or function.__name__
        schema, help_text = argument_schema(function, called)
        return Tool(called, description or help_text or called, function, schema, **traits)

    return make(function) if function is not None else make


def as_text(answer: object) -> str:
    """What a model reads: text as it is, nothing as the empty text, all else as JSON; what JSON cannot hold as text.

    Half of a surrogate pair, which no wire can carry, becomes a question mark.
    """
    if isinstance(answer, str):
        return answer if answer.isascii() else answer.encode("utf-8", "replace").decode()
    if answer is None:
        return ""
    try:
        return orjson.dumps(answer, default=_plain, option=orjson.OPT_NON_STR_KEYS).decode()
    except TypeError:  # an integer of more than 64 bits, half of a surrogate pair, a key that is no scalar
        return json.dumps(_with_text_keys(answer), default=_plain)


def wire_name(name: str) -> str:
    """A tool's name as providers accept it: letters, digits, `_` and `-`, at most 64 of them."""
    return re.sub(r"[^A-Za-z0-9_-]", "_", name)[:WIRE_NAME_LIMIT]


def _plain(value: object) -> object:
    if isinstance(value, BaseModel):
        return value.model_dump(mode="json")
    if isinstance(value, set | frozenset):
        return list(cast(Iterable[object], value))
    return str(value)


def _with_text_keys(value: object) -> object:
    if isinstance(value, Mapping):
        return {str(key): _with_text_keys(each) for key, each in cast(Mapping[object, object], value).items()}
    if isinstance(value, list | tuple):
        return [_with_text_keys(each) for each in cast(Iterable[object], value)]
    return value

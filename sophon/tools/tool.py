"""Tool: a typed function that a model may call, with its schema, risk and other traits; the `@tool` decorator."""

import dataclasses
import inspect
import json
import re
import sys
from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import field
from types import UnionType
from typing import TYPE_CHECKING, Any, TypeAlias, TypeGuard, cast, overload

import orjson

from sophon._python.lazy_dataclass import dataclass
from sophon._python.lazy_pattern import lazy_pattern
from sophon.clock import Clock, SystemClock
from sophon.errors import CompositionError
from sophon.risk import Risk as Risk
from sophon.tools.argument_schema import ArgumentSchema, schema_from_function
from sophon.tools.untrusted_text import ExternalText

if TYPE_CHECKING:
    from pydantic import BaseModel

ToolFunction: TypeAlias = Callable[..., Any]
"""A function, async or not; a synchronous function runs in a worker thread."""

ResultNormalizer: TypeAlias = Callable[[str], str]
"""A function that returns the part of a result in which a change means progress."""

ApprovalNote: TypeAlias = str | Callable[[Any, Mapping[str, Any]], str]
"""A sentence for the person who approves a call, or a function of the turn's context and the arguments that returns
it."""

Describe: TypeAlias = Callable[[Mapping[str, Sequence[str]]], str]
"""A function of the groups in a registry, each with the names of its tools, that returns a tool's description there."""

WIRE_NAME_LIMIT = 64
"""Maximum length of a function name at the strictest provider, in characters."""

_TOOL_NAME = lazy_pattern(rf"(?=.{{1,{WIRE_NAME_LIMIT}}}\Z)[A-Za-z0-9_-]+(?:\.[A-Za-z0-9_-]+)*")

_A_FLAG, _A_TEXT = "write True or False", "it must be a text"

_TRAIT_KINDS: tuple[tuple[str, type[object] | UnionType, str], ...] = (
    ("description", str, _A_TEXT),
    ("group", str, _A_TEXT),
    ("owner", str | None, _A_TEXT),
    ("tags", Collection, 'write a tuple of words, such as ("weather",)'),
    ("lasting", bool | None, _A_FLAG),
    *(
        (trait, bool, _A_FLAG)
        for trait in ("idempotent", "serial", "editable", "external", "polls", "sandboxed", "nested")
    ),
)

PARAMETERS = {
    "normalize_result": ("result",),
    "approval_note": ("ctx", "arguments"),
    "describe": ("groups",),
    "find_problem": ("ctx", "arguments"),
    "find_risk": ("ctx", "arguments"),
    "answer": ("text",),
}
"""What each of these traits is called with."""

# Dataclasses pass through, because a picture is one.
_JSON_OPTIONS = orjson.OPT_NON_STR_KEYS | orjson.OPT_PASSTHROUGH_DATACLASS


class CallSuspended(Exception):
    """Raised by a `nested` tool whose own turn waits for a person: the call stays pending, and so does its turn."""


@dataclass(frozen=True, slots=True, eq=False)
class Tool:
    """A function with its schema and traits; calling the Tool calls the function.

    `timeout_seconds` and `max_result` (characters) default to the settings if None. `idempotent`: running it twice is
    harmless. `serial`: it must not run concurrently with other tools. `editable`: a person may change its arguments
    when approving. `external`: its result is untrusted text, which is fenced before a model sees it
    (`sophon.tools.untrusted_text`); a tool of which only some results are returns those as `ExternalText`.
    `max_calls_per_turn` limits the calls in a turn and the steps of its plan together; None for no cap of its own.
    `polls`: it is called again and again on purpose, so the loop detector refuses it only while its result stays the
    same, to the last character; of other tools a change in times, ids and counters alone is none
    (`sophon.tools.mask_ids_and_times`). `normalize_result` gives the loop detector something else to compare of a
    result; the model reads the result as it is. `approval_note` is a sentence for the person
    who is asked to approve a call. `describe` makes the description that a registry with these groups of tools gives
    the tool. `sandboxed`: it runs programs by `sophon.builtin_tools.programs.run_program`; while `Guards.Sandbox` is
    enabled and there is no sandbox, each call asks a person. `answer` returns the answer to a message that needs no
    model, else None; routing asks it (`Routing.Strategy` Intelligent) for every message, so it must be fast, and only a
    tool of at most low risk may have it. `owner` is the only principal that has the tool; None for everybody.
    `find_problem` returns, from the turn's context and valid arguments, why a call cannot run, before a person is asked
    about it. `find_risk` returns, from the same, the risk of a call, by which Approval asks in place of `risk`.
    `nested`: it runs turns of its own, so it takes no slot of the tool limiter, sets its own time limit, gets a context
    with its call as the only pending one, and may raise CallSuspended; it must be idempotent: it is then called again.
    `lasting`: it changes what outlasts the conversation, so that after untrusted text each call asks a person; None
    leaves that to its name (`sophon.security.action_types`).
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
    max_calls_per_turn: int | None = None
    polls: bool = False
    normalize_result: ResultNormalizer | None = None
    approval_note: ApprovalNote = ""
    sandboxed: bool = False
    describe: Describe | None = None
    answer: Callable[[str], str | None] | None = None
    owner: str | None = None
    find_problem: Callable[[Any, Mapping[str, Any]], str | None] | None = None
    find_risk: Callable[[Any, Mapping[str, Any]], Risk] | None = None
    nested: bool = False
    lasting: bool | None = None
    is_async: bool = field(init=False, repr=False)
    _definition: Mapping[str, Any] | None = field(init=False, repr=False)

    def __post_init__(self) -> None:
        if problem := _find_wrong_kind(self) or _find_wrong_value(self):
            raise CompositionError(f"tool {self.name!r}: {problem}")
        object.__setattr__(self, "_definition", None)
        object.__setattr__(self, "is_async", inspect.iscoroutinefunction(self.function))

    @property
    def definition(self) -> Mapping[str, Any]:
        """Name, description and JSON Schema of the parameters, in the format of providers; computed once."""
        found = self._definition
        if found is None:
            found = {"name": self.name, "description": self.description, "parameters": self.schema.json_schema}
            object.__setattr__(self, "_definition", found)
        return found

    @property
    def parameters(self) -> Mapping[str, Any]:
        """JSON Schema of the arguments."""
        return self.schema.json_schema

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call the function directly, without validation and approval."""
        return self.function(*args, **kwargs)

    async def invoke(self, arguments: Mapping[str, Any], ctx: object, *, clock: Clock | None = None) -> str:
        """Validate the arguments, run the function and return its result as text.

        A parameter named `ctx` receives the turn's context; `clock` runs a synchronous function in a worker thread.
        Raises InvalidArguments, and whatever the function raises.
        """
        values = self.schema.validate(self.name, arguments)
        if self.schema.wants_context:
            values["ctx"] = ctx
        if self.is_async:
            return result_to_text(await self.function(**values))
        time = clock or SystemClock()
        answer = await time.run_in_thread(lambda: self.function(**values), abandon_on_cancel=True)
        return result_to_text(await cast(Awaitable[object], answer) if isinstance(answer, Awaitable) else answer)


def _find_wrong_kind(tool: Tool) -> str:
    """Return which trait has a value of the wrong kind, and what to write; else the empty text."""
    if type(tool.risk) is not Risk:
        return f"risk {tool.risk!r} is not a Risk; write Risk.HIGH or another"
    if isinstance(tool.tags, str):
        return f"tags must be a tuple, not a text; write ({tool.tags!r},)"
    for trait, kinds, remedy in _TRAIT_KINDS:
        value: object = getattr(tool, trait)
        if not isinstance(value, kinds):
            return f"{trait} is {value!r:.60}; {remedy}"
    for trait in PARAMETERS:
        value = getattr(tool, trait)
        if value is None or (trait == "approval_note" and isinstance(value, str)):
            continue
        if problem := find_wrong_function(trait, value):
            return problem
    return ""


def _find_wrong_value(tool: Tool) -> str:
    """Return which trait has a value that cannot be, and which can; else the empty text."""
    if tool.answer is not None and tool.risk > Risk.LOW:
        return "answer must be a function, of a tool with at most low risk"
    for trait in ("max_result", "max_calls_per_turn"):
        value: object = getattr(tool, trait)
        if value is not None and (type(value) is not int or value < 1):
            return f"{trait} is {value!r}; it must be a whole number from 1"
    seconds = tool.timeout_seconds
    if seconds is not None and (type(seconds) not in (int, float) or not seconds > 0):
        return f"timeout_seconds is {seconds!r}; it must be a number above 0"
    if inspect.isasyncgenfunction(tool.function) or inspect.isgeneratorfunction(tool.function):
        return "its function yields, and a tool has one result: return a list or a text instead"
    return "a nested tool must be idempotent" if tool.nested and not tool.idempotent else ""


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
    max_calls_per_turn: int | None = None,
    polls: bool = False,
    normalize_result: ResultNormalizer | None = None,
    approval_note: ApprovalNote = "",
    sandboxed: bool = False,
    describe: Describe | None = None,
    answer: Callable[[str], str | None] | None = None,
    find_problem: Callable[[Any, Mapping[str, Any]], str | None] | None = None,
    find_risk: Callable[[Any, Mapping[str, Any]], Risk] | None = None,
    nested: bool = False,
    lasting: bool | None = None,
    deferred: bool = False,
) -> Callable[[ToolFunction], Tool]: ...


def tool(
    function: ToolFunction | None = None,
    /,
    *,
    name: str | None = None,
    description: str | None = None,
    deferred: bool = False,
    **traits: Any,
) -> Tool | Callable[[ToolFunction], Tool]:
    """Decorate a typed function as a Tool; usable with or without parentheses.

    The name defaults to the function's and may contain dots; the description defaults to the docstring, whose `Args:`
    section describes the parameters. `traits` are the fields of Tool. If `deferred`, annotations are read, and errors
    in them found, when the schema is first needed and not now; for the built-in tools, because it needs pydantic.
    """

    def make(function: ToolFunction) -> Tool:
        if isinstance(function, Tool):
            raise CompositionError(f"{function.name!r} is a tool already: write @tool once")
        if not hasattr(function, "__name__"):
            raise CompositionError(f"@tool takes a function, not {function!r:.60}: write a function that calls it")
        tool_name = check_tool_name(function.__name__ if name is None else name)
        schema, help_text = schema_from_function(function, tool_name, deferred=deferred)
        return Tool(tool_name, description or help_text or tool_name, function, schema, **traits)

    return make(function) if function is not None else make


def check_tool_name(name: str) -> str:
    """Return the name of a tool. Raises CompositionError for one that is not sent to providers as it is, save its dots.

    For names that a program writes; those of foreign servers are converted by `to_wire_name`.
    """
    if not isinstance(name, str) or not _TOOL_NAME.fullmatch(name):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise CompositionError(
            f"tool {name!r}: its name must be 1 to {WIRE_NAME_LIMIT} characters, of ASCII letters, digits, `_`, `-` "
            f'and dots between them; write @tool(name="files.read") or similar'
        )
    return name


def to_wire_name(name: str) -> str:
    """Convert a tool's name to the form that providers accept: letters, digits, `_` and `-`, at most 64 characters."""
    return re.sub(r"[^A-Za-z0-9_-]", "_", name)[:WIRE_NAME_LIMIT]


def find_wrong_function(trait: str, function: object) -> str:
    """Return what is wrong with the function of a trait, and what to write; else the empty text."""
    if not callable(function):
        return f"{trait} is {function!r:.60}; it must be a function"
    called: Any = type(function).__call__
    for each in (function, called):
        if inspect.iscoroutinefunction(each) or inspect.isasyncgenfunction(each):
            return f"{trait} is async, and nothing awaits it: write `def`"
        if inspect.isgeneratorfunction(each):
            return f"{trait} yields; it must return its value"
    given = PARAMETERS[trait]
    if not _takes(function, len(given)):
        return f"{trait} is called with ({', '.join(given)}), which it does not take"
    return ""


def _takes(function: Callable[..., object], count: int) -> bool:
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):  # of a function in C, which need not have one
        return True
    try:
        signature.bind(*[None] * count)
    except TypeError:
        return False
    return True


def result_to_text(answer: object) -> str:
    """Convert a tool's return value to text: a text unchanged, None to the empty text, anything else to JSON.

    Values that JSON cannot represent become their `str`. A lone surrogate, which UTF-8 cannot encode, becomes `?`.
    Raises ValueError, with what to return instead, for bytes, pictures, generators, objects without a text, and
    a value that contains itself.
    """
    if isinstance(answer, str):
        text = answer if answer.isascii() else answer.encode("utf-8", "replace").decode()
        return ExternalText(text) if isinstance(answer, ExternalText) else text
    if answer is None:
        return ""
    try:
        return orjson.dumps(answer, default=_to_jsonable, option=_JSON_OPTIONS).decode()
    except TypeError as error:
        if isinstance(error.__cause__, ValueError):
            raise error.__cause__ from None
    try:  # an integer of more than 64 bits, a lone surrogate, or a non-scalar key
        return json.dumps(_with_text_keys(answer), default=_to_jsonable)
    except RecursionError:
        raise ValueError("the tool returned a value that contains itself, or is nested too deeply") from None


def _to_jsonable(value: object) -> object:
    if _is_pydantic_model(value):
        return value.model_dump(mode="json")
    if isinstance(value, set | frozenset):
        return list(cast(Iterable[object], value))
    if isinstance(value, bytes | bytearray | memoryview):
        raise ValueError(  # noqa: TRY004 - a TypeError is what orjson raises for a value that json.dumps can take
            "the tool returned bytes: decode them to a text, or save them to a file and return its path"
        )
    images = sys.modules.get("sophon.images")  # where it is not loaded, nothing is a picture
    if images is not None and isinstance(value, images.Image):
        raise ValueError("the tool returned an Image: save it to a file and return its path, or describe it")
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        names = [each.name for each in dataclasses.fields(value) if not each.name.startswith("_")]
        return {name: getattr(value, name) for name in names}
    text = str(value)
    if type(value).__str__ is object.__str__ and text.startswith("<") and text.endswith(">"):
        raise ValueError(
            f"the tool returned an object of the type {type(value).__name__}, which has no text: return a text, a "
            f"list, a dict or a dataclass"
        )
    return text


def _is_pydantic_model(value: object) -> "TypeGuard[BaseModel]":
    pydantic = sys.modules.get("pydantic")  # where it is not loaded, nothing is a model
    return pydantic is not None and isinstance(value, pydantic.BaseModel)


def _with_text_keys(value: object) -> object:
    if isinstance(value, Mapping):
        return {str(key): _with_text_keys(each) for key, each in cast(Mapping[object, object], value).items()}
    if isinstance(value, list | tuple):
        return [_with_text_keys(each) for each in cast(Iterable[object], value)]
    return value

"""The decorator, the schema it reads, and how a tool is called."""

import dataclasses
import functools
import re
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from datetime import datetime
from decimal import Decimal
from pathlib import Path
from typing import Annotated, Any, Literal

import pytest
from pydantic import BaseModel, Field

from sophon import Context, Risk, Services, Tool, tool
from sophon.errors import CompositionError, InvalidArguments
from sophon.images import Image
from sophon.tools.argument_schema import parse_docstring
from sophon.tools.tool import result_to_text, to_wire_name
from tests.tables import table


class Place(BaseModel):
    """A place on the map."""

    name: str
    radius: float = 1.0


@tool
async def weather(city: str, days: int = 3, unit: Literal["C", "F"] = "C") -> str:
    """Tell the weather of a city.

    It knows the next two weeks.

    Args:
        city: The city's name,
            with its country.
        days (int): How far to look ahead.
        unit: Of the temperature.

    Nothing is stored.
    """
    return f"{city} {days} {unit}"


def test_a_bare_decorator_reads_name_and_help_from_the_function() -> None:
    assert weather.name == "weather"
    assert weather.description == "Tell the weather of a city.\n\nIt knows the next two weeks.\n\nNothing is stored."
    assert (weather.risk, weather.editable, weather.external) == (Risk.LOW, True, False)


def test_the_schema_has_types_defaults_and_descriptions_and_nothing_else() -> None:
    assert weather.parameters == {
        "type": "object",
        "properties": {
            "city": {"type": "string", "description": "The city's name, with its country."},
            "days": {"type": "integer", "default": 3, "description": "How far to look ahead."},
            "unit": {"type": "string", "enum": ["C", "F"], "default": "C", "description": "Of the temperature."},
        },
        "required": ["city"],
        "additionalProperties": False,
    }
    assert weather.definition["name"] == "weather"
    assert weather.definition["parameters"] is weather.parameters


def test_traits_are_given_to_the_decorator() -> None:
    @tool(
        name="mail.send",
        description="Send it.",
        risk=Risk.HIGH,
        tags=("mail",),
        group="mail",
        external=True,
        serial=True,
    )
    async def send(to: str) -> None:
        """Not this text."""

    assert (send.name, send.description, send.risk, send.group) == ("mail.send", "Send it.", Risk.HIGH, "mail")
    assert (send.tags, send.external, send.serial, send.idempotent) == (("mail",), True, True, False)


async def test_a_tool_is_still_the_function_it_was() -> None:
    assert await weather("Rome", unit="F") == "Rome 3 F"


async def test_arguments_are_checked_and_defaults_filled_in() -> None:
    assert await weather.invoke({"city": "Rome", "days": "5"}, None) == "Rome 5 C"


async def test_every_fault_gets_a_line_of_its_own() -> None:
    with pytest.raises(InvalidArguments) as caught:
        await weather.invoke({"days": "many", "unit": "K", "colour": "red"}, None)
    assert caught.value.tool == "weather"
    assert caught.value.problems == [
        "city: field required",
        "days: input should be a valid integer, unable to parse string as an integer",
        "unit: input should be 'C' or 'F'",
        "colour: extra inputs are not permitted",
    ]


async def test_nested_models_and_bounds_are_understood() -> None:
    @tool
    async def near(place: Place, limit: Annotated[int, Field(ge=1, le=5)] = 2, names: list[str] | None = None) -> str:
        return f"{type(place).__name__} {place.radius} {limit} {names}"

    assert await near.invoke({"place": {"name": "Rome"}, "names": ["a"]}, None) == "Place 1.0 2 ['a']"
    assert near.parameters["properties"]["limit"] == {"type": "integer", "minimum": 1, "maximum": 5, "default": 2}
    with pytest.raises(InvalidArguments, match=r"place\.name: field required; limit: input should be less"):
        await near.invoke({"place": {}, "limit": 9}, None)


async def test_a_parameter_may_have_any_name() -> None:
    @tool
    async def odd(copy: int, model_config: int, json: int, schema: int = 1, _hidden: int = 2) -> int:
        return copy + model_config + json + schema + _hidden

    assert await odd.invoke({"copy": 1, "model_config": 1, "json": 1, "_hidden": 5}, None) == "9"
    assert list(odd.parameters["properties"]) == ["copy", "model_config", "json", "schema", "_hidden"]


async def test_the_turn_is_handed_in_and_is_no_argument() -> None:
    @tool
    async def who(ctx: object, greeting: str = "Hello") -> str:
        return f"{greeting} {getattr(ctx, 'principal', '')}"

    ctx = Services().turn("Hello", principal="ada")
    assert await who.invoke({}, ctx) == "Hello ada"
    assert list(who.parameters["properties"]) == ["greeting"]
    with pytest.raises(InvalidArguments, match="ctx: extra inputs"):
        await who.invoke({"ctx": "forged"}, ctx)


async def test_a_function_that_is_not_async_runs_in_a_thread() -> None:
    @tool
    def where() -> bool:
        return threading.current_thread() is threading.main_thread()

    assert await where.invoke({}, None) == "false"


async def test_what_a_function_gives_may_still_have_to_be_awaited() -> None:
    async def later() -> str:
        return "later"

    @tool
    def make() -> Awaitable[str]:
        return later()

    assert await make.invoke({}, None) == "later"


async def test_a_default_that_can_change_is_not_shared_between_calls() -> None:
    @tool
    async def collect(word: str, into: list[str] = []) -> list[str]:  # noqa: B006 - that is what is tested
        into.append(word)
        return into

    assert await collect.invoke({"word": "a"}, None) == '["a"]'
    assert await collect.invoke({"word": "b"}, None) == '["b"]'


async def test_what_the_function_raises_leaves_as_itself() -> None:
    @tool
    async def broken() -> None:
        raise LookupError("no such thing")

    with pytest.raises(LookupError, match="no such thing"):
        await broken.invoke({}, None)


class Opaque:
    """A class that JSON knows nothing of."""


def positional(x: int, /) -> None: ...
def positional_context(ctx: object, /) -> None: ...
def starred(*x: int) -> None: ...
def keywords(**x: int) -> None: ...
def untyped(x) -> None: ...  # type: ignore[no-untyped-def]  # a signature that must be refused
def opaque(x: Opaque) -> None: ...
def called(x: Callable[[], None]) -> None: ...
def unknown(x: "Missing") -> None: ...  # type: ignore[name-defined]  # noqa: F821 - must be refused
def unreadable(x: "not a type") -> None: ...  # type: ignore[valid-type]  # noqa: F722 - must be refused
def attribute(x: "int.missing") -> None: ...  # type: ignore[name-defined]  # must be refused
def default(x: object = object()) -> None: ...


@table(
    ("function", "reason"),
    [
        (positional, "cannot be passed by keyword"),
        (positional_context, "cannot be passed by keyword"),
        (starred, "cannot be passed by keyword"),
        (keywords, "cannot be passed by keyword"),
        (untyped, "has no annotation"),
        (opaque, "no JSON Schema"),
        (called, "no JSON Schema"),
        (unknown, "cannot be read"),
        (unreadable, "cannot be read"),
        (attribute, "cannot be read"),
        (default, "cannot be represented in JSON"),
    ],
)
def test_a_signature_that_no_model_can_fill_is_refused_at_once(function: Callable[..., None], reason: str) -> None:
    with pytest.raises(CompositionError, match=f"tool '{function.__name__}': .*{reason}"):
        tool(function)


@dataclasses.dataclass
class Point:
    x: int = 1


@table(
    ("answer", "expected"),
    [
        ("text", "text"),
        ("", ""),
        (None, ""),
        ("Grüße", "Grüße"),
        ("half \ud83d", "half ?"),
        (1.5, "1.5"),
        (True, "true"),
        ([1, "ü"], '[1,"ü"]'),
        ((1, 2), "[1,2]"),
        ({1: "a"}, '{"1":"a"}'),
        ({5}, "[5]"),
        (Point(), '{"x":1}'),
        (Place(name="Rome"), '{"name":"Rome","radius":1.0}'),
        ([Place(name="Rome")], '[{"name":"Rome","radius":1.0}]'),
        (datetime(2026, 1, 1), '"2026-01-01T00:00:00"'),
        (Risk.HIGH, "3"),
        (2**70, str(2**70)),
        ({(1, 2): [2**70]}, f'{{"(1, 2)": [{2**70}]}}'),
        (["\ud83d"], '["\\ud83d"]'),
    ],
)
def test_every_answer_becomes_text(answer: object, expected: str) -> None:
    assert result_to_text(answer) == expected


@table(("name", "wire"), [("files.read", "files_read"), ("a-b_C9", "a-b_C9"), ("grüße", "gr__e"), ("x" * 70, "x" * 64)])
def test_a_name_is_fit_for_every_provider(name: str, wire: str) -> None:
    assert to_wire_name(name) == wire


@table(("text", "risk"), [("high", Risk.HIGH), (" Critical ", Risk.CRITICAL), ("NONE", Risk.NONE)])
def test_a_risk_is_read_in_any_case(text: str, risk: Risk) -> None:
    assert Risk.parse(text) is risk
    assert Risk.parse(risk.label) is risk


def test_an_unknown_risk_names_the_five() -> None:
    with pytest.raises(ValueError, match="none, low, medium, high, critical"):
        Risk.parse("extreme")


@table(
    ("docstring", "text", "about"),
    [
        ("", "", {}),
        ("Do it.", "Do it.", {}),
        ("Do it.\n\nArgs:\n    a: One.", "Do it.", {"a": "One."}),
        ("Do it.\n\nParameters:\n    *a: One.\n    b (int): Two,\n        more.\n\nRest.", "Do it.\n\n\nRest.", None),
        ("Args: of all kinds.", "Args: of all kinds.", {}),
    ],
)
def test_a_docstring_is_parted(docstring: str, text: str, about: dict[str, str] | None) -> None:
    read = parse_docstring(docstring)
    assert read[1] == ({"a": "One.", "b": "Two, more."} if about is None else about)
    assert read[0].split() == text.split()


def test_tools_are_told_apart_by_identity() -> None:
    def make() -> Tool:
        @tool
        async def same(x: Any = None) -> None:
            """The same."""

        return same

    assert make() != make()
    assert len({make(), make()}) == 2


@table(
    ("traits", "says"),
    [({"risk": "high"}, "write Risk.HIGH"), ({"risk": 3}, "write Risk.HIGH"), ({"tags": "cat"}, "('cat',)")],
)
def test_a_trait_of_the_wrong_type_is_told_at_registration(traits: dict[str, Any], says: str) -> None:
    async def act() -> None:
        """Do something."""

    with pytest.raises(CompositionError, match=re.escape(says)):
        tool(name="act", **traits)(act)


@table("trait", ["max_result", "max_calls_per_turn"])
@table("wrong", [0, -1, True, 1.5, "3"])
def test_a_limit_that_is_no_whole_number_from_one_is_refused(trait: str, wrong: Any) -> None:
    def limited() -> str:
        """Limited."""
        return ""

    with pytest.raises(CompositionError, match=f"tool 'limited': {trait} is"):
        tool(**{trait: wrong})(limited)


@table("name", ["", "a b!", "größe", "a..b", ".a", "a/b", "x" * 65])
def test_a_name_that_no_provider_accepts_is_refused_where_it_is_written(name: str) -> None:
    with pytest.raises(CompositionError, match="its name must be"):
        tool(name=name)(lambda: "x")


@table("seconds", [-1, 0, float("nan"), True, "5"])
def test_a_time_limit_that_is_no_positive_number_is_refused(seconds: Any) -> None:
    with pytest.raises(CompositionError, match=r"timeout_seconds is .*; it must be a number above 0"):
        tool(name="slow", timeout_seconds=seconds)(lambda: "x")


def test_a_function_that_yields_is_refused_as_a_tool() -> None:
    async def pages() -> AsyncIterator[str]:
        yield "1"

    def lines() -> Iterator[str]:
        yield "1"

    for function in (pages, lines):
        with pytest.raises(CompositionError, match=f"{function.__name__}.*yields.*return a list or a text"):
            tool(function)


@table(
    ("answer", "remedy"),
    [
        (b"GIF8", "bytes: decode them"),
        ([{"file": bytearray(b"x")}], "bytes: decode them"),
        ({"picture": Image(data="aGk=", media_type="image/png")}, "an Image: save it to a file"),
        ((n for n in range(2)), "an object of the type generator, which has no text: return a text"),
        (object(), "an object of the type object"),
        ({1: 2**70, "x": object()}, "an object of the type object"),
    ],
)
def test_a_result_without_a_text_is_refused_with_what_to_return_instead(answer: object, remedy: str) -> None:
    with pytest.raises(ValueError, match=f"the tool returned {remedy}"):
        result_to_text(answer)


def test_a_dataclass_and_values_with_a_text_of_their_own_are_results() -> None:
    @dataclasses.dataclass
    class Place:
        path: Path
        price: Decimal
        _cache: int = 0

    assert result_to_text([Place(Path("a"), Decimal("1.5"))]) == '[{"path":"a","price":"1.5"}]'


@table(
    ("trait", "value"),
    [
        *((trait, "no") for trait in ("external", "idempotent", "serial", "editable", "sandboxed", "lasting")),
        ("group", ["mail"]),
        ("description", 3),
        ("tags", 3),
        ("normalize_result", "mask"),
        ("approval_note", 3),
    ],
)
def test_a_trait_of_the_wrong_kind_is_refused_where_it_is_written(trait: str, value: Any) -> None:
    with pytest.raises(CompositionError, match=f"tool 'limited': {trait} is"):
        tool(name="limited", **{trait: value})(lambda: "x")


async def normalize_later(result: str) -> str:
    return result


async def write_note_later(ctx: Context, arguments: Mapping[str, Any]) -> str:
    return "x"


class LaterNormalizer:
    async def __call__(self, result: str) -> str:
        return result


def normalize_pieces(result: str) -> Iterator[str]:
    yield result


def take_nothing() -> str:
    return "x"


def take_one(one: object) -> str:
    return "x"


WRONG_FUNCTIONS: list[tuple[str, object, str]] = [
    ("normalize_result", normalize_later, "is async, and nothing awaits it"),
    ("normalize_result", functools.partial(normalize_later), "is async, and nothing awaits it"),
    ("normalize_result", LaterNormalizer(), "is async, and nothing awaits it"),
    ("normalize_result", normalize_pieces, "yields"),
    ("normalize_result", take_nothing, r"is called with \(result\)"),
    ("approval_note", write_note_later, "is async, and nothing awaits it"),
    ("approval_note", take_one, r"is called with \(ctx, arguments\)"),
    ("find_problem", write_note_later, "is async, and nothing awaits it"),
    ("find_risk", take_one, r"is called with \(ctx, arguments\)"),
    ("describe", take_nothing, r"is called with \(groups\)"),
    ("answer", normalize_later, "is async, and nothing awaits it"),
    ("answer", 3, "must be a function"),
]


@table(("trait", "function", "problem"), WRONG_FUNCTIONS)
def test_a_function_of_a_trait_that_cannot_be_called_is_refused(trait: str, function: Any, problem: str) -> None:
    with pytest.raises(CompositionError, match=f"tool 'limited': {trait} .*{problem}"):
        tool(name="limited", **{trait: function})(lambda: "x")


RIGHT_FUNCTIONS: list[Any] = [str, str.strip, "x".join, take_one]


@table("function", RIGHT_FUNCTIONS)
def test_any_function_that_takes_a_result_normalizes_it(function: Any) -> None:
    assert tool(name="free", normalize_result=function)(lambda: "x").normalize_result is function


class Desk:
    async def book(self, seat: int) -> str:
        return f"seat {seat}"

    async def __call__(self, seat: int) -> str:
        return f"seat {seat}"


async def takes_turn(turn: Context, seat: int) -> str:
    return turn.session_id


@table(
    ("function", "problem"),
    [
        (Desk.book, r"'self' has no annotation: decorate the bound method"),
        (Desk(), "@tool takes a function, not .*Desk"),
        (functools.partial(takes_turn, seat=1), "@tool takes a function, not functools.partial"),
        (weather, "'weather' is a tool already"),
        (takes_turn, "is called ctx, not 'turn'"),
    ],
)
def test_what_cannot_be_a_tool_is_refused_with_what_to_write(function: Any, problem: str) -> None:
    with pytest.raises(CompositionError, match=problem):
        tool(function)


async def test_a_bound_method_is_a_tool() -> None:
    assert await tool(Desk().book).invoke({"seat": 3}, None) == "seat 3"


def test_a_description_of_the_annotation_reaches_the_model() -> None:
    @tool
    async def book(seat: Annotated[int, Field(description="of row 1", ge=1)]) -> str:
        """Book."""
        return ""

    assert book.parameters["properties"]["seat"] == {"description": "of row 1", "minimum": 1, "type": "integer"}


def test_a_value_that_contains_itself_is_told() -> None:
    loop: list[object] = []
    loop.append(loop)
    with pytest.raises(ValueError, match="contains itself"):
        result_to_text(loop)

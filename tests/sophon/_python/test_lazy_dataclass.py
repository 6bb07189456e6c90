"""Lazily compiled dataclasses behave as those of the standard library, and compile nothing until a method is used."""

import copy
import dataclasses
import inspect
import pickle
from collections.abc import Callable
from dataclasses import FrozenInstanceError, field, replace
from typing import Any, ClassVar, get_type_hints

import pytest

from sophon._python.lazy_dataclass import CompiledMethod, dataclass
from tests.tables import table

OPTIONS: list[dict[str, bool]] = [
    {},
    {"slots": True},
    {"frozen": True},
    {"frozen": True, "slots": True},
    {"slots": True, "kw_only": True},
    {"frozen": True, "slots": True, "eq": False},
    {"slots": True, "unsafe_hash": True},
]

Decorator = Callable[..., Any]


def make_classes(decorator: Decorator, options: dict[str, bool]) -> tuple[type[Any], type[Any]]:
    """Return a class that uses what a dataclass can do, and one that inherits from it."""

    @decorator(**options)
    class Point:
        """Value with required, optional, hidden and made fields."""

        kind: ClassVar[str] = "point"
        x: int
        label: str = "here"
        tags: list[str] = field(default_factory=list[str], hash=False)
        secret: str = field(default="s", repr=False, compare=False)
        total: int = field(default=7, init=False)
        size: int = field(default=3, kw_only=True)

    @decorator(**options)
    class Named(Point):
        """One more field."""

        name: str = "n"

        def __post_init__(self) -> None:
            object.__setattr__(self, "total", self.x + 1)

    return Point, Named


@table("options", OPTIONS)
def test_instances_are_those_of_the_standard_library(options: dict[str, bool]) -> None:
    described: list[list[object]] = []
    for decorator in (dataclass, dataclasses.dataclass):
        point, named = make_classes(decorator, options)
        value, other = point(x=1, label="a", tags=["t"]), named(x=1, size=5)
        equal = point(x=1, label="a", tags=["t"], secret="another")
        seen: list[object] = [repr(value), repr(other), value == equal, value == other, value != point(x=2)]
        seen += [str(inspect.signature(point)), str(inspect.signature(named))]
        seen += [dataclasses.asdict(value), dataclasses.asdict(other), repr(replace(value, x=9)), value.kind]
        seen += [[(each.name, each.type, each.kw_only, each.init) for each in dataclasses.fields(other)]]
        seen += [copy.copy(value).x, point.__match_args__, getattr(point, "__slots__", None), point.__doc__]
        seen += [hasattr(value, "__dict__"), point.__hash__ is None, point.__init__.__qualname__]
        seen += [point.__hash__ is object.__hash__]
        if point.__hash__ not in (None, object.__hash__):
            seen += [hash(value) == hash(equal), hash(other)]
        described.append(seen)
    assert described[0] == described[1]


@table("slots", [True, False])
def test_a_frozen_instance_cannot_be_changed(slots: bool) -> None:
    point, named = make_classes(dataclass, {"frozen": True, "slots": slots})
    for value in (point(1), named(1)):
        with pytest.raises(FrozenInstanceError):
            value.x = 2
        with pytest.raises(FrozenInstanceError):
            del value.x
        assert value.x == 1
    with pytest.raises(FrozenInstanceError):
        point(1).unknown = 2


@dataclass
class Referring:
    """Has an annotation that is a text."""

    other: "Pickled | None" = None


def test_annotations_that_are_texts_are_resolved_in_the_module() -> None:
    assert get_type_hints(Referring.__init__) == {"other": Pickled | None, "return": type(None)}


@dataclass(frozen=True, slots=True)
class Pickled:
    """At module level, where pickle finds it."""

    x: int
    tags: tuple[str, ...] = ()


def test_a_frozen_instance_with_slots_can_be_pickled_and_copied() -> None:
    value = Pickled(1, ("a",))
    assert pickle.loads(pickle.dumps(value)) == copy.deepcopy(value) == value


def test_a_frozen_standard_dataclass_may_inherit_from_one() -> None:
    @dataclasses.dataclass(frozen=True)
    class Child(Pickled):
        name: str = "n"

    assert (Child(1).x, Child(1).name) == (1, "n")


def test_a_class_that_can_change_may_not_inherit_from_a_frozen_one() -> None:
    with pytest.raises(TypeError, match="cannot inherit non-frozen"):

        @dataclass
        class Child(Pickled):  # pyright: ignore[reportGeneralTypeIssues, reportUnusedClass] # it must fail
            name: str = "n"


def test_methods_of_the_class_are_kept() -> None:
    @dataclass(frozen=True)
    class Own:
        """Has methods of its own."""

        x: int = 0

        def __repr__(self) -> str:
            return "own"

        def __eq__(self, other: object) -> bool:
            return True

        def __hash__(self) -> int:
            return 5

    assert (repr(Own()), Own(1) == Own(2), hash(Own())) == ("own", True, 5)


def test_default_values_are_made_anew_for_each_instance() -> None:
    @dataclass(slots=True)
    class Holder:
        """Has a list."""

        items: list[int] = field(default_factory=list[int])

    assert Holder().items is not Holder().items


def test_wrong_arguments_are_an_ordinary_error() -> None:
    with pytest.raises(TypeError, match=r"Pickled.__init__\(\) missing 1 required positional argument: 'x'"):
        Pickled()  # type: ignore[call-arg] # pyright: ignore[reportCallIssue] # it must fail


def test_nothing_is_compiled_until_it_is_used() -> None:
    @dataclass(frozen=True, slots=True)
    class Fresh:
        """Never used before."""

        x: int

    methods: dict[str, object] = {name: vars(Fresh)[name] for name in ("__init__", "__eq__", "__hash__")}
    assert all(isinstance(each, CompiledMethod) for each in methods.values())
    value = Fresh(1)
    assert inspect.isfunction(vars(Fresh)["__init__"])
    assert isinstance(vars(Fresh)["__eq__"], CompiledMethod)
    assert value == Fresh(1)
    assert inspect.isfunction(vars(Fresh)["__eq__"])

"""Order constraints of middlewares: declared as class attributes, checked by name when a chain is composed."""

import functools
import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from sophon.errors import CompositionError

Zone: TypeAlias = Literal["outer", "inner"]
"""`outer` runs once per turn, `inner` again for every round of tool calls."""


@dataclass(frozen=True, slots=True)
class OrderConstraints:
    """Order constraints that a middleware class (or function) declares, each as an attribute of the same name.

    Names refer to classes or functions, or to a name that another middleware `provides`, so that it can be replaced.
    `requires`: must be in the chain. `before`, `after`: this middleware must come before or after those, where present.
    `terminal`: must be the last one. `unique`: at most once. `acts`: frequency (turn, model call, tool batch,
    tool call) -> description of the action, for `explain()`.
    """

    zone: Zone | None = None
    requires: tuple[str, ...] = ()
    before: tuple[str, ...] = ()
    after: tuple[str, ...] = ()
    provides: tuple[str, ...] = ()
    terminal: bool = False
    unique: bool = False
    acts: Mapping[str, str] = field(default_factory=dict[str, str])


def read_order_constraints(middleware: object) -> OrderConstraints:
    """Return the constraints that a middleware declares; without any declaration it may stand anywhere."""
    return OrderConstraints(
        zone=getattr(middleware, "zone", None),
        requires=_names(middleware, "requires"),
        before=_names(middleware, "before"),
        after=_names(middleware, "after"),
        provides=_names(middleware, "provides"),
        terminal=bool(getattr(middleware, "terminal", False)),
        unique=bool(getattr(middleware, "unique", False)),
        acts=getattr(middleware, "acts", {}),
    )


def get_middleware_name(middleware: object) -> str:
    """Return the name of the function, or of the instance's class."""
    middleware = unwrap_partial(middleware)
    return getattr(middleware, "__name__", None) or type(middleware).__name__


def unwrap_partial(middleware: object) -> object:
    """Return the callable inside a `functools.partial`; any other object unchanged."""
    while isinstance(middleware, functools.partial):
        middleware = middleware.func  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType] - of object
    return middleware  # pyright: ignore[reportUnknownVariableType] - see above


def check_middleware(middleware: object, position: int) -> None:
    """Raise CompositionError if the object cannot be called as `await middleware(ctx, next)`."""
    what = f"argument {position} of compose, {get_middleware_name(middleware)}"
    if isinstance(middleware, type):
        raise CompositionError(f"{what}, is a class; give an instance: {middleware.__name__}()")
    if not callable(middleware):
        raise CompositionError(f"{what} ({middleware!r}), is not callable with (ctx, next)")
    if not _takes_two(middleware):
        raise CompositionError(f"{what}, is not callable with (ctx, next): its signature is {_signature(middleware)}")
    if not _is_async(middleware):
        raise CompositionError(f"{what}, is not async: write `async def`")


def check_chain_order(middlewares: Sequence[object]) -> None:
    """Raise CompositionError with one line per violated order constraint."""
    names = [get_middleware_name(m) for m in middlewares]
    places = [read_order_constraints(m) for m in middlewares]
    problems: list[str] = []
    if not names:
        problems.append("a chain needs at least one middleware")
    for index, place in enumerate(places):
        problems += _find_violations(index, place, names, places)
    if problems:
        raise CompositionError("\n".join(problems))


def _find_violations(
    index: int, place: OrderConstraints, names: Sequence[str], places: Sequence[OrderConstraints]
) -> list[str]:
    me = names[index]
    faults: list[str] = []
    if place.terminal and index < len(names) - 1:
        faults.append(f"{names[index + 1]} stands after {me}, which is terminal: nothing after it would ever run")
    if place.unique and me in names[:index]:
        faults.append(f"{me} is in the chain twice, and must be unique")
    if place.zone == "outer":
        inner = next((names[i] for i in range(index) if places[i].zone == "inner"), None)
        if inner:
            faults.append(f"{me} runs once per turn and stands after {inner}, which runs every round: move it up")
    missing = [name for name in place.requires if not _positions(name, names, places)]
    faults += [f"{me} requires {name}, and the chain has none" for name in missing]
    for name in place.before:
        if any(i < index for i in _positions(name, names, places)):
            faults.append(f"{me} must stand before {name}")
    for name in place.after:
        if any(i > index for i in _positions(name, names, places)):
            faults.append(f"{me} must stand after {name}")
    return faults


def _positions(name: str, names: Sequence[str], places: Sequence[OrderConstraints]) -> list[int]:
    return [i for i, own in enumerate(names) if name == own or name in places[i].provides]


def _names(middleware: object, attribute: str) -> tuple[str, ...]:
    value = getattr(middleware, attribute, ())
    return (value,) if isinstance(value, str) else tuple(value)


def _takes_two(middleware: Callable[..., object]) -> bool:
    try:
        inspect.signature(middleware).bind(None, None)
    except TypeError:
        return False
    except ValueError:  # a callable written in C that hides its signature
        return True
    return True


def _signature(middleware: Callable[..., object]) -> str:
    return f"{get_middleware_name(middleware)}{inspect.signature(middleware)}"


def _is_async(middleware: object) -> bool:
    middleware = unwrap_partial(middleware)
    return inspect.iscoroutinefunction(middleware) or inspect.iscoroutinefunction(type(middleware).__call__)

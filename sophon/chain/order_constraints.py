"""Order constraints of middlewares: declared as class attributes, checked by name when a chain is composed."""

import functools
import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import field
from typing import Literal, TypeAlias, TypeGuard

from sophon._python.lazy_dataclass import dataclass
from sophon.errors import CompositionError

Zone: TypeAlias = Literal["outer", "inner"]
"""`outer` runs once per turn, `inner` again for every round of tool calls."""


@dataclass(frozen=True, slots=True)
class OrderConstraints:
    """Order constraints that a middleware class (or function) declares, each as an attribute of the same name.

    Names refer to classes or functions, or to a name that another middleware `provides`, so that it can be replaced.
    `requires`: must be in the chain. `before`, `after`: this middleware must come before or after those, where present.
    `first`: must be the first one. `terminal`: must be the last one. `calls_next`: must not be the last one, because it
    relies on what follows; a function without declarations may be the last one. `unique`: at most once.
    `repeats_after`: names of inner middlewares after which one of the outer zone may stand, too; there it runs again in
    every round. `acts`: frequency (turn, model call, tool batch, tool call) -> description of the action, for
    `explain()`. `settling_only`: it does nothing but call next unless `ctx.settling`; a chain passes it by in a model
    pass. A class with `times_stages` has its chain measure the stages of turns that have a recorder, save
    those whose class says `is_timed = False`.
    """

    zone: Zone | None = None
    requires: tuple[str, ...] = ()
    before: tuple[str, ...] = ()
    after: tuple[str, ...] = ()
    provides: tuple[str, ...] = ()
    first: bool = False
    terminal: bool = False
    calls_next: bool = False
    unique: bool = False
    repeats_after: tuple[str, ...] = ()
    settling_only: bool = False
    acts: Mapping[str, str] = field(default_factory=dict[str, str])


def read_order_constraints(middleware: object) -> OrderConstraints:
    """Return the constraints that a middleware declares; without any declaration it may stand anywhere."""
    return OrderConstraints(
        zone=getattr(middleware, "zone", None),
        requires=_names(middleware, "requires"),
        before=_names(middleware, "before"),
        after=_names(middleware, "after"),
        provides=_names(middleware, "provides"),
        first=bool(getattr(middleware, "first", False)),
        terminal=bool(getattr(middleware, "terminal", False)),
        calls_next=bool(getattr(middleware, "calls_next", False)),
        unique=bool(getattr(middleware, "unique", False)),
        repeats_after=_names(middleware, "repeats_after"),
        settling_only=acts_in_settling_only(middleware),
        acts=getattr(middleware, "acts", {}),
    )


def acts_in_settling_only(middleware: object) -> bool:
    """Return whether the class that defines `__call__` declares `settling_only`.

    A subclass with a `__call__` of its own must declare it again: it may act in model passes, too.
    """
    for owner in type(middleware).__mro__:
        if "__call__" in vars(owner):
            return bool(vars(owner).get("settling_only", False))
    return False


SHIPPED_PACKAGES = ("sophon", "sophon_middlewares", "sophon_hosting", "sophon_channels")
"""Packages whose middlewares are not searched for mistakes in their source: that takes a millisecond for each."""


def is_shipped(middleware: object) -> bool:
    """Return whether a middleware is one of Sophon's own."""
    module = getattr(unwrap_partial(middleware), "__module__", None) or type(middleware).__module__
    return module.partition(".")[0] in SHIPPED_PACKAGES


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
        hint = "; write compose(*middlewares)" if isinstance(middleware, list | tuple) else ""
        raise CompositionError(f"{what} ({middleware!r:.60}), is not callable with (ctx, next){hint}")
    if not _takes_two(middleware):
        signature = _signature(middleware)
        raise CompositionError(
            f"{what}, is not callable with (ctx, next): its signature is {signature}; if it makes a middleware, call it"
        )
    if not _is_async(middleware):
        raise CompositionError(f"{what}, is not async: write `async def`")
    if (names := _first_two_names(middleware)) and names[0] == "next":
        raise CompositionError(f"{what}, takes ({', '.join(names)}): write (ctx, next)")
    _check_declarations(middleware, what)


def _check_declarations(middleware: object, what: str) -> None:
    zone: object = getattr(middleware, "zone", None)
    if zone not in (None, "outer", "inner"):
        raise CompositionError(f'{what}, has the zone {zone!r}; write "outer", "inner" or None')
    acts: object = getattr(middleware, "acts", {})
    if not isinstance(acts, Mapping):
        raise CompositionError(f'{what}, has the acts {acts!r}; write a dict, such as {{"turn": "adds the date"}}')
    for attribute in ("requires", "before", "after", "provides", "repeats_after"):
        value: object = getattr(middleware, attribute, ())
        if not _is_iterable(value) or not all(isinstance(each, str) for each in value):
            raise CompositionError(
                f'{what}, has {attribute} = {value!r:.60}; write a tuple of names, such as ("SessionEvents",)'
            )
    for attribute in ("first", "terminal", "calls_next", "unique", "settling_only", "hooks_model_calls"):
        flag: object = getattr(middleware, attribute, False)
        if not isinstance(flag, bool):
            raise CompositionError(f"{what}, has {attribute} = {flag!r:.60}; write True or False")


def _is_iterable(value: object) -> TypeGuard[Iterable[object]]:
    return isinstance(value, Iterable)


@dataclass(frozen=True, slots=True)
class _Member:
    """A middleware of a chain: its name, the names of its class and base classes, and its constraints."""

    name: str
    class_names: frozenset[str]
    place: OrderConstraints

    def answers_to(self, name: str) -> bool:
        """Return whether a constraint that names `name` means this one: a subclass stands in for its base class."""
        return name in self.class_names or name in self.place.provides


def check_chain_order(middlewares: Sequence[object], *, is_fragment: bool = False) -> None:
    """Raise CompositionError with one line per violated order constraint.

    A fragment is a part of a chain: what it requires, and its terminal, may be in the rest.
    """
    members = [_Member(get_middleware_name(m), list_class_names(m), read_order_constraints(m)) for m in middlewares]
    problems: list[str] = []
    if not members:
        problems.append("a chain needs at least one middleware")
    for index, member in enumerate(members):
        problems += _find_violations(index, members)
        if not is_fragment:
            problems += [
                f"{member.name} requires {name}, and the chain has none"
                for name in member.place.requires
                if not any(other.answers_to(name) for other in members)
            ]
    if members and members[-1].place.calls_next and not is_fragment:
        problems.append(
            f"{members[-1].name} is the last one and calls next: put a terminal such as LlmInvoker() after it, or "
            f"compose a part of a chain with Pipeline.fragment"
        )
    if problems:
        raise CompositionError("\n".join(problems))


def _find_violations(index: int, members: Sequence[_Member]) -> list[str]:
    me, place = members[index].name, members[index].place
    earlier, later = members[:index], members[index + 1 :]
    faults: list[str] = []
    if place.terminal and later:
        faults.append(f"{later[0].name} stands after {me}, which is terminal: nothing after it would ever run")
    if place.first and earlier:
        faults.append(f"{earlier[0].name} stands in front of {me}, which must be the first one: move it behind {me}")
    if place.unique and any(me in other.class_names or other.name in members[index].class_names for other in earlier):
        faults.append(f"{me} is in the chain twice, and must be unique")
    if place.zone == "outer" and not any(other.answers_to(name) for other in earlier for name in place.repeats_after):
        inner = next((other.name for other in earlier if other.place.zone == "inner"), None)
        if inner:
            faults.append(f"{me} runs once per turn and stands after {inner}, which runs every round: move it up")
    faults += [
        f"{me} must stand before {name}" for name in place.before if any(other.answers_to(name) for other in earlier)
    ]
    faults += [
        f"{me} must stand after {name}" for name in place.after if any(other.answers_to(name) for other in later)
    ]
    return faults


def list_answered_names(middleware: object) -> frozenset[str]:
    """Return the names by which constraints mean a middleware: those of its classes, and what it provides."""
    return list_class_names(middleware).union(_names(middleware, "provides"))


def list_class_names(middleware: object) -> frozenset[str]:
    """Return the name of the function, or of the instance's class and its base classes."""
    middleware = unwrap_partial(middleware)
    if hasattr(middleware, "__name__"):
        return frozenset({get_middleware_name(middleware)})
    return frozenset(each.__name__ for each in type(middleware).__mro__ if each is not object)


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


def _first_two_names(middleware: Callable[..., object]) -> list[str]:
    try:
        return list(inspect.signature(middleware).parameters)[:2]
    except ValueError:  # as in `_takes_two`
        return []


def _signature(middleware: Callable[..., object]) -> str:
    return f"{get_middleware_name(middleware)}{inspect.signature(middleware)}"


def _is_async(middleware: object) -> bool:
    middleware = unwrap_partial(middleware)
    if callable(middleware):  # a decorator that uses functools.wraps may return the coroutine of what it wraps
        middleware = inspect.unwrap(middleware)
    return inspect.iscoroutinefunction(middleware) or inspect.iscoroutinefunction(type(middleware).__call__)

"""Placement of further middlewares in a chain: in the named places of a list, or by their order constraints."""

from collections.abc import Iterable, Mapping, Sequence
from typing import TypeAlias, cast

from sophon.chain.order_constraints import get_middleware_name, list_answered_names, read_order_constraints
from sophon.chain.pipeline import Middleware, Pipeline
from sophon.errors import CompositionError

Additions: TypeAlias = Mapping[str, Middleware]
"""Middlewares by the name of their place."""


def compose_with(added: Additions, *parts: Middleware | str) -> Pipeline:
    """Compose a chain from a list with named places: each gets the middleware of that name, or stays empty.

    What the chain has by itself is not added. Raises CompositionError, also for what has no place in the list.
    """
    own = [each for each in parts if not isinstance(each, str)]
    for name in added:
        if name not in parts and not any(_answers_to(each, name) for each in own):
            raise CompositionError(f"this chain has no place for {name}: see sophon.chain.placement.place")
    filled = [added.get(each) if isinstance(each, str) else each for each in parts]
    return Pipeline.compose(*(each for each in filled if each is not None))


def place(chain: Pipeline, added: Iterable[Middleware], order: Sequence[str] = ()) -> Pipeline:
    """Return the chain, which may be anybody's, with further middlewares where their classes say that they stand.

    `outermost` or `hooks_model_calls`: in front of all but one that must be the first. `follows`: directly behind the
    first of these that the chain has. Any other stands in front of what it must come `before`, one of the outer zone
    in front of the inner zone at the latest; those in `order` keep it among each other.

    What the chain has already is not added again. Left out, save of the outermost, is what `requires`, or is
    `placed_with`, a middleware that is not there, and what has no place by these rules. A chain that gets nothing is
    returned as it is, and a subclass of Pipeline stays one. Raises CompositionError.
    """
    found = list(chain)
    new = [each for each in added if not _find(found, [get_middleware_name(each)])]
    outermost = [each for each in new if getattr(each, "outermost", False) or getattr(each, "hooks_model_calls", False)]
    for each in new:
        if each in outermost or not all(_find([*found, *new], [name]) for name in _list_needed(each)):
            continue
        position = _find_position(each, found, order)
        if position is not None:
            found.insert(position, each)
    front = 1 if len(chain) and read_order_constraints(chain[0]).first else 0
    found[front:front] = outermost  # never left out: a model call that is not hooked shows what it must not
    return chain if len(found) == len(chain) else type(chain).compose(*found)


def _find_position(middleware: Middleware, chain: Sequence[Middleware], order: Sequence[str]) -> int | None:
    for name in _read(middleware, "follows"):
        if behind := _find(chain, [name]):
            return behind[0] + 1
    constraints = read_order_constraints(middleware)
    name = get_middleware_name(middleware)
    later = [*constraints.before, *(order[order.index(name) + 1 :] if name in order else ())]
    if constraints.zone != "inner":
        later += ["AgenticLoop", "LlmInvoker"]
    places = _find(chain, later)
    if not places:
        return None
    place = places[0]
    # What follows another one directly is not parted from it.
    while place and any(_answers_to(chain[place - 1], each) for each in _read(chain[place], "follows")):
        place -= 1
    return place


def _find(chain: Sequence[Middleware], names: Sequence[str]) -> list[int]:
    """Return the positions of the middlewares that answer to one of the names."""
    return [at for at, each in enumerate(chain) if not list_answered_names(each).isdisjoint(names)]


def _list_needed(middleware: Middleware) -> Sequence[str]:
    return (*read_order_constraints(middleware).requires, *_read(middleware, "placed_with"))


def _answers_to(middleware: Middleware, name: str) -> bool:
    return name in list_answered_names(middleware)


def _read(middleware: Middleware, attribute: str) -> tuple[str, ...]:
    """Return the names in a class attribute; none in one of a program that means something else by it."""
    value = getattr(middleware, attribute, ())
    return cast(tuple[str, ...], value) if isinstance(value, tuple) else ()

"""Layers and hooks of a turn that are added for a block and removed at its end."""

from typing import Any

from sophon.errors import ChainError


def no_function(method: str, given: object) -> ChainError:
    """Return the error for a layer or hook that cannot be called."""
    return ChainError(f"ctx.{method}({given!r:.60}) takes a function")


class PushedLayers:
    """Pushes items onto lists, each in one of its own, and removes them at the end of the block."""

    # As a generator with `contextmanager`, at a quarter of its cost: every turn has layers.
    __slots__ = ("_items",)

    def __init__(self, *items: tuple[list[Any], object]) -> None:
        self._items = items

    def __enter__(self) -> None:
        for stack, item in self._items:
            stack.append(item)

    def __exit__(self, *error: object) -> None:
        for stack, item in self._items:
            stack.remove(item)


class AddedHook:
    """Adds an item to a tuple of the context, and sets what was there before at the end of the block."""

    # As `PushedLayers`: guards add checks in every round.
    __slots__ = ("_before", "_ctx", "_field", "_item")

    def __init__(self, ctx: object, field: str, item: object) -> None:
        self._ctx, self._field, self._item = ctx, field, item

    def __enter__(self) -> None:
        self._before: tuple[Any, ...] = getattr(self._ctx, self._field)
        setattr(self._ctx, self._field, (*self._before, self._item))

    def __exit__(self, *error: object) -> None:
        setattr(self._ctx, self._field, self._before)

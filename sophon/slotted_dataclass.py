"""`dataclass` variant, and default factories, for values that are created in every round of every turn."""

from collections.abc import Callable
from dataclasses import field
from typing import Any, TypeVar, dataclass_transform

from sophon.lazy_dataclass import dataclass

T = TypeVar("T")

new_list: Callable[[], list[Any]] = list
"""Default factory of an empty list of any type, without a Python call as `lambda: []` has."""
new_dict: Callable[[], dict[Any, Any]] = dict
"""Default factory of an empty dict."""
new_set: Callable[[], set[Any]] = set
"""Default factory of an empty set."""


@dataclass_transform(frozen_default=True, field_specifiers=(field,))
def slotted_dataclass(cls: type[T]) -> type[T]:
    """Make a slotted dataclass that is frozen for type checkers and not at run time.

    A frozen dataclass sets each field with `object.__setattr__`, which makes construction three to four times slower.
    Only for values that the framework alone creates; messages and tool calls, which user code holds, are really frozen.
    """
    return dataclass(slots=True, unsafe_hash=True)(cls)

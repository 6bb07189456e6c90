"""`dataclass` variant for values that are created in every round of every turn."""

from dataclasses import dataclass, field
from typing import TypeVar, dataclass_transform

T = TypeVar("T")


@dataclass_transform(frozen_default=True, field_specifiers=(field,))
def slotted_dataclass(cls: type[T]) -> type[T]:
    """Make a slotted dataclass that is frozen for type checkers and not at run time.

    A frozen dataclass sets each field with `object.__setattr__`, which makes construction three to four times slower.
    Only for values that the framework alone creates; messages and tool calls, which user code holds, are really frozen.
    """
    return dataclass(slots=True, unsafe_hash=True)(cls)

"""Values that are made in every round of every turn."""

from dataclasses import dataclass, field
from typing import TypeVar, dataclass_transform

T = TypeVar("T")


@dataclass_transform(frozen_default=True, field_specifiers=(field,))
def value(cls: type[T]) -> type[T]:
    """A slotted dataclass that is frozen to the type checkers and not at run time.

    A frozen one sets each field by a call of `object.__setattr__`, which makes it three to four times as dear to make.
    For what only the framework makes; what others hold in their hands (messages, tool calls) is frozen indeed.
    """
    return dataclass(slots=True, unsafe_hash=True)(cls)

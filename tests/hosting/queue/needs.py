"""What a test needs of a technology; the suite leaves it out for those that do not promise it."""

from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T", bound=Callable[..., object])


def needs(*promises: str) -> Callable[[T], T]:
    """Mark a test: `turns`, `positions`, `bound`, `counts` (see `Promise`), or `instances`."""

    def mark(test: T) -> T:
        test.needs = promises  # type: ignore[attr-defined]
        return test

    return mark

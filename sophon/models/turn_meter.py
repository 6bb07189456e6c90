"""The meter of the turn that runs: what a turn starts is charged to it, whichever services that uses."""

from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Generator

    from sophon.models.model import Meter

CURRENT_METER: "ContextVar[Meter | None]" = ContextVar("turn_meter", default=None)
"""Meter of the turn in whose tasks it is read: of its embedding calls, and of turns that begin within it."""


@contextmanager
def metering(meter: "Meter | None") -> "Generator[None]":
    """Meter the embedding calls and the turns of the block, and of the tasks that begin in it; None meters none."""
    token = CURRENT_METER.set(meter)
    try:
        yield
    finally:
        CURRENT_METER.reset(token)

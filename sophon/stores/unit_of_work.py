"""Unit of work: small writes of the turns of a session, stored together in one transaction.

A turn stores little and often: its state before tools run, what guards decided, what a call has done. Each is a
`Write`, and waits; whatever is stored next in the session takes all of them with it, as a `UnitOfWork`. So a turn
commits as often as it must, not as often as it writes, and what belongs together is stored together or not at all.
"""

from collections.abc import Callable, Sequence
from enum import IntEnum
from typing import Any, TypeAlias

from sophon._python.lazy_dataclass import dataclass
from sophon.stores.run_fence import RunFence

Apply: TypeAlias = Callable[[Any], object]
"""Executes a write on the connection of a transaction; again if the transaction is repeated."""


class WriteKind(IntEnum):
    """What a write stores; the number is its place in the unit.

    A unit applies its writes in this order, not in that in which they were produced: whichever of concurrent calls came
    first, the transaction is the same.
    """

    CHECKPOINT = 0
    CALL = 1
    APPROVAL = 2
    AUDIT = 3
    RATE = 4
    LABEL = 5
    SNAPSHOT = 6
    TRAJECTORY = 7
    TRACE = 8
    VECTOR = 9
    ROUTE = 10
    SUB_AGENT = 11


@dataclass(frozen=True, slots=True)
class Write:
    """A small write, of the turn of a run if it names one. The outcome of the run makes its checkpoints useless."""

    kind: WriteKind
    apply: Apply
    run_id: str = ""


@dataclass(frozen=True, slots=True)
class UnitOfWork:
    """Writes that one transaction stores, those of a kind in the order in which they were produced.

    `fences` are those of the turns in whose name it is stored. Raises StaleRun, and the transaction stores nothing, if
    one of them is old.
    """

    writes: Sequence[Write] = ()
    fences: Sequence[RunFence] = ()


NO_WRITES = UnitOfWork()

"""The faults of a chaos run: drawn from a seed, each after some progress."""

import random
from collections.abc import Sequence
from typing import Literal, TypeAlias

from sophon._python.lazy_dataclass import dataclass

FaultKind: TypeAlias = Literal[
    "kill",
    "hang",
    "restart the queue",
    "restart the store",
    "cut the queue off",
    "cut the store off",
    "flush the queue",
]
"""`kill`: SIGKILL of a process. `hang`: SIGSTOP for longer than a lease. `flush`: the queue's server forgets all."""

WEIGHTS: dict[FaultKind, int] = {
    "kill": 12,
    "hang": 6,
    "restart the queue": 2,
    "restart the store": 1,
    "cut the queue off": 2,
    "cut the store off": 1,
    "flush the queue": 1,
}


@dataclass(frozen=True, slots=True)
class Fault:
    """A fault that happens to process number `target` (or an engine) after so many further lines of progress.

    `seconds` is how long it lasts, above one lease for `hang`.
    """

    kind: FaultKind
    after: int
    target: int
    seconds: float


def draw_faults(
    chance: random.Random, count: int, *, processes: int, lines: int, lease_seconds: float, kinds: Sequence[FaultKind]
) -> list[Fault]:
    """Draw `count` faults of these kinds, spread over about `lines` lines of progress; each kind comes once."""
    if not count or not kinds:
        return []
    drawn = [*kinds, *chance.choices(kinds, [WEIGHTS[kind] for kind in kinds], k=max(count - len(kinds), 0))]
    chance.shuffle(drawn)
    most = max(2 * lines // len(drawn), 2)
    return [
        Fault(
            kind,
            chance.randrange(1, most),
            chance.randrange(processes),
            chance.uniform(1.5, 2.5) * lease_seconds if kind == "hang" else chance.uniform(0.2, 1.5),
        )
        for kind in drawn
    ]

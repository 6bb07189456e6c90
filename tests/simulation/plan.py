"""Plan of a history: the world, what people will say and which faults will happen, drawn from a seed before it begins.

A history repeats with the same plan. It is shortened by leaving faults and messages out: each keeps its number.
"""

import random
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from typing import Self

MESSAGES, FAULTS = 50, 10

SESSIONS = ("web-0/0", "web-0/1", "web-1/0", "web-1/1", "telegram/0", "telegram/1", "whatsapp/0")
"""Conversations: of two users of the page, of two chats of Telegram and of one of WhatsApp."""

KINDS = ("say", "think", "note", "note", "work", "work", "pay", "pay", "look", "both", "stop")
"""What a message makes the model do: answer, answer slowly, call a short tool, a long one, one that needs approval, one
that is idempotent, two at once; the last one is cancelled by its writer."""

FAULTS_OF_ONE = (
    "kill", "kill", "kill", "kill", "restart", "store away", "store full", "writes fail", "late answers",
    "model", "model", "model", "clock", "platform", "platform",
)  # fmt: skip
FAULTS_OF_SEVERAL = (
    *FAULTS_OF_ONE, "stop", "stop", "stop", "stop", "cut off", "cut off", "cut off", "cut off", "queue away",
    "queue forgets", "queue loses answers", "hints lost",
)  # fmt: skip

MOMENTS = ("any", "write", "write", "write", "effect", "model", "ack", "sent")
"""What a kill or a stop waits for: a number of steps, or a moment after which much depends on what is stored."""


@dataclass(frozen=True)
class PlannedMessage:
    """A message: `after` seconds behind the one before it in its conversation."""

    number: int
    session: str
    kind: str
    after: float

    @property
    def text(self) -> str:
        """What is written: no two messages have the same text."""
        return f"{self.kind} {self.session}/{self.number}."


@dataclass(frozen=True)
class PlannedFault:
    """A fault: `after` seconds behind the one before it, at a host, for so many seconds.

    `moment`, `count` and `steps` say when a process dies or stops: so many steps behind that moment's occurrence.
    """

    number: int
    kind: str
    after: float
    node: int
    seconds: float
    share: float
    moment: str
    count: int
    steps: int


@dataclass(frozen=True)
class Plan:
    """What a history consists of; `budget` is a limit of tokens per day, None for none."""

    seed: int
    hosts: int
    budget: int | None
    messages: Sequence[PlannedMessage]
    faults: Sequence[PlannedFault]

    @classmethod
    def draw(cls, seed: int, *, messages: int = MESSAGES, faults: int = FAULTS, hosts: int | None = None) -> Self:
        """Draw the plan of a seed; `hosts` decides what the seed would."""
        chance = random.Random(f"plan of {seed}")
        drawn = chance.choices((1, 2, 3, 4, 5), (11, 4, 3, 1, 1))[0]
        hosts = hosts or drawn
        budget = chance.choice((None, None, None, None, chance.randrange(100_000, 300_000)))
        kinds = FAULTS_OF_ONE if hosts == 1 else FAULTS_OF_SEVERAL
        return cls(
            seed,
            hosts,
            budget,
            [_draw_message(chance, number) for number in range(messages)],
            [_draw_fault(chance, number, chance.choice(kinds), hosts) for number in range(faults)],
        )

    def keep(self, messages: Collection[int] | None = None, faults: Collection[int] | None = None) -> Self:
        """Return the plan with these messages and faults only, by number; None: all."""
        return replace(
            self,
            messages=[each for each in self.messages if messages is None or each.number in messages],
            faults=[each for each in self.faults if faults is None or each.number in faults],
        )


def _draw_message(chance: random.Random, number: int) -> PlannedMessage:
    return PlannedMessage(number, chance.choice(SESSIONS), chance.choice(KINDS), round(chance.expovariate(1 / 4), 3))


def _draw_fault(chance: random.Random, number: int, kind: str, hosts: int) -> PlannedFault:
    return PlannedFault(
        number,
        kind,
        after=round(chance.expovariate(1 / 6), 3),
        node=chance.randrange(hosts),
        seconds=round(chance.choice((chance.uniform(0.5, 12.0), chance.uniform(12.0, 40.0))), 3),
        share=chance.choice((0.2, 0.5, 1.0)),
        moment=chance.choice(MOMENTS),
        count=chance.randrange(1, 12),
        steps=chance.choice((0, 0, 1, 2, 3, 8, chance.randrange(10, 1500))),
    )

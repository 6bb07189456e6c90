"""Synthetic workload for routing: messages with a hidden difficulty, and models whose quality drifts in the middle.

A strategy sees the text alone, of which the complexity is a weak hint of the difficulty; what it learns from is a noisy
measure of the answer, or thumbs of some people. Which model would have sufficed is known to the oracle only.
"""

import math
import random
from collections.abc import Sequence
from typing import Final

from sophon._python.lazy_dataclass import dataclass

MODELS: Final = ("small", "medium", "large")
COSTS: Final = {"small": 0.0004, "medium": 0.003, "large": 0.015}
"""USD of one turn."""

SKILLS: Final = {
    "small": {"chat": 0.95, "research": 0.75, "creative": 0.8, "analysis": 0.3, "code_generation": 0.25},
    "medium": {"chat": 1.0, "research": 0.95, "creative": 0.95, "analysis": 0.9, "code_generation": 0.75},
    "large": {"chat": 1.05, "research": 1.05, "creative": 1.05, "analysis": 1.05, "code_generation": 1.1},
}
"""Difficulty at which a model answers every second message of a task type well."""

DRIFTED_SKILLS: Final = {
    **SKILLS,
    "small": SKILLS["small"] | {"analysis": 0.95, "research": 0.3},
    "medium": SKILLS["medium"] | {"code_generation": 0.35},
}
"""After the middle: the small model has learnt to analyse and searches worse, and the middle one has lost its code."""

STEEPNESS: Final = 10.0
GOOD_ENOUGH: Final = 0.7
"""Quality that the oracle buys as cheaply as it can, which is `Routing.Quality.MinQuality`."""

OPENINGS: Final = {
    "chat": ("good morning, {}", "how was your day with {}", "thank you for {}"),
    "research": ("find out about {}", "search for {}", "research {}"),
    "creative": ("write a poem about {}", "compose a story with {}", "draft a narrative on {}"),
    "analysis": ("evaluate {}", "summarize {}", "assess {}"),
    "code_generation": ("implement {}", "fix the function for {}", "refactor the module of {}"),
}
DIFFICULTIES: Final = {"chat": 0.2, "research": 0.4, "creative": 0.4, "analysis": 0.5, "code_generation": 0.55}
"""Mean difficulty of the topics of a task type; their standard deviation is `SPREAD`."""
SPREAD: Final = 0.18
TOPICS: Final = 60
SYLLABLES: Final = ("ba", "do", "ki", "lu", "mer", "nov", "pel", "ras", "sti", "tor", "vin", "zel")


@dataclass(frozen=True, slots=True)
class Message:
    """Message of the workload; `difficulty` is hidden from the strategies."""

    text: str
    task_type: str
    difficulty: float


def make_messages(count: int, seed: int, *, varies: bool = True) -> list[Message]:
    """Return messages about recurring topics, the frequent ones more often, each in other words if it `varies`."""
    random_ = random.Random(seed)
    topics: list[tuple[str, str, list[str], float]] = []
    for number in range(TOPICS):
        kind = tuple(OPENINGS)[number % len(OPENINGS)]
        words = ["".join(random_.choices(SYLLABLES, k=3)) for _ in range(10)]
        difficulty = min(max(random_.gauss(DIFFICULTIES[kind], SPREAD), 0.0), 1.0)
        topics.append((kind, random_.choice(OPENINGS[kind]), words, difficulty))
    weights = [1 / (1 + number // len(OPENINGS)) for number in range(TOPICS)]
    if not varies:
        fixed = [_make_message(random_, *topic) for topic in topics]
        return random_.choices(fixed, weights, k=count)
    return [_make_message(random_, *random_.choices(topics, weights)[0]) for _ in range(count)]


def _make_message(random_: random.Random, kind: str, opening: str, words: list[str], difficulty: float) -> Message:
    own = min(max(random_.gauss(difficulty, 0.05), 0.0), 1.0)
    said = [word for word in words if random_.random() > 0.08]
    text = opening.format(" ".join(said))
    # Hard messages have several steps or code more often, and easy ones sometimes: complexity is a hint, no more.
    if random_.random() < 0.15 + 0.5 * own:
        text += ", first briefly and finally at length"
    if random_.random() < 0.5 * own:
        text += "\n```\nx\n```"
    return Message(text, kind, own)


def quality_of(model: str, message: Message, *, has_drifted: bool) -> float:
    """Return the chance that a model answers a message well."""
    skill = (DRIFTED_SKILLS if has_drifted else SKILLS)[model][message.task_type]
    return 1 / (1 + math.exp(-STEEPNESS * (skill - message.difficulty)))


def ask_oracle(message: Message, *, has_drifted: bool, models: Sequence[str] = MODELS) -> str:
    """Return the cheapest model that is good enough, else the best one."""
    qualities = {model: quality_of(model, message, has_drifted=has_drifted) for model in models}
    good = [model for model in models if qualities[model] >= GOOD_ENOUGH]
    return good[0] if good else max(qualities, key=qualities.__getitem__)

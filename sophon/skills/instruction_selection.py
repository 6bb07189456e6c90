"""Selection of the skills whose instructions go into a prompt: those that a message is about, as a knapsack."""

from collections.abc import Mapping, Sequence
from typing import Final

from sophon._python.lazy_dataclass import dataclass
from sophon.memory.skill_selection import Skill, select_skills
from sophon.skills.catalog import list_with_requirements
from sophon.skills.skill_package import SkillPackage
from sophon.tools.relevance import STOP_WORDS, split_words

MIN_NAME_CHARACTERS: Final = 3
MIN_WORD_CHARACTERS: Final = 4
"""Characters from which a word of a name, and of a description, counts as one that a message shares."""

NAME_WORTH: Final = 2
"""What a shared word of a skill's name is worth; one of its description is worth 1."""

RESTRICTING_WORTH: Final = 2
"""Worth from which a skill is about the message if it restricts the tools of the turn: by one shared word of a
description nobody loses a tool."""

MANY_SKILLS: Final = 4
"""Skills from which a word that more than half of them have says nothing about one of them."""

COMMON_WORDS: Final = frozenset(
    """ask asks asked help helps make makes need needs please request requests skill skills somebody someone something
    task tasks thing things user users want wants whenever work works""".split()  # noqa: SIM905 - as STOP_WORDS
)


@dataclass(frozen=True, slots=True)
class _Words:
    name: frozenset[str]
    description: frozenset[str]


class InstructionSelector:
    """Finds the skills of one moment that a message is about, and selects those whose instructions fit."""

    def __init__(self, skills: Mapping[str, SkillPackage]) -> None:
        self._skills = {
            name: skill
            for name, skill in skills.items()
            if all(each in skills for each in skill.requires) and skill.instructions
        }
        words = {
            name: _Words(_find_words(name, MIN_NAME_CHARACTERS), _find_words(skill.description, MIN_WORD_CHARACTERS))
            for name, skill in self._skills.items()
        }
        frequent = _find_frequent([each.name | each.description for each in words.values()])
        self._words = {
            name: _Words(each.name - frequent, each.description - each.name - frequent) for name, each in words.items()
        }

    def find_relevant(self, message: str) -> dict[str, float]:
        """Return the skills that a message is about with their worth: priority by shared words."""
        words = _find_words(message, MIN_NAME_CHARACTERS)
        found: dict[str, float] = {}
        for name, its in self._words.items():
            shared = NAME_WORTH * len(words & its.name) + len(words & its.description)
            skill = self._skills[name]
            if shared >= (1 if skill.allowed_tools is None else RESTRICTING_WORTH):
                found[name] = skill.priority * shared
        return found

    def list_candidates(self, relevant: Mapping[str, float]) -> list[str]:
        """Return the relevant skills and what they require, in alphabetical order."""
        return sorted({each for name in relevant for each in list_with_requirements(name, self._skills)})

    def select(self, relevant: Mapping[str, float], sizes: Mapping[str, int], room: int) -> Sequence[str]:
        """Return the relevant skills of the greatest worth that fit with what they require: alphabetical, requirements
        first. `sizes` are the tokens of each candidate.
        """
        candidates = [
            Skill(name, size, relevant.get(name, 0.0), self._skills[name].requires) for name, size in sizes.items()
        ]
        chosen = sorted(name for name in select_skills(candidates, room).selected if name in relevant)
        return [*dict.fromkeys(each for name in chosen for each in list_with_requirements(name, self._skills))]


def _find_words(text: str, minimum: int) -> frozenset[str]:
    """Return the words of a text that say what it is about, without the `s` of a plural."""
    words = (word for word in split_words(text) if len(word) >= minimum)
    return frozenset(map(_fold, words)) - STOP_WORDS - COMMON_WORDS


def _fold(word: str) -> str:
    return word[:-1] if len(word) > MIN_WORD_CHARACTERS and word.endswith("s") and not word.endswith("ss") else word


def _find_frequent(texts: Sequence[frozenset[str]]) -> frozenset[str]:
    if len(texts) < MANY_SKILLS:
        return frozenset()
    counts: dict[str, int] = {}
    for words in texts:
        for word in words:
            counts[word] = counts.get(word, 0) + 1
    return frozenset(word for word, count in counts.items() if count > len(texts) / 2)

"""What of the skills stands in a prompt: names and descriptions, those that fit; instructions are loaded on demand."""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Final

from sophon._python.lazy_dataclass import dataclass
from sophon.memory.skill_selection import Skill, select_skills
from sophon.skills.skill_package import SkillPackage
from sophon.tools.relevance import split_words

HEADER: Final = (
    "<skills>\n"
    "Instructions for particular tasks. When one fits the request, call load_skills with its name before you begin, "
    "and follow what it returns."
)
FOOTER: Final = "</skills>"


MIN_WORD_CHARACTERS: Final = 4
"""Characters from which a word of a request counts as one that a description shares with it."""

MAX_CHOICES: Final = 64
"""Choices that are kept for as many sets of skills that share words with a request."""


@dataclass(frozen=True, slots=True)
class SkillSection:
    """The section of a prompt, "" without skills, its length, the names in it, and why others are not."""

    text: str
    tokens: int
    selected: tuple[str, ...]
    excluded: Mapping[str, str]


class SkillList:
    """The skills of one moment as prompts list them; what no request changes is counted once.

    If not all of them fit, those with the greatest priority are chosen as a knapsack; a skill whose name or description
    shares words with the request has twice its priority. The choices for the newest sets of such skills are kept.
    """

    def __init__(self, skills: Mapping[str, SkillPackage], count_tokens: Callable[[str], int]) -> None:
        self._skills, self._count_tokens = skills, count_tokens
        self._lines = {name: f"- {name}: {skill.description}" for name, skill in skills.items()}
        whole = _join(self._lines.values())
        self._whole = SkillSection(whole, count_tokens(whole), (*self._lines,), {})
        self._words: dict[str, frozenset[str]] = {}
        self._sizes: dict[str, int] = {}
        self._chosen: dict[tuple[frozenset[str], int], SkillSection] = {}

    def build_section(self, request: str, budget: int) -> SkillSection:
        """Build the section in at most `budget` tokens, in alphabetical order, so that prompt caches stay valid."""
        if not self._skills:
            return SkillSection("", 0, (), {})
        if self._whole.tokens <= budget:
            return self._whole
        if not self._words:
            self._words = {
                name: frozenset(split_words(f"{name} {skill.description}")) for name, skill in self._skills.items()
            }
            self._sizes = {name: self._count_tokens(f"{line}\n") for name, line in self._lines.items()}
        words = {word for word in split_words(request) if len(word) >= MIN_WORD_CHARACTERS}
        matching = frozenset(name for name, its in self._words.items() if not its.isdisjoint(words))
        section = self._chosen.get((matching, budget))
        if section is None:
            if len(self._chosen) >= MAX_CHOICES:
                self._chosen.clear()
            section = self._chosen[matching, budget] = self._choose(matching, budget)
        return section

    def _choose(self, matching: Collection[str], budget: int) -> SkillSection:
        candidates = [
            Skill(
                name,
                self._sizes[name],
                skill.priority * (2 if name in matching else 1),
                tuple(each for each in skill.requires if each in self._skills),
            )
            for name, skill in self._skills.items()
        ]
        selection = select_skills(candidates, budget - self._count_tokens(_join(())))
        chosen = tuple(sorted(selection.selected))
        text = _join(self._lines[name] for name in chosen) if chosen else ""
        return SkillSection(text, self._count_tokens(text) if text else 0, chosen, selection.excluded)


def build_instructions(skills: Sequence[SkillPackage], files: Mapping[str, Sequence[str]]) -> str:
    """Return the instructions of loaded skills as the result of a tool; `files` are the further files of each."""
    parts: list[str] = []
    for skill in skills:
        listed = "".join(f"\n- {path}" for path in files.get(skill.name, ()))
        further = f"\n\nFurther files, to be read with read_skill_file:{listed}" if listed else ""
        body = skill.instructions or skill.description
        parts.append(f'<skill name="{skill.name}">\n{body}{further}\n</skill>')
    return "\n\n".join(parts)


def _join(lines: Iterable[str]) -> str:
    return "\n".join((HEADER, *lines, FOOTER))

"""What of the skills stands in a prompt: names and descriptions, those that fit; instructions are loaded on demand."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final

from sophon.lazy_dataclass import dataclass
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


@dataclass(frozen=True, slots=True)
class SkillSection:
    """The section of a prompt, "" without skills, its length, the names in it, and why others are not."""

    text: str
    tokens: int
    selected: tuple[str, ...]
    excluded: Mapping[str, str]


def build_section(
    skills: Mapping[str, SkillPackage], request: str, budget: int, count_tokens: Callable[[str], int]
) -> SkillSection:
    """Build the section that lists skills in at most `budget` tokens, alphabetically, so that caches stay valid.

    If not all of them fit, those with the greatest priority are chosen as a knapsack; a skill whose description shares
    words with the request has twice its priority.
    """
    if not skills:
        return SkillSection("", 0, (), {})
    lines = {name: f"- {name}: {skill.description}" for name, skill in skills.items()}
    whole = _join(lines.values())
    tokens = count_tokens(whole)
    if tokens <= budget:
        return SkillSection(whole, tokens, (*lines,), {})
    words = {word for word in split_words(request) if len(word) >= MIN_WORD_CHARACTERS}
    candidates = [
        Skill(
            name,
            count_tokens(f"{lines[name]}\n"),
            skill.priority * (2 if words.intersection(split_words(f"{name} {skill.description}")) else 1),
            tuple(each for each in skill.requires if each in skills),
        )
        for name, skill in skills.items()
    ]
    selection = select_skills(candidates, budget - count_tokens(_join(())))
    chosen = tuple(sorted(selection.selected))
    text = _join(lines[name] for name in chosen) if chosen else ""
    return SkillSection(text, count_tokens(text) if text else 0, chosen, selection.excluded)


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

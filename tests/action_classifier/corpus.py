"""The corpus: actions as a person or an attacker words them, made of templates and what fills them.

A template is a line of `corpus/*.txt` below its family (`%% override de`); `{act}` is filled, `{Act}` also capitalised,
`\\n` and `\\t` are a line break and a tabulator. The corpus is written
for this project.
"""

import re
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from random import Random

FOLDER = Path(__file__).with_name("corpus")

FOLDS = 5
TEST = FOLDS - 1
"""Folds of the corpus: a template and what it is filled with belong to one. The last is never used for training."""

FILES = {
    "attacks_en": ("text", True),
    "attacks_other": ("text", True),
    "attacks_commands": ("command", True),
    "benign_en": ("text", False),
    "benign_other": ("text", False),
    "benign_commands": ("command", False),
}
"""Name of a file -> kind of its texts, whether they are attacks."""

VARIANTS = 6
GRAMMAR_VARIANTS = 24
ASKED_VARIANTS = 60
"""Texts that a template gives; more, if it has alternatives."""

_PLACE = re.compile(r"(?<!\{)\{(\w+)\}(?!\})")


@dataclass(frozen=True)
class Template:
    """A template of the corpus; all its fillings are in its fold."""

    text: str
    kind: str
    is_attack: bool
    family: str
    language: str
    fold: int

    @property
    def is_grammar(self) -> bool:
        """Whether `(a|b)` in it are alternatives."""
        return self.family.endswith("grammar")


@dataclass(frozen=True)
class Example:
    """A filled template."""

    text: str
    template: Template

    @property
    def is_attack(self) -> bool:
        """Whether it is an attack."""
        return self.template.is_attack


@cache
def load_templates() -> tuple[Template, ...]:
    """Return all templates; the folds of a family have equally many."""
    return tuple(_read_templates())


def _read_templates() -> Iterator[Template]:
    number = 0
    for name, (kind, is_attack) in FILES.items():
        for family, lines in _read_sections(name):
            title, _, language = family.partition(" ")
            for line in lines:
                yield Template(line, kind, is_attack, title, language or "en", number % FOLDS)
                number += 1


def make_examples(kind: str, fold: int) -> list[Example]:
    """Return the examples of a kind in a fold."""
    return [
        Example(text, template)
        for template in load_templates()
        if template.kind == kind and template.fold == fold
        for text in dict.fromkeys(_fill(template, number) for number in range(_count_variants(template)))
    ]


def _count_variants(template: Template) -> int:
    if template.family == "asked_grammar":
        return ASKED_VARIANTS
    return GRAMMAR_VARIANTS if template.is_grammar else VARIANTS


def _fill(template: Template, number: int) -> str:
    random = Random(zlib.crc32(f"{template.text}#{number}".encode()))
    text = _choose_alternatives(template.text, random) if template.is_grammar else template.text
    while _PLACE.search(text):
        text = _PLACE.sub(lambda match: _choose(match[1], template.fold, random), text)
    text = text.replace("{{", "{").replace("}}", "}")
    return text.replace("\\n", "\n").replace("\\t", "\t")


def _choose_alternatives(text: str, random: Random) -> str:
    """Return a template with one alternative of each `(a|b)`; other parentheses stay. `\\|` is `|`, `\\*` is `*`."""
    levels: list[list[str]] = [[""]]
    for sign in re.findall(r"\\[|*]|.", text, re.DOTALL):
        if sign == "(":
            levels.append([""])
        elif sign == "|" and len(levels) > 1:
            levels[-1].append("")
        elif sign == ")" and len(levels) > 1:
            chosen = levels.pop()
            levels[-1][-1] += random.choice(chosen) if len(chosen) > 1 else f"({chosen[0]})"
        else:
            levels[-1][-1] += sign.removeprefix("\\") if len(sign) > 1 else sign
    assert len(levels) == 1, text
    return levels[0][0]


def _choose(name: str, fold: int, random: Random) -> str:
    values = _load_fillings()[name.lower()]
    chosen = random.choice(values[fold::FOLDS] if len(values) >= FOLDS else values)
    return chosen[0].upper() + chosen[1:] if name[0].isupper() else chosen


@cache
def _load_fillings() -> dict[str, list[str]]:
    return dict(_read_sections("fillings"))


def _read_sections(name: str) -> Iterator[tuple[str, list[str]]]:
    family, lines = "", list[str]()
    for line in (FOLDER / f"{name}.txt").read_text("utf-8").splitlines():
        if line.startswith("%% "):
            if lines:
                yield family, lines
            family, lines = line[3:], []
        elif line:
            lines.append(line)
    yield family, lines


@cache
def load_lexicon() -> dict[str, tuple[str, ...]]:
    """Return the concepts, and the words and beginnings of words that stand for each."""
    lines = (FOLDER / "lexicon.txt").read_text("utf-8").splitlines()
    return {name: tuple(dict.fromkeys(words.split())) for name, _, words in (line.partition(": ") for line in lines)}

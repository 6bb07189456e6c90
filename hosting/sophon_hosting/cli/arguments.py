"""The options of the program itself, which may stand before or behind the command."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

VALUED = ("--settings", "--set")
FLAGS = ("--debug",)


@dataclass(frozen=True, slots=True)
class GlobalOptions:
    """What was said before the command. `settings` stands for `appsettings.json`; `pairs` are `Section.Key=value`,
    a later one wins; `debug` shows logs and tracebacks.
    """

    settings: Path | None = None
    pairs: tuple[str, ...] = ()
    debug: bool = False

    @property
    def folder(self) -> Path:
        """The folder of the settings, from which relative paths in them count."""
        return self.settings.parent if self.settings else Path()


def hoisted(arguments: Sequence[str]) -> list[str]:
    """The same arguments with the program's own options in front, wherever they stood; what follows `--` stays."""
    front: list[str] = []
    rest: list[str] = []
    given = list(arguments)
    while given:
        word = given.pop(0)
        if word == "--":
            rest += [word, *given]
            break
        if word in VALUED:
            front += [word, *given[:1]]
            given = given[1:]
        elif word in FLAGS or word.startswith(tuple(f"{option}=" for option in VALUED)):
            front.append(word)
        else:
            rest.append(word)
    return front + rest

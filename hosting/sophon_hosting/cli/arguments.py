"""Global options of `sophon`, which may stand before or after the command."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

VALUED = ("--settings", "--set")
FLAGS = ("--debug",)


@dataclass(frozen=True, slots=True)
class GlobalOptions:
    """Values of the global options.

    `settings` is the file to read instead of `appsettings.json`; `pairs` are `Section.Key=value` overrides, the last
    one wins; `debug` shows logs and tracebacks.
    """

    settings: Path | None = None
    pairs: tuple[str, ...] = ()
    debug: bool = False

    @property
    def folder(self) -> Path:
        """Folder of the settings file; relative paths in the settings are resolved against it."""
        return self.settings.parent if self.settings else Path()


def hoisted(arguments: Sequence[str]) -> list[str]:
    """Return the arguments with the global options moved to the front; arguments after `--` stay where they are."""
    front: list[str] = []
    rest: list[str] = []
    pending = list(arguments)
    while pending:
        word = pending.pop(0)
        if word == "--":
            rest += [word, *pending]
            break
        if word in VALUED:
            front += [word, *pending[:1]]
            pending = pending[1:]
        elif word in FLAGS or word.startswith(tuple(f"{option}=" for option in VALUED)):
            front.append(word)
        else:
            rest.append(word)
    return front + rest

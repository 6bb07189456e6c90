"""Global options of `sophon`, which may stand before or after the command."""

from collections.abc import Sequence
from dataclasses import dataclass  # `--help` must not import `sophon`
from pathlib import Path

GLOBAL_OPTIONS_WITH_VALUE = ("--settings", "--set")
GLOBAL_FLAGS = ("--debug",)


@dataclass(frozen=True, slots=True)
class GlobalOptions:
    """Values of the global options.

    `settings_file` is the file to read instead of `appsettings.json`; `overrides` are `Section.Key=value`
    overrides, the last one wins; `debug` shows logs and tracebacks.
    """

    settings_file: Path | None = None
    overrides: tuple[str, ...] = ()
    debug: bool = False

    @property
    def settings_folder(self) -> Path:
        """Folder of the settings file; relative paths in the settings are resolved against it."""
        return self.settings_file.parent if self.settings_file else Path()


def to_text(arguments: Sequence[str]) -> list[str]:
    """Return the arguments with bytes that are not UTF-8 replaced.

    They arrive as lone surrogates, which neither a store nor a model accepts.
    """
    return [word.encode("utf-8", "surrogateescape").decode("utf-8", "replace") for word in arguments]


def hoist_global_options(arguments: Sequence[str]) -> list[str]:
    """Return the arguments with the global options moved to the front; arguments after `--` stay where they are."""
    front: list[str] = []
    rest: list[str] = []
    pending = list(arguments)
    while pending:
        word = pending.pop(0)
        if word == "--":
            rest += [word, *pending]
            break
        if word in GLOBAL_OPTIONS_WITH_VALUE:
            front += [word, *pending[:1]]
            pending = pending[1:]
        elif word in GLOBAL_FLAGS or word.startswith(tuple(f"{option}=" for option in GLOBAL_OPTIONS_WITH_VALUE)):
            front.append(word)
        else:
            rest.append(word)
    return front + rest

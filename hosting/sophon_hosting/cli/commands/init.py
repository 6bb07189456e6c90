"""`sophon init`: write an initial settings file, and on a terminal set up a model."""

import sys
from pathlib import Path
from typing import Annotated

import typer

from sophon.errors import InputError
from sophon.private_files import open_new_private_file
from sophon.settings.loader import SETTINGS_FILE_NAME
from sophon_hosting.cli.bootstrap import load_cli_settings
from sophon_hosting.cli.console.output import write_lines
from sophon_hosting.cli.global_options import GlobalOptions

INITIAL_SETTINGS = """\
{
  "Sophon": {
    "Providers": [],
    "Budget": { "Turn": { "Cost": 5.0 } },
    "Approval": { "AskFrom": "High", "Timeout": "00:05:00" },
    "Tools": { "Modules": [], "FilesRoot": "data/files" },
    "Store": { "Url": "sqlite:///data/sophon.db" }
  }
}
"""

NEXT_STEPS = (
    "Next:",
    "  sophon doctor            check this machine and the settings",
    "  sophon chat              start a chat",
    "  sophon config schema     show all settings",
)

app = typer.Typer(rich_markup_mode=None, add_completion=False)


@app.command()
def init(
    ctx: typer.Context, no_input: Annotated[bool, typer.Option("--no-input", help="Ask nothing.")] = False
) -> None:
    """Write an initial appsettings.json, and set up a model if somebody is at the terminal.

    An existing file is validated and not changed.
    """
    options: GlobalOptions = ctx.obj
    file = options.settings_file or Path(SETTINGS_FILE_NAME)
    written = _write_new(file)
    load_cli_settings(options)
    write_lines([f"{file} {'was written' if written else 'exists already and is valid; it was not changed'}."])
    if sys.stdin.isatty() and sys.stdout.isatty() and not no_input:
        from sophon_hosting.cli.provider_dialogue import ProviderDialogue  # lazy: it loads the providers

        ProviderDialogue(options).run()
    write_lines(NEXT_STEPS)


def _write_new(file: Path) -> bool:
    try:
        with open_new_private_file(file) as stream:
            stream.write(INITIAL_SETTINGS)
    except FileExistsError:
        return False
    except OSError as error:
        raise InputError(f"{file} cannot be written: {error.strerror}") from error
    return True

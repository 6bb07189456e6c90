"""`sophon init`: write an initial settings file and the workspace files, and on a terminal set up a model."""

import sys
from pathlib import Path
from typing import Annotated

import typer

from sophon._python.private_files import make_private_folder, open_new_private_file
from sophon.errors import InputError
from sophon.memory.workspace_templates import SHARED_FILES, WORKSPACE_TEMPLATES
from sophon.principals import LOCAL_USER, files_folder, hub_user_principal
from sophon.settings import Settings
from sophon.settings.loader import SETTINGS_FILE_NAME
from sophon_hosting.cli.bootstrap import load_cli_settings
from sophon_hosting.cli.console.output import write_lines
from sophon_hosting.cli.global_options import GlobalOptions
from sophon_hosting.settings.hub import HubSettings

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
    """Write an initial appsettings.json and the workspace files, and set up a model if somebody is at the terminal.

    An existing file is not changed, and the settings are validated. Where only the offline model would answer, a
    provider, a key and a model are asked for, tried and saved.
    """
    options: GlobalOptions = ctx.obj
    file = options.settings_file or Path(SETTINGS_FILE_NAME)
    written = _write_new(file)
    settings = load_cli_settings(options)
    write_lines([f"{file} {'was written' if written else 'exists already and is valid; it was not changed'}."])
    write_lines([f"{path} was written." for path in _write_workspace(settings, options.settings_folder)])
    if sys.stdin.isatty() and sys.stdout.isatty() and not no_input:
        from sophon_hosting.programs.provider_dialogue import ProviderDialogue  # lazy: it loads the providers

        ProviderDialogue(options).run()
    write_lines(NEXT_STEPS)


def _write_workspace(settings: Settings, folder: Path) -> list[Path]:
    """Write the workspace files that are not there, those of each user in the user's folder; return their paths."""
    if not settings.memory.enabled or settings.memory.directory is None:
        return []
    base = folder / settings.memory.directory.expanduser()
    owners = [hub_user_principal(user.id) for user in settings.section(HubSettings).users] or [LOCAL_USER]
    texts = {base / name: WORKSPACE_TEMPLATES[name] for name in SHARED_FILES}
    for owner in owners:
        texts |= {
            base / files_folder(owner) / name: text
            for name, text in WORKSPACE_TEMPLATES.items()
            if name not in SHARED_FILES
        }
    for parent in {path.parent: None for path in texts}:
        try:
            make_private_folder(parent.absolute())
        except OSError as error:
            raise InputError(f"the folder {parent} cannot be created: {error.strerror}") from error
    return [path for path, text in texts.items() if _write_new(path, text)]


def _write_new(file: Path, text: str = INITIAL_SETTINGS) -> bool:
    try:
        with open_new_private_file(file) as stream:
            stream.write(text)
    except FileExistsError:
        return False
    except OSError as error:
        raise InputError(f"{file} cannot be written: {error.strerror}") from error
    return True

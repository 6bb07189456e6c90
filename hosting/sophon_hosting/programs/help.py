"""`sophon help [COMMAND]...`: the same as `sophon COMMAND --help`."""

from typing import Annotated, Any

import typer

app = typer.Typer(rich_markup_mode=None, add_completion=False)


@app.command("help")
def show_help(
    ctx: typer.Context,
    command: Annotated[
        list[str] | None, typer.Argument(metavar="[COMMAND]...", help="For example: trace replay.")
    ] = None,
) -> None:
    """Show the help of a command, as `sophon COMMAND --help`, or the list of commands."""
    # typer does not export the types of its contexts and commands.
    found: Any = ctx.find_root()
    for word in command or ():
        group = found.command
        inner: Any = group.get_command(found, word) if hasattr(group, "get_command") else None
        if inner is None:
            found.fail(f"there is no command {word!r}")
        make_context: Any = type(ctx)
        found = make_context(inner, info_name=word, parent=found)
    typer.echo(found.get_help())

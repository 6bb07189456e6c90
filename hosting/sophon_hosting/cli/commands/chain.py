"""`sophon chain`: show the middlewares of a chain as a table."""

from typing import Annotated, Any

import typer

from sophon.chain.order_constraints import get_middleware_name, read_order_constraints
from sophon.chain.pipeline import Pipeline
from sophon.errors import NotFound
from sophon.services import Services
from sophon_hosting.chain_factory import build_chain, build_configured_chain
from sophon_hosting.cli.bootstrap import load_cli_settings
from sophon_hosting.cli.console.output import write_json, write_lines
from sophon_hosting.cli.global_options import GlobalOptions
from sophon_middlewares.guards.description import describe_guards, format_guards

app = typer.Typer(rich_markup_mode=None, add_completion=False)


@app.command()
def chain(
    ctx: typer.Context,
    name: Annotated[str | None, typer.Argument(metavar="NAME", help="The configured chain by default.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Write JSON.")] = False,
) -> None:
    """Show a chain as a table: order, zone, and what each middleware does on which call."""
    options: GlobalOptions = ctx.obj
    # Settings only: showing a chain needs no model, key or store.
    services = Services.for_inspection(load_cli_settings(options), folder=options.settings_folder)
    pipeline = build_configured_chain(services) if name is None else _build_named(services, name)
    if as_json:
        write_json([_row(middleware) for middleware in pipeline])
    else:
        write_lines(
            [*pipeline.explain().splitlines(), "", "Guards", *format_guards(describe_guards(pipeline, services))]
        )


def _build_named(services: Services, name: str) -> Pipeline:
    try:
        return build_chain(services, name)
    except NotFound as error:
        raise typer.BadParameter(str(error)) from None


def _row(middleware: Any) -> dict[str, Any]:
    place = read_order_constraints(middleware)
    return {"name": get_middleware_name(middleware), "zone": place.zone, "acts": dict(place.acts)}

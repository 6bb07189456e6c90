"""`sophon chain`: show the middlewares of a chain as a table."""

from collections.abc import Collection, Mapping
from typing import Annotated, Any

import typer

from sophon.chain.explanation import format_rows
from sophon.chain.order_constraints import get_middleware_name, read_order_constraints
from sophon.chain.pipeline import Pipeline
from sophon.errors import NotFound
from sophon.services import Services
from sophon_hosting.cli.bootstrap import load_cli_settings
from sophon_hosting.cli.common_options import JsonOption
from sophon_hosting.cli.console.output import write_json, write_lines
from sophon_hosting.cli.global_options import GlobalOptions
from sophon_hosting.features.registry import load_features
from sophon_hosting.host_chain import build_own_chain, complete_configured_chain
from sophon_middlewares.chains.additions import explain_addition
from sophon_middlewares.guards.guard_description import describe_guards, format_guards

app = typer.Typer(rich_markup_mode=None, add_completion=False)


@app.command()
def chain(
    ctx: typer.Context,
    name: Annotated[str | None, typer.Argument(metavar="NAME", help="The configured chain by default.")] = None,
    as_json: JsonOption = False,
) -> None:
    """Show a chain as a table: order, zone, and what each middleware does on which call; then what a host adds to
    it and why, and the guards: on, optional, or off if the settings switch one off.
    """
    options: GlobalOptions = ctx.obj
    chosen = () if name is None else (f"Chain.Name={name}", "Chain.Factory=null")
    # Settings only: showing a chain needs no model, key or store.
    services = Services.for_inspection(load_cli_settings(options, chosen), folder=options.settings_folder)
    try:
        own = build_own_chain(services)
    except NotFound as error:
        if name is None:
            raise
        raise typer.BadParameter(str(error)) from None
    complete = complete_configured_chain(own, services)
    pipeline = complete if name is None else own
    names = {get_middleware_name(each) for each in own}
    reasons = _find_reasons(complete, names, services)
    if as_json:
        write_json([_row(middleware, reasons) for middleware in pipeline])
        return
    guards = describe_guards(complete, services)
    added = _format_reasons({name: reasons[name] for name in reasons if name not in {each.name for each in guards}})
    write_lines([*pipeline.explain().splitlines(), *added, "", "Guards", *format_guards(guards)])


def _find_reasons(complete: Pipeline, own: Collection[str], services: Services) -> dict[str, str]:
    """Return why a host adds what is not the chain's own, by name, in the order of the chain."""
    by_features = {
        get_middleware_name(added): f"{feature.name}: added by this feature."
        for feature in load_features()
        if feature.middlewares is not None
        for added in feature.middlewares(services)
    }
    names = [name for each in complete if (name := get_middleware_name(each)) not in own]
    reasons = {name: explain_addition(name) or by_features.get(name, "") for name in names}
    return {name: reason for name, reason in reasons.items() if reason}


def _format_reasons(reasons: Mapping[str, str]) -> list[str]:
    return ["", "Added by a host", *format_rows(list(reasons.items()))] if reasons else []


def _row(middleware: Any, reasons: Mapping[str, str]) -> dict[str, Any]:
    place, name = read_order_constraints(middleware), get_middleware_name(middleware)
    return {"name": name, "zone": place.zone, "acts": dict(place.acts), "reason": reasons.get(name)}

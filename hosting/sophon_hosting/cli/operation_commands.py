"""Commands that are made of operations: list, show, create, change, delete, each with `--url` and `--json`.

Arguments and options are the fields of the request: those of the path and the named ones are arguments, `--limit` and
its like are options with the field's own limits and sentence.
"""

import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Annotated, Any, Literal, TypeAlias, get_args, get_origin

import typer

from sophon._python.value_rules import ValueRules
from sophon_hosting.cli.common_options import HostUrlOption, JsonOption
from sophon_hosting.cli.console.confirmation import YesOption, confirm
from sophon_hosting.cli.console.output import write_result, write_rows
from sophon_hosting.cli.remote.host_selection import open_client
from sophon_hosting.operations.client import Client
from sophon_hosting.operations.operation import Operation
from sophon_hosting.operations.request import Doc, read_fields

Row: TypeAlias = Mapping[str, Any]
"""JSON object of a result."""

Cell: TypeAlias = str | Callable[[Row], str]
"""Content of a column: the field of that name, or what a function makes of the row."""

EVERYTHING = "everything"
"""Field that an operator's command sets by itself."""


def list_command(
    app: typer.Typer,
    operation: Operation[Any, Any],
    columns: Mapping[str, Cell] | Callable[[Any], Iterable[str]],
    nothing: str,
    *,
    name: str = "list",
    items: str = "items",
    **options: Any,
) -> None:
    """Add a command that writes the items of an operation: as a table with `columns`, or as the lines of each item.

    `nothing` is the line of an empty list.
    """

    def run(client: Client, fields: dict[str, Any], *, as_json: bool) -> None:
        found: Sequence[Row] = client.call(operation, **fields)[items]
        if callable(columns):
            lines = [line for row in found for line in columns(row)]
            write_result(found, lines or [nothing], as_json=as_json)
            return
        rows = ([to_cell(row, cell) for cell in columns.values()] for row in found)
        write_rows(found, list(columns), rows, nothing, as_json=as_json)

    add_command(app, operation, run, name=name, **options)


def show_command(
    app: typer.Typer,
    operation: Operation[Any, Any],
    lines: Callable[[Any], Iterable[str]],
    *,
    name: str = "show",
    find_id: Callable[[Client, str], str] | None = None,
    **options: Any,
) -> None:
    """Add a command that writes the result of an operation as lines: one that shows, creates or changes something.

    `lines` get the fields of the request and of the result. `find_id` completes the id of the path, of which a person
    may give the first characters.
    """

    def run(client: Client, fields: dict[str, Any], *, as_json: bool) -> None:
        if find_id is not None:
            (field,) = operation.path_fields
            fields[field] = find_id(client, fields[field])
        row = client.call(operation, **fields)
        write_result(row, lines({**fields, **row}), as_json=as_json)

    add_command(app, operation, run, name=name, **options)


def delete_command(
    app: typer.Typer,
    operation: Operation[Any, Any],
    question: Callable[[Client, Row], str],
    lines: Callable[[Any], Iterable[str]],
    *,
    name: str = "delete",
    otherwise: str = "nothing was deleted",
    **options: Any,
) -> None:
    """Add a command that runs an operation after a confirmation, whose question is made of the fields of the request.

    `lines` get these and the fields of the result.
    """

    def run(client: Client, fields: dict[str, Any], *, as_json: bool, yes: bool) -> None:
        confirm(question(client, fields), yes=yes, otherwise=otherwise)
        row = client.call(operation, **fields)
        write_result(row, lines({**fields, **row}), as_json=as_json)

    add_command(app, operation, run, name=name, extra={"yes": (YesOption, False)}, **options)


def add_command(
    app: typer.Typer,
    operation: Operation[Any, Any],
    run: Callable[..., None],
    *,
    name: str,
    arguments: Sequence[str] = (),
    options: Mapping[str, Any] | None = None,
    defaults: Mapping[str, Any] | None = None,
    fixed: Mapping[str, Any] | None = None,
    extra: Mapping[str, tuple[Any, Any]] | None = None,
    summary: str | None = None,
) -> None:
    """Add a command whose parameters are the fields of an operation's request.

    `run` gets a client of the host, the fields, `as_json` and the `extra` parameters, which are (annotation, default)
    by name. `arguments` are fields that are given without a name, beside those of the path; `options` replaces the
    annotation of fields, None leaves one out; `defaults` are those of the command, whose help is the `summary`.
    `fixed` are fields that the command sets: it then has its arguments and the named `options` only.
    """
    own, hints = dict(extra or {}), read_fields(operation.request)
    positional = (*operation.path_fields, *arguments)
    offered = hints if fixed is None else (*positional, *(options or {}))
    omitted = (EVERYTHING, *_omitted(options))
    named = {field: hint for field, hint in hints.items() if field in offered and field not in omitted}
    has_everything = EVERYTHING in hints

    def command(ctx: typer.Context, url: str | None, as_json: bool, **given: Any) -> None:
        client = open_client(ctx.obj, url)
        others = {each: given.pop(each) for each in own}
        fields = {field: value for field, value in given.items() if value is not None} | dict(fixed or {})
        if has_everything and client.is_operator:
            fields[EVERYTHING] = True
        run(client, fields, as_json=as_json, **others)

    parameters = [_parameter("ctx", typer.Context)]
    for field in sorted(named, key=lambda each: each not in positional):
        default = (defaults or {}).get(field, getattr(operation.request, field, inspect.Parameter.empty))
        annotation = (options or {}).get(field) or _annotation(field, named[field], is_argument=field in positional)
        parameters.append(_parameter(field, annotation, default))
    parameters += [_parameter(each, annotation, default) for each, (annotation, default) in own.items()]
    parameters += [_parameter("url", HostUrlOption, None), _parameter("as_json", JsonOption, False)]
    parameters.sort(key=lambda each: each.default is not inspect.Parameter.empty)
    vars(command)["__signature__"] = inspect.Signature(parameters)
    command.__doc__ = summary or operation.summary
    app.command(name)(command)


def to_cell(row: Row, cell: Cell) -> str:
    """Return the text of a column for a row; nothing for null."""
    value = cell(row) if callable(cell) else row[cell]
    return "" if value is None else str(value)


def sentence_formatter(sentence: str) -> Callable[[Row], list[str]]:
    """Return a function that fills a sentence with the fields of a result."""
    return lambda row: [sentence.format_map(row)]


def _omitted(options: Mapping[str, Any] | None) -> list[str]:
    return [field for field, annotation in (options or {}).items() if annotation is None]


def _parameter(name: str, annotation: Any, default: Any = inspect.Parameter.empty) -> inspect.Parameter:
    return inspect.Parameter(name, inspect.Parameter.POSITIONAL_OR_KEYWORD, annotation=annotation, default=default)


def _annotation(field: str, hint: Any, *, is_argument: bool) -> Any:
    """Return the annotation of a parameter: its type, and an argument or option with limits and help."""
    plain, metadata = _flatten(hint)
    limits: dict[str, Any] = {
        bound: rules.limits[key]
        for rules in metadata
        if isinstance(rules, ValueRules)
        for bound, key in (("min", "ge"), ("max", "le"))
        if key in rules.limits
    }
    help_text = next((each.documentation for each in metadata if isinstance(each, Doc)), None)
    metavar = field.removesuffix("_id").upper()
    if is_argument:
        return Annotated[plain, typer.Argument(metavar=metavar, help=help_text)]
    name = f"--{field.removesuffix('_id').replace('_', '-')}"
    if plain is bool:
        return Annotated[plain, typer.Option(name, help=help_text)]
    if Literal in (get_origin(plain), *map(get_origin, get_args(plain))):
        return Annotated[plain, typer.Option(name, help=help_text)]  # the help names the choices
    return Annotated[plain, typer.Option(name, metavar=metavar, help=help_text, **limits)]


def _flatten(hint: Any) -> tuple[Any, list[Any]]:
    """Return the plain type that a terminal can give, and everything that annotates it."""
    if get_origin(hint) is Annotated:
        plain, *metadata = get_args(hint)
        inner, more = _flatten(plain)
        return inner, [*metadata, *more]
    parts = [each for each in get_args(hint) if each is not type(None)]
    if type(None) in get_args(hint):
        inner, metadata = _flatten(parts[0])
        return inner | None, metadata
    return hint, []

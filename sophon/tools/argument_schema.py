"""Argument schema of a tool: JSON Schema and validation, derived from a typed function."""

import inspect
from collections.abc import Callable, Mapping
from typing import Any

from sophon._python.lazy_pattern import lazy_pattern
from sophon.errors import CompositionError, InvalidArguments

CONTEXT_PARAMETER = "ctx"

_ARGS_SECTION = lazy_pattern(r"^(?:Args|Arguments|Parameters):\s*$")
_ARG_LINE = lazy_pattern(r"^\s+\*{0,2}(\w+)\s*(?:\([^)]*\))?:\s*(.*)$")

Check = Callable[[Mapping[str, Any]], dict[str, Any]]
"""Returns the validated keyword arguments; raises pydantic's ValidationError or InvalidArguments."""

SchemaBuilder = Callable[[], tuple[Mapping[str, Any], Check]]
"""Returns the JSON Schema and the validation of arguments."""


class ArgumentSchema:
    """JSON Schema that is sent to the model, and validation of the arguments that the model returns.

    Both are built by `build`, once, when one of them is first needed: building loads pydantic. `names` are those of the
    parameters that a model fills; `wants_context` says whether the function has a parameter `ctx` besides.
    """

    __slots__ = ("_build", "_built", "names", "wants_context")

    def __init__(self, build: SchemaBuilder, *, names: frozenset[str], wants_context: bool = False) -> None:
        self._build = build
        self._built: tuple[Mapping[str, Any], Check] | None = None
        self.names = names
        self.wants_context = wants_context

    @property
    def json_schema(self) -> Mapping[str, Any]:
        """JSON Schema of the arguments. Raises CompositionError if `build` does."""
        return self.build()[0]

    def build(self) -> tuple[Mapping[str, Any], Check]:
        """Return the JSON Schema and the validation. Raises CompositionError if there is none."""
        built = self._built
        if built is None:
            built = self._built = self._build()
        return built

    def validate(self, tool: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """Return the function's keyword arguments; raises InvalidArguments with one line per error."""
        check = (self._built or self.build())[1]
        try:
            return check(arguments)
        except ValueError as error:
            from pydantic import ValidationError  # lazy: whoever gets here has loaded it

            if not isinstance(error, ValidationError):
                raise
            raise InvalidArguments(tool, [_format_error(fault) for fault in error.errors(include_url=False)]) from None


def schema_from_function(
    function: Callable[..., Any], tool: str, *, deferred: bool = False
) -> tuple[ArgumentSchema, str]:
    """Return (schema, description without the `Args:` section) from a function's parameters and docstring.

    Raises CompositionError for a parameter that a model cannot fill: positional-only, `*args`, no annotation, a type
    or a default that JSON cannot represent. If `deferred`, annotations are read when the schema is first needed.
    """
    text, help_by_name = parse_docstring(inspect.getdoc(function) or "")
    parameters = list[inspect.Parameter]()
    wants_context = False
    for name, parameter in inspect.signature(function).parameters.items():
        if parameter.kind not in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY):
            raise CompositionError(f"tool {tool!r}: parameter {name!r} cannot be passed by keyword")
        if name == CONTEXT_PARAMETER:
            wants_context = True
        else:
            parameters.append(parameter)

    def build() -> tuple[Mapping[str, Any], Check]:
        from sophon.tools.argument_validation import build_validation  # lazy: it needs pydantic

        return build_validation(function, tool, parameters, help_by_name)

    schema = ArgumentSchema(build, names=frozenset(each.name for each in parameters), wants_context=wants_context)
    if not deferred:
        schema.build()
    return schema, text


def parse_docstring(docstring: str) -> tuple[str, dict[str, str]]:
    """Split a docstring into the text without its `Args:` section, and the section as name -> description."""
    kept: list[str] = []
    about: dict[str, str] = {}
    inside, name = False, ""
    for line in docstring.splitlines():
        if _ARGS_SECTION.match(line):
            inside = True
        elif inside and line and not line[0].isspace():
            inside = False
            kept.append(line)
        elif not inside:
            kept.append(line)
        elif match := _ARG_LINE.match(line):
            name, about[match[1]] = match[1], match[2]
        elif name and line.strip():
            about[name] = f"{about[name]} {line.strip()}".strip()
    return "\n".join(kept).strip(), about


def _format_error(fault: Mapping[str, Any]) -> str:
    where = ".".join(str(part) for part in fault["loc"]) or "arguments"
    return f"{where}: {fault['msg'][0].lower()}{fault['msg'][1:]}"

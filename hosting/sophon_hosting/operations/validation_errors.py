"""Errors of validation in plain sentences: one per field, whichever way the request came."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from pydantic_core import ErrorDetails

MAX_REPORTED_PROBLEMS: Final = 10
"""Maximum number of problems in one error message."""

MAX_FIELD_NAME_CHARACTERS: Final = 60
"""Characters of each field name that an error message repeats."""

_SENTENCES: Final[Mapping[str, str]] = {
    "missing": "it is missing",
    "extra_forbidden": "there is no such field",
    "string_type": "it must be a text",
    "int_type": "it must be a whole number",
    "int_parsing": "it must be a whole number",
    "int_parsing_size": "the number has too many digits",
    "int_from_float": "it must be a whole number",
    "bool_type": "it must be true or false",
    "bool_parsing": "it must be true or false",
    "float_type": "it must be a number",
    "float_parsing": "it must be a number",
    "list_type": "it must be a list",
    "tuple_type": "it must be a list",
    "dict_type": "it must be an object",
    "model_type": "it must be an object",
    "model_attributes_type": "it must be an object",
    "literal_error": "it must be {expected}",
    "greater_than": "it must be more than {gt}",
    "greater_than_equal": "it must be at least {ge}",
    "less_than": "it must be less than {lt}",
    "less_than_equal": "it must be at most {le}",
    "string_too_short": "it must have at least {min_length} characters",
    "string_too_long": "it must have at most {max_length} characters",
    "too_short": "it must have at least {min_length} items",
    "too_long": "it must have at most {max_length} items",
    "string_unicode": "it must be a valid Unicode text",
    "string_pattern_mismatch": "it has not the expected form",
}
"""Sentence by type of pydantic's error; its context fills the braces."""


def describe_problems(errors: "list[ErrorDetails]") -> str:
    """Return the problems of a validation in one sentence, each with the path of its field."""
    problems = [_describe_problem(error) for error in errors[:MAX_REPORTED_PROBLEMS]]
    if len(errors) > MAX_REPORTED_PROBLEMS:
        problems.append(f"and {len(errors) - MAX_REPORTED_PROBLEMS} more")
    return "; ".join(problems)


def _describe_problem(error: "ErrorDetails") -> str:
    if not error["loc"]:
        return _describe_error(error)
    path = ".".join(str(part)[:MAX_FIELD_NAME_CHARACTERS] for part in error["loc"])
    return f"{path}: {_describe_error(error)}"


def _describe_error(error: "ErrorDetails") -> str:
    """Return the sentence for an error, without the value that was sent."""
    context = error.get("ctx", {})
    known = _SENTENCES.get(error["type"])
    if known is not None:
        return known.format_map(context)
    if error["type"] == "value_error":  # of a validator of ours
        return str(context.get("error") or error["msg"].removeprefix("Value error, "))
    # A sentence of ours, such as that of a PydanticCustomError; pydantic's own ones name its types.
    return "it is not valid" if error["msg"].startswith("Input should") else error["msg"]

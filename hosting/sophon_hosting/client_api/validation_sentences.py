"""Sentences for what a client sent and is not valid: one plain sentence per field, over HTTP and Socket.IO."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from pydantic_core import ErrorDetails

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


def describe_error(error: "ErrorDetails") -> str:
    """Return the sentence for an error, without the value that was sent."""
    context = error.get("ctx", {})
    known = _SENTENCES.get(error["type"])
    if known is not None:
        return known.format_map(context)
    if error["type"] == "value_error":  # of a validator of ours
        return str(context.get("error") or error["msg"].removeprefix("Value error, "))
    # A sentence of ours, such as that of a PydanticCustomError; pydantic's own ones name its types.
    return "it is not valid" if error["msg"].startswith("Input should") else error["msg"]

"""Errors of an Ollama server, with what the user can do about them. Source: Ollama API documentation, Errors."""

import re
from collections.abc import Mapping

from sophon.models.providers.provider_http_error import ProviderHttpError, http_error_from_response

_NO_TOOLS = re.compile(r"does not support tools", re.IGNORECASE)
_NO_MODEL = re.compile(r"\bmodel\b.*not found", re.IGNORECASE)


def error_from_response(
    status: int, headers: Mapping[str, str], body: bytes, *, model: str, shown_url: str
) -> ProviderHttpError:
    """Return the error of an HTTP error response to a request for a model."""
    error = http_error_from_response(status, headers, body)
    if status == 404 and _NO_MODEL.search(str(error)):
        return ProviderHttpError(
            status, f"{shown_url} has no model {model!r}: run `ollama pull {model}`, or name another one in Models"
        )
    if status == 400 and _NO_TOOLS.search(str(error)):
        return ProviderHttpError(
            status, f"the model {model!r} has no native tool calls: set FunctionCalling of its provider to false"
        )
    return error

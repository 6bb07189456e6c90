"""HTTP error response of a provider: status, Retry-After and the error message."""

from collections.abc import Mapping
from typing import cast

import orjson

from sophon.models.gateway.error_classification import cut_error_text
from sophon.models.gateway.retry_after import read_retry_after
from sophon.models.providers.third_party_json import as_count, as_mapping
from sophon.security import RedactedError


class ProviderHttpError(RedactedError):
    """Error response of a provider; raised by an adapter and classified by the gateway.

    `retry_after` is in seconds, or the header's text: an HTTP date, which needs a clock to be converted.
    """

    def __init__(self, status: int | None, text: str, retry_after: float | str | None = None) -> None:
        self.status_code, self.retry_after = status, retry_after
        super().__init__(f"HTTP {status}: {text}" if status is not None else text)


def http_error_from_response(status: int, headers: Mapping[str, str], body: bytes) -> ProviderHttpError:
    """Build the error of a response. `headers` must have lower-case names or be case-insensitive."""
    return ProviderHttpError(status, _message_from_body(body), read_retry_after(headers))


def http_error_from_payload(error: object) -> ProviderHttpError:
    """Build the error from the field `error` of a 200 response, as some providers send it during a stream."""
    code = as_count(as_mapping(error).get("code"))
    return ProviderHttpError(code if code is not None and 400 <= code <= 599 else 502, _message_from_error(error))


def _message_from_body(body: bytes) -> str:
    try:
        payload = cast(object, orjson.loads(body))
    except orjson.JSONDecodeError:
        return cut_error_text(body.decode("utf-8", "replace").strip()) or "no error message"
    if isinstance(payload, list):  # as sent by Gemini
        payload = next(iter(cast(list[object], payload)), None)
    return _message_from_error(as_mapping(payload).get("error") or payload)


def _message_from_error(error: object) -> str:
    """Return the message followed by code and type, e.g. `insufficient_quota` or `context_length_exceeded`."""
    fields = as_mapping(error)
    parts = [str(fields[name]) for name in ("message", "detail", "code", "type") if fields.get(name)]
    if not parts:
        text = error if isinstance(error, str) else orjson.dumps(error, default=str).decode()
        return cut_error_text(text)
    return cut_error_text(f"{parts[0]} ({', '.join(parts[1:])})" if len(parts) > 1 else parts[0])

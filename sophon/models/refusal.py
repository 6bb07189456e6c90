"""An answer over HTTP that is a refusal: the status, when to come back, and what the provider says."""

from collections.abc import Mapping
from typing import Any, cast

import orjson

from sophon.models.classification import TEXT_LIMIT


class Refusal(Exception):
    """Raised by an adapter and classified by the gateway.

    `retry_after` is in seconds, or the text of the header: an HTTP date, which only a clock can read.
    """

    def __init__(self, status: int | None, text: str, retry_after: float | str | None = None) -> None:
        self.status_code, self.retry_after = status, retry_after
        super().__init__(f"HTTP {status}: {text}" if status is not None else text)


def refusal_of(status: int, headers: Mapping[str, str], body: bytes) -> Refusal:
    """The refusal in an answer. `headers` has lower-case names, or does not mind the case."""
    return Refusal(status, _said(body), retry_after(headers))


def retry_after(headers: Mapping[str, str]) -> float | str | None:
    """When to come back, from headers in lower case: OpenAI's finer `retry-after-ms`, else the standard's."""
    milliseconds = _number(headers.get("retry-after-ms"))
    return milliseconds / 1000 if milliseconds is not None else headers.get("retry-after")


def told_in(error: object) -> Refusal:
    """The refusal in the field `error` of an answer that began well, as some providers send it in mid-stream."""
    code = _number(_fields(error).get("code"))
    return Refusal(code if code is not None and 400 <= code <= 599 else 502, _sentence(error))


def _said(body: bytes) -> str:
    try:
        answer = cast(object, orjson.loads(body))
    except orjson.JSONDecodeError:
        return body[:TEXT_LIMIT].decode("utf-8", "replace").strip() or "no explanation"
    if isinstance(answer, list):  # so Gemini
        answer = next(iter(cast(list[object], answer)), None)
    return _sentence(_fields(answer).get("error") or answer)


def _sentence(error: object) -> str:
    """The message, with code and type behind it: `insufficient_quota` or `context_length_exceeded` may stand there."""
    fields = _fields(error)
    said = [str(fields[name]) for name in ("message", "detail", "code", "type") if fields.get(name)]
    if not said:
        text = error if isinstance(error, str) else orjson.dumps(error, default=str).decode()
        return text[:TEXT_LIMIT]
    return f"{said[0]} ({', '.join(said[1:])})" if len(said) > 1 else said[0]


def _fields(value: object) -> Mapping[str, Any]:
    return cast(Mapping[str, Any], value) if isinstance(value, Mapping) else {}


def _number(value: object) -> int | None:
    text = str(value)
    return int(text) if text.isdecimal() else None

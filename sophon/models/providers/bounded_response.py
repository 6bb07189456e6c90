"""Bounded reading of a provider's HTTP response: decoded bytes are counted as they arrive, whoever reads them."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, cast

from sophon.errors import ResponseTooLarge
from sophon.models.providers.content_decoding import ContentDecoder

if TYPE_CHECKING:
    import httpx

SUBJECT = "the response of the provider"

MAX_ERROR_BYTES = 64 * 1024
"""Decoded bytes of an error response that are read; the rest is cut off."""

_JSON_EXPANSION = 2
"""JSON writes a character of two bytes as six at worst, and of ASCII text little more than itself."""
_ENVELOPE_BYTES = 256 * 1024
"""Room for what surrounds a reply in its body: ids, usage, log probabilities."""
_STREAM_TYPES = ("text/event-stream", "application/x-ndjson")
_STREAM_EXPANSION = 64
"""A delta of a stream repeats ids and names: three hundred bytes for a token of five."""


def max_body_bytes(max_reply_bytes: int) -> int:
    """Return the decoded bytes that a whole body, or one line of a stream, may have."""
    return _JSON_EXPANSION * max_reply_bytes + _ENVELOPE_BYTES


def max_stream_bytes(max_reply_bytes: int) -> int:
    """Return the decoded bytes that a stream may have in total, comments included."""
    return _STREAM_EXPANSION * max_reply_bytes + _ENVELOPE_BYTES


def find_body_limit(status: int, headers: Mapping[str, str], max_reply_bytes: int) -> int:
    """Return the decoded bytes that the body of a response may have; `headers` must be case-insensitive.

    Raises ResponseTooLarge if Content-Length announces more; not for an error response, which is cut off.
    """
    if status >= 400:
        return MAX_ERROR_BYTES
    is_stream = headers.get("content-type", "").startswith(_STREAM_TYPES)
    most = max_stream_bytes(max_reply_bytes) if is_stream else max_body_bytes(max_reply_bytes)
    length = headers.get("content-length", "")
    if length.isdecimal() and (len(length) > 18 or int(length) > most):
        raise ResponseTooLarge(SUBJECT, most)
    return most


def bound_response(response: "httpx.Response", max_reply_bytes: int) -> None:
    """Replace the stream of an unread response of httpx by one that is decoded in steps and counted.

    Reading raises ResponseTooLarge beyond the limit, and at once if Content-Length announces more; an error response
    (a status from 400) is cut off instead, so that its status is reported. Raises ProviderUnavailable for an encoding
    that was not requested.
    """
    from sophon.models.providers.bounded_stream import BoundedStream  # lazy: imports httpx, which takes 0.1 s

    headers = response.headers
    decoder = ContentDecoder(headers.get("content-encoding", ""))
    most = find_body_limit(response.status_code, headers, max_reply_bytes)
    # httpx has its own decoder, which inflates a whole chunk at once.
    headers.pop("content-encoding", None)
    headers.pop("content-length", None)
    stream = cast("httpx.AsyncByteStream", response.stream)  # of an asynchronous client
    response.stream = BoundedStream(stream, decoder, most, is_cut=response.status_code >= 400)

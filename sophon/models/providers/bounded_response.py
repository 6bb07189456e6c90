"""Bounded reading of a provider's HTTP response: decoded bytes are counted as they arrive, whoever reads them."""

from typing import TYPE_CHECKING, cast

from sophon.errors import ResponseTooLarge
from sophon.models.providers.content_decoding import ContentDecoder

if TYPE_CHECKING:
    import httpx

MAX_ERROR_BYTES = 64 * 1024
"""Decoded bytes of an error response that are read; the rest is cut off."""

_JSON_EXPANSION = 2
"""JSON writes a character of two bytes as six at worst, and of ASCII text little more than itself."""
_ENVELOPE_BYTES = 256 * 1024
"""Room for what surrounds a reply in its body: ids, usage, log probabilities."""
_STREAM_EXPANSION = 64
"""A delta of a stream repeats ids and names: three hundred bytes for a token of five."""


def max_body_bytes(max_reply_bytes: int) -> int:
    """Return the decoded bytes that a whole body, or one line of a stream, may have."""
    return _JSON_EXPANSION * max_reply_bytes + _ENVELOPE_BYTES


def max_stream_bytes(max_reply_bytes: int) -> int:
    """Return the decoded bytes that a stream may have in total, comments included."""
    return _STREAM_EXPANSION * max_reply_bytes + _ENVELOPE_BYTES


def bound_response(response: "httpx.Response", max_reply_bytes: int) -> None:
    """Replace the stream of an unread response by one that is decoded in steps and counted.

    Reading raises ResponseTooLarge beyond the limit, and at once if Content-Length announces more; an error response
    (a status from 400) is cut off instead, so that its status is reported. Raises ProviderUnavailable for an encoding
    that was not requested.
    """
    from sophon.models.providers.bounded_stream import BoundedStream  # lazy: imports httpx, which takes 0.1 s

    headers = response.headers
    decoder = ContentDecoder(headers.get("content-encoding", ""))
    is_error = response.status_code >= 400
    if is_error:
        most = MAX_ERROR_BYTES
    elif headers.get("content-type", "").startswith("text/event-stream"):
        most = max_stream_bytes(max_reply_bytes)
    else:
        most = max_body_bytes(max_reply_bytes)
    length = headers.get("content-length", "")
    if not is_error and length.isdecimal() and (len(length) > 18 or int(length) > most):
        raise ResponseTooLarge("the response of the provider", most)
    # httpx has its own decoder, which inflates a whole chunk at once.
    headers.pop("content-encoding", None)
    headers.pop("content-length", None)
    stream = cast("httpx.AsyncByteStream", response.stream)  # of an asynchronous client
    response.stream = BoundedStream(stream, decoder, most, is_cut=is_error)

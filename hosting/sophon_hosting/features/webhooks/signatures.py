"""Signatures of webhooks: HMAC-SHA256 over the body, in the forms of several senders. Pure.

| scheme | header | signed text |
|---|---|---|
| `Sophon` | `X-Sophon-Signature: sha256=HEX` | the body |
| `GitHub` | `X-Hub-Signature-256: sha256=HEX` | the body |
| `Stripe` | `Stripe-Signature: t=SECONDS,v1=HEX` | `SECONDS.BODY` |
| `Slack` | `X-Slack-Signature: v0=HEX`, `X-Slack-Request-Timestamp` | `v0:SECONDS:BODY` |
| `Standard` | `webhook-signature: v1,BASE64`, `webhook-id`, `webhook-timestamp` | `ID.SECONDS.BODY` |

Sources: the senders' documentation, and the specification of Standard Webhooks.
"""

import base64
import binascii
import hashlib
import hmac
from collections.abc import Iterator, Mapping
from datetime import datetime

from sophon_hosting.features.webhooks.settings import SignatureScheme

TOLERANCE_SECONDS = 300
"""Age, in either direction, from which a signed time is refused: an old request is repeated by somebody else."""

STANDARD_PREFIX = "whsec_"
"""Beginning of a Standard Webhooks secret whose rest is Base64."""

_SINGLE_HEADERS: Mapping[SignatureScheme, str] = {"Sophon": "X-Sophon-Signature", "GitHub": "X-Hub-Signature-256"}


def is_signed(scheme: SignatureScheme, headers: Mapping[str, str], body: bytes, secret: str, now: datetime) -> bool:
    """Return whether the headers sign exactly this body, and a signed time is recent. Compares in constant time."""
    timestamp = _find_timestamp(scheme, headers)
    if timestamp is None or (timestamp and not _is_recent(timestamp, now)):
        return False
    expected = _expected(scheme, headers, timestamp, body, secret)
    # All are compared: a sender that changes its secret signs with the old and the new one.
    results = [hmac.compare_digest(_to_bytes(each), expected.encode()) for each in _given(scheme, headers)]
    return any(results)


def sign_event(event_id: str, body: bytes, secret: str, now: datetime) -> dict[str, str]:
    """Return the headers of an outgoing request: those of Standard Webhooks, and `X-Sophon-Signature`."""
    timestamp = str(int(now.timestamp()))
    return {
        "webhook-id": event_id,
        "webhook-timestamp": timestamp,
        "webhook-signature": _sign_standard(event_id, timestamp, body, secret),
        "X-Sophon-Signature": f"sha256={_hex(secret, body)}",
    }


def find_delivery_id(scheme: SignatureScheme, headers: Mapping[str, str], body: bytes) -> str:
    """Return the id under which a repeated request is recognised: the sender's if it is signed, else one of the body.

    An id that is not signed (`X-GitHub-Delivery`) does not count: who repeats a request of others would change it.
    """
    given = headers.get("webhook-id", "") if scheme == "Standard" else ""
    return given[:200] or f"{_find_timestamp(scheme, headers) or ''}:{hashlib.sha256(body).hexdigest()}"


def _to_bytes(header: str) -> bytes:
    """Return the bytes of a header, whatever they are: aiohttp decodes those that are no UTF-8 as lone surrogates."""
    return header.encode("utf-8", "surrogatepass")


def _find_timestamp(scheme: SignatureScheme, headers: Mapping[str, str]) -> str | None:
    """Return the signed time; "" for a scheme without one, None if it is missing."""
    if scheme == "Stripe":
        return next((value for name, value in _stripe_parts(headers) if name == "t"), None)
    if scheme == "Slack":
        return headers.get("X-Slack-Request-Timestamp")
    if scheme == "Standard":
        return headers.get("webhook-timestamp")
    return ""


def _is_recent(timestamp: str, now: datetime) -> bool:
    is_number = timestamp.isascii() and timestamp.isdigit() and len(timestamp) < 12
    return is_number and abs(now.timestamp() - int(timestamp)) <= TOLERANCE_SECONDS


def _given(scheme: SignatureScheme, headers: Mapping[str, str]) -> list[str]:
    """Return the signatures that the request states."""
    if scheme == "Stripe":
        return [value for name, value in _stripe_parts(headers) if name == "v1"]
    if scheme == "Standard":
        return headers.get("webhook-signature", "").split()
    return [headers.get(_SINGLE_HEADERS.get(scheme, "X-Slack-Signature"), "")]


def _expected(scheme: SignatureScheme, headers: Mapping[str, str], timestamp: str, body: bytes, secret: str) -> str:
    if scheme == "Stripe":
        return _hex(secret, timestamp.encode() + b"." + body)
    if scheme == "Slack":
        return f"v0={_hex(secret, b'v0:' + timestamp.encode() + b':' + body)}"
    if scheme == "Standard":
        return _sign_standard(headers.get("webhook-id", ""), timestamp, body, secret)
    return f"sha256={_hex(secret, body)}"


def _stripe_parts(headers: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    for part in headers.get("Stripe-Signature", "").split(","):
        name, _, value = part.strip().partition("=")
        yield name, value


def _sign_standard(event_id: str, timestamp: str, body: bytes, secret: str) -> str:
    signed = event_id.encode("utf-8", "surrogateescape") + b"." + timestamp.encode() + b"." + body
    digest = hmac.new(_standard_key(secret), signed, hashlib.sha256).digest()
    return "v1," + base64.b64encode(digest).decode()


def _standard_key(secret: str) -> bytes:
    if secret.startswith(STANDARD_PREFIX):
        try:
            return base64.b64decode(secret.removeprefix(STANDARD_PREFIX), validate=True)
        except binascii.Error:
            pass  # a secret of somebody's own that only begins like one
    return secret.encode()


def _hex(secret: str, signed: bytes) -> str:
    return hmac.new(secret.encode(), signed, hashlib.sha256).hexdigest()

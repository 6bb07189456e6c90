"""Signature of Meta's webhooks: HMAC-SHA256 over the raw request body."""

import hashlib
import hmac

HEADER = "X-Hub-Signature-256"
PREFIX = "sha256="


def is_signed(body: bytes, header: str, secret: str) -> bool:
    """Return whether the header is the signature of exactly this body. Never raises; compares in constant time."""
    expected = PREFIX + hmac.new(secret.encode(), body, hashlib.sha256).hexdigest()
    return hmac.compare_digest(header.encode("utf-8", "surrogatepass"), expected.encode())


def signature_of(body: bytes, secret: str) -> str:
    """Return the signature header for a body."""
    return PREFIX + hmac.new(secret.encode(), body, hashlib.sha256).hexdigest()

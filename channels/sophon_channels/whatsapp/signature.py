"""Signature of Meta's webhooks: HMAC-SHA256 over the raw request body."""

import hashlib
import hmac
import re

SIGNATURE_HEADER = "X-Hub-Signature-256"
SIGNATURE_PREFIX = "sha256="


_SIGNATURE = re.compile(r"sha256=[0-9a-f]{64}")


def is_well_formed_signature(header: str) -> bool:
    """Return whether the header could be the signature of some body."""
    return _SIGNATURE.fullmatch(header) is not None


def is_valid_signature(body: bytes, header: str, secret: str) -> bool:
    """Return whether the header is the signature of exactly this body. Never raises; compares in constant time."""
    expected = SIGNATURE_PREFIX + hmac.new(secret.encode(), body, hashlib.sha256).hexdigest()
    return hmac.compare_digest(header.encode("utf-8", "surrogatepass"), expected.encode())


def sign_body(body: bytes, secret: str) -> str:
    """Return the signature header for a body."""
    return SIGNATURE_PREFIX + hmac.new(secret.encode(), body, hashlib.sha256).hexdigest()

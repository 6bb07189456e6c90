"""What Meta signs a webhook with: HMAC-SHA256 over the bytes as they came."""

import hashlib
import hmac

HEADER = "X-Hub-Signature-256"
PREFIX = "sha256="


def is_signed(body: bytes, header: str, secret: str) -> bool:
    """Whether the header is the signature of exactly this body. Never raises; compares in constant time."""
    expected = PREFIX + hmac.new(secret.encode(), body, hashlib.sha256).hexdigest()
    return hmac.compare_digest(header.encode("utf-8", "surrogatepass"), expected.encode())


def signature_of(body: bytes, secret: str) -> str:
    """The header for a body."""
    return PREFIX + hmac.new(secret.encode(), body, hashlib.sha256).hexdigest()

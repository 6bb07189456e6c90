"""API tokens: random texts that are stored as digests only."""

import hashlib
import secrets
from typing import Final

API_TOKEN_PREFIX: Final = "sophon_"  # noqa: S105 - the beginning that all tokens share
"""Beginning of every token, by which people and secret scanners recognise one."""

TOKEN_BYTES: Final = 32
"""Random bytes of a token. 256 bits cannot be guessed, so a fast digest protects them as well as a slow one."""

ID_BYTES: Final = 5


def generate_api_token() -> str:
    """Return a new random token."""
    return f"{API_TOKEN_PREFIX}{secrets.token_urlsafe(TOKEN_BYTES)}"


def generate_token_id() -> str:
    """Return a new id by which people name a token; it is no secret."""
    return secrets.token_hex(ID_BYTES)


def digest_api_token(token: str) -> str:
    """Return the digest under which a token is stored: SHA-256, in hexadecimal."""
    return hashlib.sha256(token.encode("utf-8", "surrogatepass")).hexdigest()

"""Short codes that people type: pairing codes and approval codes."""

import secrets

ALPHABET = "23456789ABCDEFGHJKLMNPQRSTUVWXYZ"
"""32 characters that are not mistaken for each other: no 0, 1, I, O."""

LENGTH = 8
"""In characters: 8 of 5 bits each, 40 bits."""


def new_code() -> str:
    """Return a random 8-character code (40 bits, from `secrets`)."""
    return "".join(secrets.choice(ALPHABET) for _ in range(LENGTH))


def as_code(written: str) -> str:
    """Return a typed code in its canonical form: upper case, without spaces and dashes."""
    return "".join(char for char in written.upper() if char.isalnum())

"""Short codes that people type: pairing codes and approval codes."""

import secrets

CODE_ALPHABET = "23456789ABCDEFGHJKLMNPQRSTUVWXYZ"
"""32 characters that are not mistaken for each other: no 0, 1, I, O."""

CODE_LENGTH = 8
"""In characters: 8 of 5 bits each, 40 bits."""


def generate_code() -> str:
    """Return a random 8-character code (40 bits, from `secrets`)."""
    return "".join(secrets.choice(CODE_ALPHABET) for _ in range(CODE_LENGTH))


def normalize_code(text: str) -> str:
    """Return a typed code in its canonical form: upper case, without spaces and dashes."""
    return "".join(char for char in text.upper() if char.isalnum())

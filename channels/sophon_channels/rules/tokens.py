"""Short codes that people type: for pairing, and for decisions."""

import secrets

ALPHABET = "23456789ABCDEFGHJKLMNPQRSTUVWXYZ"
"""32 signs, none of which is taken for another: no 0, 1, I, O."""

LENGTH = 8
"""Signs; 40 bits."""


def new_code() -> str:
    """One that nobody guesses."""
    return "".join(secrets.choice(ALPHABET) for _ in range(LENGTH))


def as_code(written: str) -> str:
    """What somebody has typed, as a code is written: small letters, spaces and dashes do not matter."""
    return "".join(sign for sign in written.upper() if sign.isalnum())

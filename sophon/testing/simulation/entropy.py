"""Seeded entropy: what code in a simulated world takes from the operating system's randomness comes from a seed."""

import os
import random
import secrets
from collections.abc import Generator
from contextlib import contextmanager
from unittest.mock import patch


@contextmanager
def seeded_entropy(seed: int) -> Generator[None]:
    """Let `os.urandom`, `secrets` and the shared `random` return a sequence of the seed until the end of the scope."""
    source = random.Random(f"entropy of {seed}")  # noqa: S311 - that is the purpose
    state = random.getstate()
    random.seed(seed)
    with (
        patch.object(os, "urandom", source.randbytes),
        patch.object(secrets, "token_bytes", lambda count=32: source.randbytes(count)),
        patch.object(secrets, "token_hex", lambda count=32: source.randbytes(count).hex()),
        patch.object(secrets, "choice", source.choice),
        patch.object(secrets, "randbelow", source.randrange),
    ):
        try:
            yield
        finally:
            random.setstate(state)

"""Throttle of failed log-ins: the answer to a wrong token comes later with each failure of its address or token.

A right token is never delayed, whatever failed before it from the same address: nobody can lock out somebody else. So
the delay does not bound guessing by whoever takes silence for a refusal and hangs up; the length of the tokens does
that. It slows down whoever waits for the answers, and reports the failures.
"""

import hashlib
import logging
import os
from collections import OrderedDict
from collections.abc import Callable

from sophon._python.rate_limited_log import RateLimitedLog
from sophon.clock import Clock
from sophon_hosting.client_api.authentication.shared_login_failures import SharedLoginFailures

FREE_FAILURES = 5
"""Failures without a delay, for mistakes of people."""

FIRST_DELAY_SECONDS, MAX_DELAY_SECONDS = 0.25, 5.0
"""Delay of the first failure beyond `FREE_FAILURES`, doubled with each further one, and its maximum."""

FORGET_SECONDS = 600.0
"""Failures are forgotten when none followed for this time."""

MAX_ENTRIES = 4096
"""Maximum number of addresses and tokens that are remembered; the longest unused are forgotten."""


class LoginThrottle:
    """Counts failed log-ins by address and by presented token, and delays their answers.

    With `shared` those of an address count in all processes of a group.
    """

    def __init__(
        self, clock: Clock, on_failure: Callable[[], None] = lambda: None, shared: SharedLoginFailures | None = None
    ) -> None:
        self._clock, self._on_failure, self._shared = clock, on_failure, shared
        self._log = RateLimitedLog(logging.getLogger("sophon"), clock.monotonic)
        self._key = os.urandom(16)
        self._failures: OrderedDict[bytes, tuple[int, float]] = OrderedDict()

    async def delay_failure(self, address: str, token: str = "") -> None:
        """Count a failed log-in and wait before it may be answered."""
        self._on_failure()
        self._log.warning("log-in", "authentication failed for a client at %s", address)
        now = self._clock.monotonic()
        counts = [self._count(f"address {address}", now)]
        if token:
            counts.append(self._count(f"token {token}", now))
        if self._shared is not None:
            counts.append(await self._shared.count(address))
        seconds = failure_delay(max(counts))
        if seconds:
            await self._clock.sleep(seconds)

    def __len__(self) -> int:
        return len(self._failures)

    def _count(self, name: str, now: float) -> int:
        # A keyed digest: no wrong token, which may be a right one elsewhere, stays in memory.
        digest = hashlib.blake2b(name.encode("utf-8", "surrogatepass"), key=self._key, digest_size=16).digest()
        count, last = self._failures.pop(digest, (0, now))
        count = 1 if now - last > FORGET_SECONDS else count + 1
        self._failures[digest] = (count, now)
        if len(self._failures) > MAX_ENTRIES:
            self._failures.popitem(last=False)
        return count


def failure_delay(failures: int) -> float:
    """Return the delay in seconds of the answer to a failed log-in, given the number of failures so far."""
    if failures <= FREE_FAILURES:
        return 0.0
    return min(FIRST_DELAY_SECONDS * 2.0 ** min(failures - FREE_FAILURES - 1, 16), MAX_DELAY_SECONDS)

"""Rate limiter for WhatsApp: 80 messages per second of a number, about one per 6 s to one person.

Source: Meta's Cloud API (errors 130429 and 131056). The limiter never waits: it returns the necessary delay.
"""

from collections import OrderedDict
from datetime import timedelta

from sophon._python.lazy_dataclass import dataclass
from sophon.clock import Clock

MESSAGES_PER_SECOND = 80
"""Messages per second of one phone number."""
PAIR_INTERVAL_SECONDS = 6.0
"""Interval between two messages to one person after a burst."""
PAIR_BURST = 10
"""Messages to one person that may be sent at once."""

MAX_RECIPIENTS = 10_000
"""Number of recipients remembered; the least recently used one is evicted."""
NO_DELAY = timedelta(0)
"""No delay: the message may be sent now."""


@dataclass(slots=True)
class _TokenBucket:
    """Token bucket: refills at a constant rate up to its size; one token per message."""

    size: float
    per_second: float
    level: float
    at: float

    def wait(self, now: float) -> float:
        self.level = min(self.size, self.level + (now - self.at) * self.per_second)
        self.at = now
        return 0.0 if self.level >= 1 else (1 - self.level) / self.per_second


class WhatsAppRateLimiter:
    """Rate limiter of one phone number and its recipients."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._number = _TokenBucket(MESSAGES_PER_SECOND, MESSAGES_PER_SECOND, MESSAGES_PER_SECOND, clock.monotonic())
        self._recipients: OrderedDict[str, _TokenBucket] = OrderedDict()

    def acquire_message(self, recipient: str) -> tuple[timedelta, bool]:
        """Return the delay for a message, and whether it is for all recipients; a zero delay counts the message as
        sent.
        """
        now = self._clock.monotonic()
        bucket = self._recipient_bucket(recipient, now)
        number_delay, recipient_delay = self._number.wait(now), bucket.wait(now)
        if number_delay > 0 or recipient_delay > 0:
            return timedelta(seconds=max(number_delay, recipient_delay)), number_delay >= recipient_delay
        self._number.level -= 1
        bucket.level -= 1
        return NO_DELAY, False

    def try_acquire_typing(self) -> bool:
        """Return whether typing may be shown now, and count it if so; half of the limit is reserved for messages."""
        if self._number.wait(self._clock.monotonic()) > 0 or self._number.level < MESSAGES_PER_SECOND / 2:
            return False
        self._number.level -= 1
        return True

    def _recipient_bucket(self, person: str, now: float) -> _TokenBucket:
        bucket = self._recipients.get(person)
        if bucket is None:
            bucket = self._recipients[person] = _TokenBucket(PAIR_BURST, 1 / PAIR_INTERVAL_SECONDS, PAIR_BURST, now)
            while len(self._recipients) > MAX_RECIPIENTS:
                self._recipients.popitem(last=False)
        self._recipients.move_to_end(person)
        return bucket

"""WhatsApp's limits, kept before it has to say so: 80 messages a second for a number, about one in 6 s to one person.

Source: reference/channels.md (errors 130429 and 131056). The gate never waits: it tells how long one would have to.
"""

from collections import OrderedDict
from dataclasses import dataclass
from datetime import timedelta

from sophon.clock import Clock

PER_SECOND = 80
PAIR_SECONDS = 6.0
BURST = 10
"""Messages to one person that pass at once, before the pace holds."""

MOST_PEOPLE = 10_000
GO = timedelta(0)


@dataclass(slots=True)
class _Bucket:
    """Fills by itself, up to its size; one is taken per message."""

    size: float
    per_second: float
    level: float
    at: float

    def wait(self, now: float) -> float:
        self.level = min(self.size, self.level + (now - self.at) * self.per_second)
        self.at = now
        return 0.0 if self.level >= 1 else (1 - self.level) / self.per_second


class Gate:
    """What is left of the limits of a number, and of each person."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._number = _Bucket(PER_SECOND, PER_SECOND, PER_SECOND, clock.monotonic())
        self._people: OrderedDict[str, _Bucket] = OrderedDict()

    def final(self, person: str) -> tuple[timedelta, bool]:
        """How long until a message may go, and whether nobody is written to before that; zero: it counts as sent."""
        now = self._clock.monotonic()
        pair = self._person(person, now)
        everywhere, here = self._number.wait(now), pair.wait(now)
        if everywhere > 0 or here > 0:
            return timedelta(seconds=max(everywhere, here)), everywhere >= here
        self._number.level -= 1
        pair.level -= 1
        return GO, False

    def typing(self) -> bool:
        """Whether a read receipt with typing may go: it counts for the number, and leaves messages their half."""
        if self._number.wait(self._clock.monotonic()) > 0 or self._number.level < PER_SECOND / 2:
            return False
        self._number.level -= 1
        return True

    def _person(self, person: str, now: float) -> _Bucket:
        found = self._people.get(person)
        if found is None:
            found = self._people[person] = _Bucket(BURST, 1 / PAIR_SECONDS, BURST, now)
            while len(self._people) > MOST_PEOPLE:
                self._people.popitem(last=False)
        self._people.move_to_end(person)
        return found

"""How far each message has come: statuses arrive in any order and more than once, and only the furthest is news.

Source: reference/channels.md, "Statuses".
"""

from collections import OrderedDict
from collections.abc import Mapping, Sequence

from sophon_channels.contract import Arrival, Delivery

ORDER = ("sent", "delivered", "read", "failed")
MOST_MESSAGES = 10_000
"""Of so many the status is remembered; what comes later for an older one is news once more."""


class Statuses:
    """What was told of the messages of one number."""

    def __init__(self) -> None:
        self._furthest: OrderedDict[str, int] = OrderedDict()

    def news(self, arrivals: Sequence[Arrival]) -> list[Arrival]:
        """All but the statuses that tell of no step further; changes nothing."""
        return unrepeated(arrivals, self._furthest)

    def keep(self, arrivals: Sequence[Arrival]) -> None:
        """They were received, and are no news any more."""
        for arrival in arrivals:
            if isinstance(arrival, Delivery):
                self._furthest[arrival.platform_id] = ORDER.index(arrival.status)
                self._furthest.move_to_end(arrival.platform_id)
        while len(self._furthest) > MOST_MESSAGES:
            self._furthest.popitem(last=False)


def unrepeated(arrivals: Sequence[Arrival], furthest: Mapping[str, int]) -> list[Arrival]:
    """Arrivals without the statuses that go back behind `furthest`, or behind one that stands before them. Pure."""
    found: list[Arrival] = []
    here: dict[str, int] = {}
    for arrival in arrivals:
        if isinstance(arrival, Delivery):
            step, name = ORDER.index(arrival.status), arrival.platform_id
            if step <= here.get(name, furthest.get(name, -1)):
                continue
            here[name] = step
        found.append(arrival)
    return found

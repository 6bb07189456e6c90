"""De-duplication of message statuses, which arrive in any order and repeatedly: only a further status is new.

Source: reference/channels.md, "Statuses".
"""

from collections import OrderedDict
from collections.abc import Mapping, Sequence

from sophon_channels.contract import Arrival, Delivery

ORDER = ("sent", "delivered", "read", "failed")
"""Statuses, from the first to the furthest."""
MOST_MESSAGES = 10_000
"""Number of messages whose status is remembered; a status of an older one counts as new."""


class Statuses:
    """The furthest status of each message of one phone number."""

    def __init__(self) -> None:
        self._furthest: OrderedDict[str, int] = OrderedDict()

    def news(self, arrivals: Sequence[Arrival]) -> list[Arrival]:
        """Return the events without statuses that are no further; changes nothing."""
        return unrepeated(arrivals, self._furthest)

    def keep(self, arrivals: Sequence[Arrival]) -> None:
        """Record the statuses of events that were received."""
        for event in arrivals:
            if isinstance(event, Delivery):
                self._furthest[event.platform_id] = ORDER.index(event.status)
                self._furthest.move_to_end(event.platform_id)
        while len(self._furthest) > MOST_MESSAGES:
            self._furthest.popitem(last=False)


def unrepeated(arrivals: Sequence[Arrival], furthest: Mapping[str, int]) -> list[Arrival]:
    """Return the events without statuses not further than `furthest`, or than an earlier event in the list. Pure."""
    new_events: list[Arrival] = []
    seen: dict[str, int] = {}
    for event in arrivals:
        if isinstance(event, Delivery):
            rank, message_id = ORDER.index(event.status), event.platform_id
            if rank <= seen.get(message_id, furthest.get(message_id, -1)):
                continue
            seen[message_id] = rank
        new_events.append(event)
    return new_events

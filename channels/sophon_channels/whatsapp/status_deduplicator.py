"""De-duplication of message statuses, which arrive in any order and repeatedly: only a further status is new.

Source: Meta's Cloud API, statuses.
"""

from collections import OrderedDict
from collections.abc import Mapping, Sequence

from sophon_channels.contract import DeliveryReceipt, InboundEvent

STATUS_ORDER = ("sent", "delivered", "read", "failed")
"""Statuses, from the first to the furthest."""
MAX_TRACKED_MESSAGES = 10_000
"""Number of messages whose status is remembered; a status of an older one counts as new."""


class StatusDeduplicator:
    """The furthest status of each message of one phone number."""

    def __init__(self) -> None:
        self._furthest: OrderedDict[str, int] = OrderedDict()

    def filter_new(self, events: Sequence[InboundEvent]) -> list[InboundEvent]:
        """Return the events without statuses that are no further; changes nothing."""
        return remove_stale_receipts(events, self._furthest)

    def record(self, events: Sequence[InboundEvent]) -> None:
        """Record the statuses of events that were received."""
        for event in events:
            if isinstance(event, DeliveryReceipt):
                self._furthest[event.message_id] = STATUS_ORDER.index(event.status)
                self._furthest.move_to_end(event.message_id)
        while len(self._furthest) > MAX_TRACKED_MESSAGES:
            self._furthest.popitem(last=False)


def remove_stale_receipts(events: Sequence[InboundEvent], furthest: Mapping[str, int]) -> list[InboundEvent]:
    """Return the events without statuses not further than `furthest`, or than an earlier event in the list. Pure."""
    new_events: list[InboundEvent] = []
    seen: dict[str, int] = {}
    for event in events:
        if isinstance(event, DeliveryReceipt):
            rank, message_id = STATUS_ORDER.index(event.status), event.message_id
            if rank <= seen.get(message_id, furthest.get(message_id, -1)):
                continue
            seen[message_id] = rank
        new_events.append(event)
    return new_events

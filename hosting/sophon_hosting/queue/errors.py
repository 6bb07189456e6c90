"""Errors of a host that takes no message now: its queue is full or out of reach, or its sender has sent too many."""

from sophon.errors import SophonError


class TryLater(SophonError):
    """A message that is refused now and not stored. `retry_after_seconds` is a whole number."""

    code = "try_later"
    retry_after_seconds: int


class QueueFull(TryLater):
    """The queue is at capacity, or one owner holds its share of it; the rejected task is not stored.

    `capacity` is in tasks. `retry_after_seconds` is a whole number, an estimate of when the owner may send again.
    `owner_waiting` is the number of the owner's waiting tasks if it has reached its share while slots are free for
    others; None if there is no slot.
    """

    code = "queue_full"

    def __init__(self, capacity: int, retry_after_seconds: int, *, owner_waiting: int | None = None) -> None:
        self.capacity, self.retry_after_seconds, self.owner_waiting = capacity, retry_after_seconds, owner_waiting
        reason = (
            f"the queue is full: {capacity} of {capacity} {'task is' if capacity == 1 else 'tasks are'} waiting"
            if owner_waiting is None
            else f"your share of the queue is full: {owner_waiting} of your tasks "
            f"{'is' if owner_waiting == 1 else 'are'} waiting, and the other slots are "
            "kept for others"
        )
        super().__init__(f"{reason}; try again in {retry_after_seconds} s")


class QueueUnavailable(SophonError):
    """The queue's server cannot be reached now, through no fault of the request. `queue` names it without secrets."""

    code = "queue_unavailable"

    def __init__(self, queue: str, reason: str) -> None:
        self.queue, self.reason = queue, reason
        super().__init__(f"the queue {queue} is unavailable: {reason}")


class TooManyMessages(TryLater):
    """A limit of messages per minute was reached; `limit` is that number.

    `is_total`: the limit is on the messages of all senders together.
    """

    code = "too_many_messages"

    def __init__(self, limit: int, retry_after_seconds: int, *, is_total: bool = False) -> None:
        self.limit, self.retry_after_seconds, self.is_total = limit, retry_after_seconds, is_total
        reason = (
            f"the host has got {limit} messages within a minute and takes no more"
            if is_total
            else f"you may send {limit} {'message' if limit == 1 else 'messages'} per minute, and this is one more"
        )
        super().__init__(f"{reason}; try again in {retry_after_seconds} s")

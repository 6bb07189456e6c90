"""Holdings: the deliveries that this process has, which it tells each process that begins to schedule."""

from sophon_hosting.queue.contract import Delivery


class Holdings:
    """Open deliveries by token, and those that are done but could not be acknowledged yet."""

    def __init__(self) -> None:
        self._open: dict[int, Delivery] = {}
        self._ended: dict[int, Delivery] = {}

    def __len__(self) -> int:
        """The number of open deliveries."""
        return len(self._open)

    def add(self, delivery: Delivery) -> None:
        """Add a delivery that was taken."""
        self._open[delivery.fencing_token] = delivery

    def drop(self, delivery: Delivery) -> None:
        """Forget a delivery: it was acknowledged or given back, or is stale."""
        self._open.pop(delivery.fencing_token, None)

    def drop_stale(self, tokens: list[int]) -> None:
        """Forget deliveries that the scheduling process does not know any more."""
        for token in tokens:
            self._open.pop(token, None)

    def end(self, delivery: Delivery) -> None:
        """Note that a delivery is done and could not be acknowledged; the next greeting does it."""
        if self._open.pop(delivery.fencing_token, None) is not None:
            self._ended[delivery.fencing_token] = delivery

    def settle_all(self) -> None:
        """Forget all that were acknowledged by a greeting."""
        self._ended.clear()

    def list_open(self) -> list[Delivery]:
        """Return the open deliveries."""
        return [*self._open.values()]

    def list_ended(self) -> list[Delivery]:
        """Return what is done and not acknowledged."""
        return [*self._ended.values()]

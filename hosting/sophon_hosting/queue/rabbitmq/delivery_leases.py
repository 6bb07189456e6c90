"""Leases of open deliveries, by their fencing tokens; the process that schedules keeps them."""

from collections.abc import Iterable

from sophon._python.lazy_dataclass import dataclass
from sophon_hosting.queue.contract import Delivery


@dataclass(slots=True, eq=False)
class Lease:
    """Lease of a delivery to a host process; `until` is a time of the event loop."""

    delivery: Delivery
    member_id: str
    until: float


class Leases:
    """Open leases of `seconds` each."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self._by_token: dict[int, Lease] = {}
        self._by_task: dict[str, Lease] = {}

    def __len__(self) -> int:
        return len(self._by_token)

    def grant(self, delivery: Delivery, member_id: str, now: float) -> None:
        """Start the lease of a delivery."""
        lease = Lease(delivery, member_id, now + self.seconds)
        self._by_token[delivery.fencing_token] = self._by_task[delivery.entry.task_id] = lease

    def renew(self, token: int, member_id: str, now: float) -> bool:
        """Start the lease anew, for this process. Return False if it has ended."""
        lease = self._by_token.get(token)
        if lease is None:
            return False
        lease.member_id, lease.until = member_id, now + self.seconds
        return True

    def shorten(self, member_id: str, until: float) -> None:
        """Let the leases of a process end at `until` at the latest, unless it renews them."""
        for lease in self._by_token.values():
            if lease.member_id == member_id:
                lease.until = min(lease.until, until)

    def end(self, token: int) -> None:
        """End a lease, if it is open."""
        lease = self._by_token.pop(token, None)
        if lease is not None and self._by_task.get(lease.delivery.entry.task_id) is lease:
            del self._by_task[lease.delivery.entry.task_id]

    def find_of_task(self, task_id: str) -> Lease:
        """Return the lease of a task that is in flight."""
        return self._by_task[task_id]

    def list_expired(self, now: float) -> list[Delivery]:
        """Return the deliveries whose lease has expired; they are still open."""
        return [each.delivery for each in self._by_token.values() if each.until <= now]

    def list_deliveries(self, member_id: str) -> list[Delivery]:
        """Return the open deliveries of a process."""
        return [each.delivery for each in self._by_token.values() if each.member_id == member_id]

    def list_members(self) -> Iterable[str]:
        """Return the processes that hold leases."""
        return {each.member_id for each in self._by_token.values()}

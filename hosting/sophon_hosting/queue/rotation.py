"""Round-robin rotation of members with waiting entries, and the number of entries that are served before another."""

from collections import OrderedDict
from collections.abc import Iterable

_NOT_LISTED = object()


class Rotation:
    """Round-robin order of members (owners, or the sessions of one owner), each with a number of entries.

    The ready members are served in turn, one entry each; a member that becomes ready goes behind the other ready ones.
    Busy members have entries but cannot be served now (a session with a task in flight); they count as behind the ready
    ones. Changes take O(1) per entry; `count_before` takes O(members + index), O(busy members + index) for the last
    ready member.
    """

    __slots__ = ("_above", "_counts", "busy", "ready")

    def __init__(self) -> None:
        self.ready: OrderedDict[str, object] = OrderedDict()
        self.busy: OrderedDict[str, object] = OrderedDict()
        self._counts: dict[str, int] = {}
        # At index n: the number of members with more than n entries.
        self._above: list[int] = []

    def __len__(self) -> int:
        return len(self._counts)

    def count(self, member: str) -> int:
        """Return the number of entries of a member; 0 if it is none."""
        return self._counts.get(member, 0)

    def update(self, member: str, count: int, *, is_ready: bool) -> None:
        """Set the number of entries of a member and whether it is ready; a member without entries is removed."""
        before = self._counts.get(member, 0)
        if count == before + 1:
            if before == len(self._above):
                self._above.append(1)
            else:
                self._above[before] += 1
        elif count == before - 1:
            self._above[count] -= 1
            if not self._above[-1]:
                self._above.pop()
        else:
            self._resize(before, count)
        if not count:
            if before:
                del self._counts[member]
                if self.ready.pop(member, _NOT_LISTED) is _NOT_LISTED:
                    del self.busy[member]
            return
        self._counts[member] = count
        listed, other = (self.ready, self.busy) if is_ready else (self.busy, self.ready)
        if member not in listed:
            if before:
                del other[member]
            listed[member] = None

    def move_to_end(self, member: str) -> None:
        """Move a member that was served behind the other ready ones, if it is still ready."""
        if member in self.ready:
            self.ready.move_to_end(member)

    def count_before(self, member: str, index: int, *, will_be_ready: bool) -> int:
        """Return how many entries of other members are served before the entry number `index` (from 0) of a member.

        `will_be_ready` is used for a member that is not ready: whether it goes behind the ready members or behind all.
        """
        if len(self._counts) == (member in self._counts):
            return 0
        own = self._counts.get(member, 0)
        earlier_rounds = sum(self._above[:index]) - min(own, index) if index else 0
        if index >= len(self._above):
            return earlier_rounds
        others = self._above[index] - (own > index)
        if member in self.ready:
            if next(reversed(self.ready)) == member:
                return earlier_rounds + others - self._count_above(self.busy, member, index)
            return earlier_rounds + self._count_until(self.ready, member, index)
        if will_be_ready:
            return earlier_rounds + others - self._count_above(self.busy, member, index)
        if member in self.busy:
            others -= self._count_above(self.busy, member, index)
            return earlier_rounds + others + self._count_until(self.busy, member, index)
        return earlier_rounds + others

    def _resize(self, before: int, after: int) -> None:
        above = self._above
        if after > len(above):
            above.extend([0] * (after - len(above)))
        for index in range(before, after):
            above[index] += 1
        for index in range(after, before):
            above[index] -= 1
        while above and not above[-1]:
            above.pop()

    def _count_above(self, members: Iterable[str], excluded: str, index: int) -> int:
        """Return how many of the members, without `excluded`, have more than `index` entries."""
        counts, total = self._counts, 0
        for each in members:
            total += counts[each] > index and each != excluded
        return total

    def _count_until(self, members: Iterable[str], last: str, index: int) -> int:
        """Return how many of the members before `last` have more than `index` entries."""
        total = 0
        for each in members:
            if each == last:
                break
            total += self._counts[each] > index
        return total

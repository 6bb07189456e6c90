"""Position index: order of acceptance, and the number of waiting entries before an entry (Fenwick tree)."""

from dataclasses import dataclass

MIN_CAPACITY = 64
"""Minimum number of ticket numbers before renumbering."""


@dataclass(slots=True, eq=False)
class Ticket:
    """Position of an entry in the order of acceptance.

    A `is_waiting` ticket counts as ahead of later ones; an `is_open` one may become waiting again.
    """

    number: int
    is_waiting: bool = True
    is_open: bool = True


class PositionIndex:
    """Fenwick tree over ticket numbers; every operation takes amortized O(log n) of the open tickets.

    Node i holds the sum of the i & -i numbers that end at i. When the numbers are used up, the open tickets are
    renumbered from 0 and the capacity becomes at least twice their number.
    """

    __slots__ = ("_sums", "_tickets")

    def __init__(self) -> None:
        self._tickets: list[Ticket] = []
        self._sums = [0] * (MIN_CAPACITY + 1)

    def append(self) -> Ticket:
        """Append and return a waiting ticket."""
        if len(self._tickets) + 1 == len(self._sums):
            self._renumber()
        ticket = Ticket(len(self._tickets))
        self._tickets.append(ticket)
        self._add(ticket.number, 1)
        return ticket

    def mark_inactive(self, ticket: Ticket) -> None:
        """Mark the ticket as not waiting; it may become waiting again."""
        if ticket.is_waiting:
            ticket.is_waiting = False
            self._add(ticket.number, -1)

    def mark_waiting(self, ticket: Ticket) -> None:
        """Mark the ticket as waiting again, at its original position."""
        if not ticket.is_waiting:
            ticket.is_waiting = True
            self._add(ticket.number, 1)

    def remove(self, ticket: Ticket) -> None:
        """Close the ticket permanently."""
        self.mark_inactive(ticket)
        ticket.is_open = False

    def count_waiting_before(self, ticket: Ticket) -> int:
        """Return the number of waiting tickets before this one."""
        total, node = 0, ticket.number
        while node:
            total += self._sums[node]
            node &= node - 1
        return total

    def _add(self, number: int, amount: int) -> None:
        node, sums = number + 1, self._sums
        while node < len(sums):
            sums[node] += amount
            node += node & -node

    def _renumber(self) -> None:
        self._tickets = [ticket for ticket in self._tickets if ticket.is_open]
        self._sums = [0] * (max(MIN_CAPACITY, 2 * len(self._tickets)) + 1)
        for number, ticket in enumerate(self._tickets):
            ticket.number = number
            if ticket.is_waiting:
                self._add(number, 1)

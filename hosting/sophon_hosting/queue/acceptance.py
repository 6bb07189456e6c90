"""The order in which entries were accepted, and how many that wait stand before one."""

from dataclasses import dataclass

SMALLEST = 64


@dataclass(slots=True, eq=False)
class Ticket:
    """An entry's place in the order. `waiting` counts for those behind it; `open` may still come to wait again."""

    number: int
    waiting: bool = True
    open: bool = True


class Acceptance:
    """Tickets in order, each operation in O(log n) of those that are open, amortised.

    A Fenwick tree over ticket numbers: node i holds the sum of the i & -i numbers that end at i. Once the numbers are
    used up, the open tickets are numbered anew from 0, which leaves at least as much room as there are tickets.
    """

    __slots__ = ("_sums", "_tickets")

    def __init__(self) -> None:
        self._tickets: list[Ticket] = []
        self._sums = [0] * (SMALLEST + 1)

    def join(self) -> Ticket:
        """A ticket behind all others, waiting."""
        if len(self._tickets) + 1 == len(self._sums):
            self._number_anew()
        ticket = Ticket(len(self._tickets))
        self._tickets.append(ticket)
        self._add(ticket.number, 1)
        return ticket

    def leave(self, ticket: Ticket) -> None:
        """It waits no longer, and may come back."""
        if ticket.waiting:
            ticket.waiting = False
            self._add(ticket.number, -1)

    def come_back(self, ticket: Ticket) -> None:
        """It waits again, where it stood."""
        if not ticket.waiting:
            ticket.waiting = True
            self._add(ticket.number, 1)

    def close(self, ticket: Ticket) -> None:
        """It is gone for good."""
        self.leave(ticket)
        ticket.open = False

    def before(self, ticket: Ticket) -> int:
        """How many waiting tickets stand before it."""
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

    def _number_anew(self) -> None:
        self._tickets = [ticket for ticket in self._tickets if ticket.open]
        self._sums = [0] * (max(SMALLEST, 2 * len(self._tickets)) + 1)
        for number, ticket in enumerate(self._tickets):
            ticket.number = number
            if ticket.waiting:
                self._add(number, 1)

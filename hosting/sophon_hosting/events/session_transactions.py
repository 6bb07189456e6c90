"""Types of the transactions of a session: what stores its events together with what they report.

Turns stage writes, and emit events, which wait in a queue. Whatever is stored next in the session takes all of them
with it: the beginning of a turn, its outcome, a call, or a transaction of their own that soon follows. So a turn
commits as often as it must, and an event is stored with what it tells of. See
docs/decisions/0032-transactions-of-a-turn.md.
"""

from collections.abc import Awaitable, Callable, Sequence
from typing import TypeAlias, TypeVar

from sophon.events import Event
from sophon.stores.unit_of_work import UnitOfWork
from sophon_hosting.store.events.logged_event import LoggedEvent

T = TypeVar("T")

BuildRows: TypeAlias = Callable[[Sequence[Event]], Sequence[LoggedEvent]]
"""Returns the rows that a transaction must append to the event log, given the events that it reports."""

Stored: TypeAlias = tuple[T, int | None]
"""Result of a transaction, and the session's last event seq after it; None if it has stored no events."""

Transaction: TypeAlias = Callable[[BuildRows, UnitOfWork], Awaitable[Stored[T]]]
"""Stores the unit of work and the rows in one transaction, with whatever it is for."""

EventTransaction: TypeAlias = Callable[[BuildRows], Awaitable[Stored[T]]]
"""Stores the rows in one transaction with what they report."""

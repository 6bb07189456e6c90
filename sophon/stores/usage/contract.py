"""The usage store's contract: budget reservations per provider, and the usage of every attempt."""

from collections.abc import Sequence
from datetime import datetime
from typing import Protocol

from sophon._python.lazy_dataclass import dataclass, slotted_dataclass
from sophon.messages import Usage


@dataclass(frozen=True, slots=True)
class ProviderLimits:
    """Budget limits of a provider: tokens per day, micro-USD per month. None means unlimited."""

    daily_tokens: int | None = None
    monthly_micros: int | None = None


@slotted_dataclass
class Spending:
    """Usage of a provider, reservations included: tokens of this day, micro-USD of this month."""

    tokens: int = 0
    micros: int = 0


@dataclass(frozen=True, slots=True)
class PayerLimits:
    """Cost limits of a person or of a task type, whatever the provider: micro-USD per day and month. None: no limit."""

    payer: str
    daily_micros: int | None = None
    monthly_micros: int | None = None
    is_task_type: bool = False


@dataclass(frozen=True, slots=True)
class PayerSpending:
    """Cost of a person or task type, reservations included: micro-USD of this day and of this month."""

    daily_micros: int = 0
    monthly_micros: int = 0
    is_task_type: bool = False


@dataclass(frozen=True, slots=True)
class Period:
    """Day (`2026-01-31`) and month (`2026-01`) that usage is charged to, in the budget's time zone."""

    day: str
    month: str


@slotted_dataclass
class Reservation:
    """Budget reserved for one attempt. Must be ended by exactly one `settle` or `release`."""

    id: str
    provider: str
    period: Period
    tokens: int
    micros: int
    payer: str = ""
    """Person whose limits it counts against, too; empty for nobody."""
    task_type: str = ""
    """Task type whose limits it counts against, too; empty for none."""


@slotted_dataclass
class UsageRow:
    """Usage record of one attempt, or of several `calls` of a turn with the same model and purpose."""

    provider: str
    model: str
    purpose: str
    session_id: str
    run_id: str
    usage: Usage
    period: Period
    at: datetime
    calls: int = 1


@dataclass(frozen=True, slots=True)
class UsageTotal:
    """Usage of one day, provider and model, for a report."""

    day: str
    provider: str
    model: str
    calls: int
    usage: Usage


def payer_account(payer: str, *, is_task_type: bool = False) -> str:
    """Return the name under which a payer's cost is kept and alerts are marked; no provider has it."""
    return f"task_type:{payer}" if is_task_type else f"payer:{payer}"


def list_accounts(reservation: Reservation) -> list[str]:
    """Return the accounts that are charged beside that of the provider."""
    accounts = [payer_account(reservation.payer)] if reservation.payer else []
    if reservation.task_type:
        accounts.append(payer_account(reservation.task_type, is_task_type=True))
    return accounts


class UsageStore(Protocol):
    """Repository of usage and budget reservations.

    `reserve` is atomic: concurrent callers never pass a limit together. A cancelled `reserve` leaves nothing reserved;
    a `settle` or `release` completes even if it is cancelled.
    """

    async def reserve(
        self,
        provider: str,
        period: Period,
        worst_case: Usage,
        limits: ProviderLimits,
        payer: PayerLimits | None = None,
        task: PayerLimits | None = None,
    ) -> Reservation | Spending | PayerSpending:
        """Reserve tokens and cost with the provider, and the cost with the payer and the task type, all or nothing.

        Returns a Reservation; if `worst_case` would pass a limit, the present usage of the provider, of the payer or of
        the task type, whose limit it is.
        """
        ...

    async def settle(self, reservation: Reservation | None, row: UsageRow) -> Spending:
        """Replace the reservation, if there is one, by the real usage and return the provider's new totals.

        Without a reservation nobody's limits as a payer are charged, and those of no task type.
        """
        ...

    async def release(self, reservation: Reservation) -> None:
        """Cancel the reservation without usage."""
        ...

    async def record(self, rows: Sequence[UsageRow]) -> None:
        """Record usage that nothing was reserved for, all rows or none; completes even if it is cancelled."""
        ...

    async def get_spending(self, provider: str, period: Period) -> Spending:
        """Return usage plus open reservations."""
        ...

    async def get_reserved(self, provider: str, period: Period) -> Spending:
        """Return the open reservations of a provider: the tokens of the day, the micro-USD of the month."""
        ...

    async def get_payer_spending(self, payer: str, period: Period, *, is_task_type: bool = False) -> PayerSpending:
        """Return the cost that counts against the limits of a person or task type, open reservations included."""
        ...

    async def get_payer_reserved(self, payer: str, period: Period, *, is_task_type: bool = False) -> PayerSpending:
        """Return the open reservations of a person or task type."""
        ...

    async def mark_alerted(self, provider: str, period: str, name: str) -> bool:
        """Record that the alert `name` was sent for a day or month; return whether it is the first time."""
        ...

    async def reserved(self) -> int:
        """Return the tokens of all open reservations; 0 when no attempt is in flight."""
        ...

    async def list_totals(self, *, since: str = "", session_id: str | None = None) -> list[UsageTotal]:
        """Return usage per day, provider and model, oldest first; `since` a day, of one session or of all."""
        ...

    async def expire(self, before: str) -> int:
        """Delete the usage of attempts before a day (`2026-01-31`) and return how many; the budget's sums stay."""
        ...

    async def expire_accounts(self, before: str) -> int:
        """Delete the sums and alerts of the days and months before a day; return how many.

        The day must be at least a month ago, so that its month is over.
        """
        ...

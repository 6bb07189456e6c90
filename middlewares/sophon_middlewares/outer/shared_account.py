"""Account of a turn that another turn has started, with services of its own: each call is charged to both."""

from typing import TypeAlias

from sophon.lazy_dataclass import dataclass
from sophon.messages import Usage
from sophon.models.model import Meter, ModelRequest
from sophon.stores.contract import Store
from sophon_middlewares.outer.budget_meter import AttemptReservation, TurnMeter


class TurnCeiling:
    """Meter of the ceiling of a turn (`Budget.Turn`) alone, for usage that another turn records in the same store."""

    def __init__(self, meter: TurnMeter) -> None:
        self._meter = meter

    async def reserve(self, request: ModelRequest, input_tokens: int) -> AttemptReservation:
        """See `Meter`."""
        return self._meter.hold(request, input_tokens)

    async def settle(self, reservation: AttemptReservation, request: ModelRequest, usage: Usage) -> None:
        """See `Meter`."""
        self._meter.settle_held(reservation, usage)

    async def release(self, reservation: AttemptReservation) -> None:
        """See `Meter`."""
        self._meter.release_held(reservation)

    def reserve_tool_call(self) -> None:
        """See `Meter`."""
        self._meter.reserve_tool_call()

    def find_time_limit(self) -> tuple[str, float] | None:
        """See `Meter`."""
        return self._meter.find_time_limit()


@dataclass(frozen=True, slots=True)
class SharedAccount:
    """Meter of a turn that began within another one: the limits of both hold, and the usage counts in both.

    Tool calls and time are limited by `own`; the time of the outer turn ends the calls of the inner one, too.
    """

    own: "TurnMeter | TurnCeiling | SharedAccount"
    outer: "TurnMeter | TurnCeiling | SharedAccount"

    async def reserve(self, request: ModelRequest, input_tokens: int) -> tuple[object, object]:
        """See `Meter`. Raises the error of the outer turn first."""
        outer = await self.outer.reserve(request, input_tokens)
        try:
            return outer, await _as_meter(self.own).reserve(request, input_tokens)
        except BaseException:
            await _as_meter(self.outer).release(outer)
            raise

    async def settle(self, reservation: tuple[object, object], request: ModelRequest, usage: Usage) -> None:
        """See `Meter`."""
        outer, own = reservation
        try:
            await _as_meter(self.outer).settle(outer, request, usage)
        finally:
            await _as_meter(self.own).settle(own, request, usage)

    async def release(self, reservation: tuple[object, object]) -> None:
        """See `Meter`."""
        outer, own = reservation
        try:
            await _as_meter(self.outer).release(outer)
        finally:
            await _as_meter(self.own).release(own)

    def reserve_tool_call(self) -> None:
        """See `Meter`."""
        self.own.reserve_tool_call()

    def find_time_limit(self) -> tuple[str, float] | None:
        """See `Meter`."""
        return self.own.find_time_limit()


Account: TypeAlias = TurnMeter | TurnCeiling | SharedAccount
"""Meter of a turn that may start others."""


def _as_meter(account: Account) -> Meter:
    """Return the account as the protocol, whose reservations are whatever `reserve` returned."""
    return account


def join_account(own: TurnMeter, outer: Meter | None, store: Store) -> Meter:
    """Return the meter of a turn that begins within a turn with the meter `outer`; `own` if there is none.

    A turn whose usage is recorded in the `store` of the outer one is charged there only to the ceiling of the turn.
    """
    if not isinstance(outer, Account):
        return own
    return SharedAccount(own, _limit_to_ceiling(outer, store))


def _limit_to_ceiling(account: Account, store: Store) -> Account:
    if isinstance(account, SharedAccount):
        return SharedAccount(_limit_to_ceiling(account.own, store), _limit_to_ceiling(account.outer, store))
    if isinstance(account, TurnMeter) and account.store is store:
        return TurnCeiling(account)
    return account

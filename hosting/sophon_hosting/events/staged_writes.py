"""Staging area of one session: what running turns store in the next transaction of the session."""

import asyncio
import logging
from collections.abc import Callable, Set
from typing import TypeAlias, TypeGuard

from sophon._python.lazy_dataclass import dataclass
from sophon.errors import StoreUnavailable
from sophon.failure_log import log_failure
from sophon.stores.run_fence import StaleRun
from sophon.stores.unit_of_work import Write, WriteKind

log = logging.getLogger("sophon")

OnSettled: TypeAlias = Callable[[BaseException | None], None]
"""Called once a part is stored, with None, or refused for good, with the error."""


@dataclass(slots=True, eq=False)
class StagedWrite:
    """Part of a later transaction. `error` is the error for which the store has refused it for good.

    `write` is None once it is stored or refused. Somebody may wait for it: then the transaction follows at once, and a
    store that is unavailable refuses it.
    """

    write: Write | None
    waiter: asyncio.Future[None] | None = None
    on_settled: OnSettled | None = None
    error: BaseException | None = None

    def settle(self, error: BaseException | None = None) -> None:
        """Tell who waits that it is stored or refused; the part itself is not needed any more."""
        self.write, self.error = None, error
        if self.on_settled is not None:
            self.on_settled(error)
            self.on_settled = None
        if self.waiter is not None and not self.waiter.done():
            if error is None:
                self.waiter.set_result(None)
            else:
                self.waiter.set_exception(error)


class StagedWrites:
    """Staged `parts` in the order in which they were staged; a transaction takes them all."""

    def __init__(self) -> None:
        self.parts: list[StagedWrite] = []

    def give_back(self, parts: list[StagedWrite], error: BaseException) -> None:
        """Handle a failed transaction: while the store is unavailable, what nobody waits for stays staged.

        So does everything if a turn was found stale: what is not of that turn must be stored.
        """
        if isinstance(error, StaleRun):
            self.parts[:0] = parts
            return
        waits = isinstance(error, StoreUnavailable | asyncio.CancelledError)
        stays = [part for part in parts if waits and part.waiter is None]
        self.parts[:0] = stays
        refused = {part.write.run_id for part in parts if part not in stays and _is_checkpoint(part.write)}
        if refused:
            # A later checkpoint builds on the refused one: alone it would refer to entries that no log has.
            parts = [*parts, *self._take_checkpoints(refused)]
        for part in parts:
            if part not in stays:
                if part.waiter is None and part.write is not None:
                    log_failure(log, error, "the store refused the %s of a turn", part.write.kind.name.lower())
                part.settle(error)

    def refuse_run(self, run_id: str, error: BaseException) -> None:
        """Refuse the parts of a run."""
        refused = [part for part in self.parts if part.write is not None and part.write.run_id == run_id]
        self.parts = [part for part in self.parts if part not in refused]
        for part in refused:
            part.settle(error)

    def _take_checkpoints(self, run_ids: Set[str]) -> list[StagedWrite]:
        taken = [part for part in self.parts if _is_checkpoint(part.write) and part.write.run_id in run_ids]
        self.parts = [part for part in self.parts if part not in taken]
        return taken

    def clear(self, error: BaseException) -> None:
        """Refuse all parts."""
        refused, self.parts = self.parts, []
        for part in refused:
            part.settle(error)


def _is_checkpoint(write: Write | None) -> TypeGuard[Write]:
    return write is not None and write.kind is WriteKind.CHECKPOINT

"""Claim of a restored turn: a lease in the store, renewed while the turn runs, so that a state is continued once.

A turn that is never suspended takes none. What a claim finds of the turn decides: the session's records, which are
written with each end and suspension, and for a chain that records none an entry of the turn's journal.
"""

import asyncio
import logging
from collections.abc import Sequence
from secrets import token_hex
from typing import TYPE_CHECKING

from sophon._python.lazy_dataclass import slotted_dataclass
from sophon.cancellation import run_despite_cancellation
from sophon.clock import Timer
from sophon.context.turn_log import ClaimedTurn
from sophon.errors import NotFound, StoreError, TurnAlreadyRun
from sophon.failure_log import log_failure
from sophon.messages import Response, ToolCall, ToolResult
from sophon.stores.leases.lease import Lease
from sophon.stores.sessions.contract import SessionRecord

if TYPE_CHECKING:
    from sophon.stores.contract import Store

LEASE_SECONDS = 12.0
"""How long a claim lasts unless it is renewed: a turn whose process was killed can be continued after that."""
RENEWAL_SECONDS = 3.0
POLL_SECONDS = 1.0
RESUMES_FIELD = "resumes"
"""Field of a `suspended` record: how often the turn had been resumed."""
_END_CALL = "#turn"
"""Call id of the journal's entry about a turn of a chain without SessionEvents; its text is `ended` or a number."""

log = logging.getLogger("sophon")
_held: set[str] = set()
"""The holders of this process's claims: who waits for one of them need not wait to see that it is alive."""


@slotted_dataclass
class Progress:
    """What the store knows of a turn: whether it has ended, and how often it was resumed before it was suspended."""

    is_ended: bool = False
    resumes: int = 0


def read_progress(records: Sequence[SessionRecord], noted: str = "") -> Progress:
    """Return how far a turn has come by the records of its session and by the journal's note.

    A turn that has not ended has the message of the user, and a record of each suspension.
    """
    ended = noted == "ended" or any(
        record.kind not in ("message", "suspended") or (record.message is not None and record.message.role != "user")
        for record in records
    )
    counts = [int(record.data.get(RESUMES_FIELD, 0)) for record in records if record.kind == "suspended"]
    return Progress(ended, max([*counts, int(noted) if noted.isdigit() else 0]))


def check_not_run(run_id: str, progress: Progress, resumes: int) -> None:
    """Raise TurnAlreadyRun for a state whose turn has ended, or was continued from it until a later suspension.

    `resumes` is that of the state.
    """
    if progress.is_ended:
        raise TurnAlreadyRun(run_id, "ended")
    if progress.resumes > resumes:
        raise TurnAlreadyRun(run_id, "suspended")


class TurnClaim:
    """Exclusive right to continue a restored turn, held by an async context manager.

    Entering raises TurnAlreadyRun if the turn has ended, was suspended anew, or runs. A holder that does not renew its
    lease has died: then entering takes at most `LEASE_SECONDS`.
    """

    def __init__(self, store: "Store", ctx: ClaimedTurn) -> None:
        self._store, self._ctx, self._clock = store, ctx, ctx.services.clock
        self._check = ctx.tool_check(self._check_before_call)
        self._name, self._holder = f"turn:{ctx.run_id}", token_hex(10)
        self._valid_until = 0.0
        self._timer: Timer | None = None
        self._renewal: asyncio.Task[None] | None = None
        self.is_lost = False
        """Whether another continues the turn: this run may start no call and record nothing."""

    async def __aenter__(self) -> None:
        await self._acquire()
        _held.add(self._holder)
        try:
            progress = await load_progress(self._store, self._ctx)
            check_not_run(self._ctx.run_id, progress, self._ctx.resumes)
            self._ctx.resumes = max(progress.resumes, self._ctx.resumes) + 1
        except BaseException:
            await self._release()
            raise
        self._check.__enter__()
        self._timer = self._clock.call_later(RENEWAL_SECONDS, self._start_renewal)

    async def __aexit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        self._check.__exit__(None, None, None)
        try:
            if error is None and not self._ctx.has_end_recorder and self._ctx.response is not None:
                await self._note_end(self._ctx.response)
        finally:
            await self._release()
        if self.is_lost:
            raise TurnAlreadyRun(self._ctx.run_id, "running") from error

    async def _acquire(self) -> None:
        seen: Lease | None = None
        last = self._clock.monotonic() + LEASE_SECONDS + 2 * POLL_SECONDS
        while not await self._renew():
            found = [each for each in await self._store.leases.list(self._name) if each.name == self._name]
            held = found[0] if found else None
            is_alive = held is not None and (held.holder in _held or (seen is not None and held != seen))
            if is_alive or self._clock.monotonic() > last:
                raise TurnAlreadyRun(self._ctx.run_id, "running")
            seen = held
            await self._clock.sleep(POLL_SECONDS)

    async def _renew(self) -> bool:
        before = self._clock.monotonic()
        if await self._store.leases.acquire(self._name, self._holder, LEASE_SECONDS) is None:
            return False
        self._valid_until = before + LEASE_SECONDS
        return True

    def _start_renewal(self) -> None:
        self._renewal = asyncio.ensure_future(self._renew_or_lose())

    async def _renew_or_lose(self) -> None:
        try:
            if not await self._renew():
                self._lose()
                return
        except StoreError as error:
            log_failure(log, error, "the claim of run %s was not renewed", self._ctx.run_id)
        self._timer = self._clock.call_later(RENEWAL_SECONDS, self._start_renewal)

    def _lose(self) -> None:
        self.is_lost = True
        self._ctx.cancellation.request()

    async def _check_before_call(self, ctx: object, call: ToolCall) -> str | None:
        """Refuse a call once another may continue the turn, after a time in which this process stood still."""
        if self._clock.monotonic() >= self._valid_until and not await self._renew():
            self._lose()
        return "the turn is continued elsewhere" if self.is_lost else None

    async def _note_end(self, response: Response) -> None:
        text = str(self._ctx.resumes) if response.finish_reason == "suspended" else "ended"
        await self._store.journal.finish(self._ctx.run_id, ToolResult(_END_CALL, _END_CALL, text))

    async def _release(self) -> None:
        _held.discard(self._holder)
        if self._timer is not None:
            self._timer.cancel()
        if self._renewal is not None:
            self._renewal.cancel()
        try:
            await run_despite_cancellation(self._store.leases.release(self._name, self._holder), LEASE_SECONDS)
        except (StoreError, TimeoutError) as error:
            log_failure(log, error, "the claim of run %s was not released", self._ctx.run_id)


async def load_progress(store: "Store", turn: ClaimedTurn) -> Progress:
    """Return how far the store has a turn; that of a turn that it does not know is none."""
    entry = (await store.journal.load_entries(turn.run_id)).get(_END_CALL)
    try:
        records = await store.sessions.list_turn(turn.session_id, turn.run_id)
    except NotFound:
        records = []
    return read_progress(records, entry.result.text if entry is not None and entry.result is not None else "")

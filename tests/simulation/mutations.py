"""Mutations: each takes one guarantee of a host away, and must be found by the simulation.

`python -m tests.simulation.mutations` prints how many seeds each needs, from several first seeds.
"""

import statistics
import sys
from collections.abc import Callable, Generator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from multiprocessing import Pool
from typing import Any
from unittest.mock import patch

from sqlalchemy import update

from sophon.approvals import turn_id_from_request
from sophon.stores.tool_call_journal import sql as journal_sql
from sophon.stores.unit_of_work import NO_WRITES
from sophon.stores.usage import sql as usage_sql
from sophon.stores.usage import sql_reservations
from sophon_hosting.events import event_bus
from sophon_hosting.operations.operation import Subject
from sophon_hosting.runs.delivery_settlement import LeaseRenewal
from sophon_hosting.runs.recovery.reconciler import RunReconciler
from sophon_hosting.runs.recovery.startup_recovery import RunRecovery
from sophon_hosting.store.approvals import sql as approvals_sql
from sophon_hosting.store.outbox import transitions
from sophon_hosting.store.runs import sql_transactions
from sophon_hosting.store.runs.sql import SqlRunStore
from sophon_hosting.store.tables import approvals
from sophon_hosting.worker import Worker
from tests.simulation.history import run_history
from tests.simulation.plan import Plan
from tests.simulation.program import prepare_worker

STARTS = 5
"""From how many first seeds the median is taken."""

MOST_SEEDS = 300
"""Within how many seeds a mutation must be found."""


@dataclass(frozen=True)
class Mutation:
    """A guarantee that is taken out; `seed` is one whose history is known to show it."""

    name: str
    patches: Callable[[], Sequence[Any]]
    seed: int


async def _nothing(*_: Any, **__: Any) -> None:
    return None


def _no_fence() -> list[Any]:
    return [
        patch.object(sql_transactions, "check_fences", lambda connection, fences: None),
        patch.object(sql_transactions, "check_start", lambda *_: None),
    ]


def _no_renewal() -> list[Any]:
    return [patch.object(LeaseRenewal, "run_forever", _nothing)]


def _no_journal() -> list[Any]:
    real = journal_sql.put_entry

    def put(connection: Any, run_id: str, entry: Any) -> None:
        if entry.result is not None:
            real(connection, run_id, entry)

    return [patch("sophon_hosting.runs.turn_store.put_entry", put)]


def _no_checkpoint() -> list[Any]:
    return [patch.object(sql_transactions, "_write_checkpoint", lambda *_, **__: None)]


def _outbox_afterwards() -> list[Any]:
    real = SqlRunStore.finish

    async def finish(self: Any, run_id: str, outcome: Any, *, outbound: Any = (), **options: Any) -> Any:
        result = await real(self, run_id, outcome, **options)
        if result.is_first and outbound:
            entries = sql_transactions_entries(run_id, outbound, self._clock.now())
            await self._database.write(lambda connection: sql_transactions.add_entries(connection, entries))
        return result

    return [patch.object(SqlRunStore, "finish", finish)]


def sql_transactions_entries(run_id: str, outbound: Any, at: Any) -> Any:
    """Return outbound entries as `SqlRunStore.finish` adds them."""
    from sophon_hosting.store.runs.sql import assign_run, prepare_entries

    return prepare_entries(assign_run(run_id, outbound), at)


def _events_afterwards() -> list[Any]:
    real = SqlRunStore.finish

    async def finish(self: Any, run_id: str, outcome: Any, *, events: Any = None, **options: Any) -> Any:
        result = await real(self, run_id, outcome, **options)
        if not result.is_first or events is None:
            return result
        run = await self.get(run_id)
        return replace(result, seq=await self.record(run.session_id, NO_WRITES, events(result.last_record_seq)))

    return [patch.object(SqlRunStore, "finish", finish)]


def _ack_before_the_work() -> list[Any]:
    real = Worker._consume_delivery

    async def consume(self: Any, delivery: Any) -> None:
        await self._queue.ack(delivery)
        await real(self, delivery)

    return [patch.object(Worker, "_consume_delivery", consume), patch.object(RunReconciler, "reconcile", _nothing)]


def _no_reservation() -> list[Any]:
    def reserve(connection: Any, wanted: Any, limits: Any, payers: Any, clock: Any) -> Any:
        key = {"provider": wanted.provider, "period": wanted.period.day}
        spent = sql_reservations._SELECT_SPENDING.fetch_row(connection, key)
        is_left = limits.daily_tokens is None or (spent[0] if spent else 0) + wanted.tokens <= limits.daily_tokens
        return None if is_left else "provider"

    return [patch.object(usage_sql, "try_reserve", reserve)]


def _no_recovery() -> list[Any]:
    return [patch.object(RunRecovery, "recover", _nothing), patch.object(RunReconciler, "reconcile", _nothing)]


def _no_reconciler() -> list[Any]:
    return [patch.object(RunReconciler, "reconcile", _nothing)]


def _no_key() -> list[Any]:
    real = sql_transactions.accept

    def accept(connection: Any, run: Any, key: Any, *options: Any, **more: Any) -> Any:
        return real(connection, run, None, *options, **more)

    return [patch.object(sql_transactions, "accept", accept)]


def _last_decision() -> list[Any]:
    def decide(connection: Any, approval_id: str, decision: Any, at: Any, events: Any) -> Any:
        values = {"decision": decision.to_json(), "decided_at": at}
        connection.execute(update(approvals).where(approvals.c.id == approval_id).values(values))
        record = approvals_sql._get(connection, approval_id)
        connection.execute(approvals_sql.UPDATE_SIGNAL, {"which": turn_id_from_request(record.request)})
        rows = events()
        seq = approvals_sql.add_events(connection, record.request.session_id, rows, at) if rows else 0
        return replace(record, was_decided_now=True, event_seq=seq)

    return [patch.object(approvals_sql, "_decide", decide)]


def _no_owner() -> list[Any]:
    async def locate(self: Any, caller: Any, row_id: str) -> Any:
        return caller, await self.find(caller, row_id)

    return [patch.object(Subject, "locate", locate)]


def _no_catch_up() -> list[Any]:
    real = event_bus.read_missed_events

    async def read(*arguments: Any) -> Any:
        return replace(await real(*arguments), events=())

    return [patch.object(event_bus, "read_missed_events", read)]


def _no_mark() -> list[Any]:
    real = transitions.mark_ambiguous, transitions.mark_interrupted

    def unmarked(function: Any) -> Any:
        return lambda *arguments, **options: replace(function(*arguments, **options), doubtful=False)

    return [
        patch.object(transitions, "mark_ambiguous", unmarked(real[0])),
        patch.object(transitions, "mark_interrupted", unmarked(real[1])),
    ]


MUTATIONS: Sequence[Mutation] = (
    Mutation("fence of a start", _no_fence, 6),
    Mutation("renewal of leases", _no_renewal, 6),
    Mutation("start of a call in the journal", _no_journal, 1),
    Mutation("checkpoint before a tool", _no_checkpoint, 1),
    Mutation("outbox in the transaction of the outcome", _outbox_afterwards, 3),
    Mutation("final events in the transaction of the outcome", _events_afterwards, 3),
    Mutation("ack behind the commit", _ack_before_the_work, 1),
    Mutation("reservation of a budget", _no_reservation, 37),
    Mutation("recovery at the start", _no_recovery, 1),
    Mutation("question what the queue has lost", _no_reconciler, 5),
    Mutation("key of a message", _no_key, 1),
    Mutation("first decision counts", _last_decision, 2),
    Mutation("owner check", _no_owner, 1),
    Mutation("events that were missed", _no_catch_up, 1),
    Mutation("mark of a repetition", _no_mark, 1),
)


@contextmanager
def mutated(mutation: Mutation) -> Generator[None]:
    """Take the guarantee out until the end of the scope."""
    with ExitStack() as stack:
        for each in mutation.patches():
            stack.enter_context(each)
        yield


def find(mutation: Mutation, first: int, most: int = MOST_SEEDS) -> tuple[int, Sequence[str]]:
    """Return how many seeds are needed to find a mutation, and what was found; 0 if none of them does."""
    with mutated(mutation):
        for count in range(most):
            found = run_history(Plan.draw(first + count)).violations
            if found:
                return count + 1, found
    return 0, ()


def _find_from(task: tuple[int, int]) -> tuple[int, int, Sequence[str]]:
    index, first = task
    return (index, *find(MUTATIONS[index], first))


def main() -> int:
    """Print the table of mutations; return 1 if one is not found."""
    wanted = [index for index, each in enumerate(MUTATIONS) if not sys.argv[1:] or each.name in sys.argv[1:]]
    tasks = [(index, 10_000 * start) for index in wanted for start in range(1, STARTS + 1)]
    needed: dict[int, list[int]] = {index: [] for index in wanted}
    with Pool(2, prepare_worker) as pool:
        for index, count, found in pool.imap_unordered(_find_from, tasks):
            needed[index].append(count)
            print(f"{MUTATIONS[index].name}: {count or 'not found'}: {' '.join(found)[:140]}", flush=True)
    print("| taken out | median seeds until found | most |\n|---|---|---|")
    for index in wanted:
        counts = [each or MOST_SEEDS + 1 for each in needed[index]]
        print(f"| {MUTATIONS[index].name} | {statistics.median(counts):.0f} | {max(counts)} |")
    return int(any(0 in counts for counts in needed.values()))


if __name__ == "__main__":
    raise SystemExit(main())

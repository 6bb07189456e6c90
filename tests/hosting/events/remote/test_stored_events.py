"""Events that other processes store: seen by all clients, in order, each once."""

import asyncio
import logging

import pytest

from sophon.errors import StoreUnavailable
from sophon_hosting.events.remote_events import RemoteEvents
from sophon_hosting.fanout.contract import SessionAdvanced, SessionRemoved
from tests.hosting.events.remote.conftest import Client, Deployment, completed, progress, queued, until
from tests.postgres import needs_postgres


async def append_alternately(deployment: Deployment, count: int) -> Client:
    """Two processes store events of one session in turns, a client of a third one listens."""
    a, b, c = [await deployment.start() for _ in range(3)]
    at_a, at_c = await a.client(), await c.client()
    for number in range(count):
        process = (a, b)[number % 2]
        process.bus.emit(progress(number))
        if number % 3 == 0:
            await process.bus.flush("s")
        if number % 50 == 0:
            await asyncio.sleep(0)
    await a.bus.flush("s")
    await b.bus.flush("s")
    await asyncio.gather(at_a.until_seq(count), at_c.until_seq(count))
    assert at_a.seqs == list(range(1, count + 1))
    return at_c


async def test_a_thousand_events_of_two_processes_arrive_in_order_at_a_third(deployment: Deployment) -> None:
    client = await append_alternately(deployment, 1000)
    assert client.seqs == list(range(1, 1001))
    rows = await deployment.store.events.list_after("s", 0)
    assert [each.data["iteration"] for each in client.received] == [row.data["iteration"] for row in rows]


@needs_postgres
async def test_in_order_of_the_database_too(postgres_deployment: Deployment) -> None:
    client = await append_alternately(postgres_deployment, 1000)
    assert client.seqs == list(range(1, 1001))
    rows = await postgres_deployment.store.events.list_after("s", 0)
    assert [each.data["iteration"] for each in client.received] == [row.data["iteration"] for row in rows]


@needs_postgres
async def test_a_deleted_session_of_the_database_is_found_by_the_poll(postgres_deployment: Deployment) -> None:
    a, b = await postgres_deployment.start(), await postgres_deployment.start()
    client = await b.client()
    postgres_deployment.network.is_cut = True
    await a.bus.delete_session("s", postgres_deployment.store.sessions.delete)
    await postgres_deployment.store.sessions.get_or_create("s", "bob")
    await a.emit(progress(1), progress(2))
    await until(lambda: client.names == ["session_deleted"])


async def test_without_reading_what_is_missing_the_order_is_lost(
    deployment: Deployment, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def skip(self: RemoteEvents, seq: int) -> None:
        self.published = max(self.published or 0, seq)

    monkeypatch.setattr(RemoteEvents, "catch_up", skip)
    a, b = await deployment.start(), await deployment.start()
    client = await a.client()
    for process in (a, b, a):
        await process.emit(progress(1))
    assert client.seqs == [1, 3]


async def test_own_events_never_overtake_those_of_others(deployment: Deployment) -> None:
    a, b = await deployment.start(), await deployment.start()
    client = await a.client()
    deployment.network.is_cut = True
    await b.emit(progress(1), progress(2))
    await a.emit(progress(3))
    assert client.seqs == [1, 2, 3]


async def test_what_no_hint_tells_is_found_by_the_poll(deployment: Deployment) -> None:
    a, b = await deployment.start(), await deployment.start()
    client = await b.client()
    deployment.network.is_cut = True
    await a.emit(progress(1), progress(2))
    assert await client.until_seq(2) == [1, 2]


async def test_a_client_joins_at_another_host_where_it_left(deployment: Deployment) -> None:
    a, b = await deployment.start(), await deployment.start()
    await a.emit(progress(1), progress(2), progress(3))
    client = await b.client(last_seq=2)
    await a.emit(progress(4))
    assert await client.until_seq(4) == [3, 4]


async def test_who_joins_while_others_listen_repeats_nothing_for_them(deployment: Deployment) -> None:
    a, b = await deployment.start(), await deployment.start()
    first = await b.client()
    deployment.network.is_cut = True  # so that the join itself finds what is missing
    await a.emit(progress(1), progress(2))
    second = await b.client()
    assert (first.seqs, second.seqs) == ([1, 2], [1, 2])
    deployment.network.is_cut = False
    await a.emit(progress(3))
    assert await first.until_seq(3) == await second.until_seq(3) == [1, 2, 3]


async def test_who_subscribes_receives_later_events_only(deployment: Deployment) -> None:
    a, b = await deployment.start(), await deployment.start()
    await a.emit(progress(1))
    client = Client(b.bus)
    await b.bus.subscribe("s", client)
    await a.emit(progress(2))
    assert await client.until_seq(2) == [2]
    b.bus.unsubscribe("s", client)
    await a.emit(progress(3))
    await b.bus.subscribe("s", client)
    await a.emit(progress(4))
    assert await client.until_seq(4) == [2, 4]


async def test_one_process_acts_on_an_event_and_all_show_it(deployment: Deployment) -> None:
    a, b = await deployment.start(), await deployment.start()
    acting, showing = [Client(each.bus) for each in (a, b)], [Client(each.bus) for each in (a, b)]
    for client in acting:
        client.bus.subscribe_all(client)
    for client in showing:
        client.bus.subscribe_all(client, elsewhere=True)
    await b.client()
    await a.emit(queued(), progress(1))
    await a.emit(completed("done"))
    await showing[1].until_seq(3)
    assert [each.seqs for each in showing] == [[1, 2, 3], [1, 2, 3]]
    assert [each.seqs for each in acting] == [[1, 2, 3], []]
    assert [len(each.sink.events) for each in (a, b)] == [3, 0]
    for client in acting + showing:
        client.bus.unsubscribe_all(client)
    await a.emit(progress(9))
    assert showing[0].seqs == [1, 2, 3]


async def test_who_listens_to_all_sessions_hears_of_one_that_nobody_has_joined(deployment: Deployment) -> None:
    a, b = await deployment.start(), await deployment.start()
    await a.emit(progress(1))
    operator = Client(b.bus)
    b.bus.subscribe_all(operator, elsewhere=True)
    await a.emit(progress(2), progress(3))
    await operator.until_seq(3)
    await until(lambda: b.bus.session_count == 0)
    await a.emit(progress(4))
    assert await operator.until_seq(4) == [2, 3, 4]
    await until(lambda: b.bus.session_count == 0)


async def test_a_hint_that_is_wrong_changes_nothing(deployment: Deployment) -> None:
    a, b = await deployment.start(), await deployment.start()
    client = await b.client()
    a.fanout.publish(SessionAdvanced("s", 40))
    a.fanout.publish(SessionAdvanced("unknown", 3))
    a.fanout.publish(SessionRemoved("s"))
    await a.emit(progress(1))
    assert await client.until_seq(1) == [1]
    assert client.names == ["progress"]


async def test_a_session_that_another_process_deletes_ends_its_subscriptions(deployment: Deployment) -> None:
    a, b = await deployment.start(), await deployment.start()
    ended: list[str] = []

    async def end(session_id: str) -> None:
        ended.append(session_id)

    b.bus.add_deletion_callback(end)
    await a.emit(progress(1))
    client = await b.client()
    await a.bus.delete_session("s", deployment.store.sessions.delete)
    await until(lambda: "session_deleted" in client.names)
    assert set(ended) == {"s"}  # also twice, if the poll was faster than the hint
    await deployment.store.sessions.get_or_create("s", "bob")
    await a.emit(progress(2))
    assert (client.names, b.sink.events) == (["progress", "session_deleted"], [])
    assert (await b.client()).seqs == [1]


async def test_while_the_store_cannot_be_read_own_events_wait_for_their_turn(
    deployment: Deployment, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG, "sophon")
    a, b = await deployment.start(), await deployment.start()
    client, acting = await a.client(), Client(a.bus)
    a.bus.subscribe_all(acting)
    deployment.network.is_cut = True
    list_after = deployment.store.events.list_after
    refusals = 0

    async def refuse(*_: object, **__: object) -> object:
        nonlocal refusals
        refusals += 1
        raise StoreUnavailable("memory", "unreachable", "away")

    monkeypatch.setattr(deployment.store.events, "list_after", refuse)
    await b.emit(progress(1))
    await a.emit(progress(2))
    assert (client.seqs, acting.seqs) == ([], [2])
    assert refusals
    monkeypatch.setattr(deployment.store.events, "list_after", list_after)
    assert await client.until_seq(2) == [1, 2]
    await a.emit(progress(3))
    assert (client.seqs, acting.seqs) == ([1, 2, 3], [2, 3])


async def test_a_task_that_moves_here_is_not_reported_twice(deployment: Deployment) -> None:
    a, b = await deployment.start(), await deployment.start()
    await a.emit(queued())
    client = await a.client()
    await b.emit(progress(1))
    await client.until_seq(2)
    assert await a.bus.flush("s") is None
    await a.emit(queued(), progress(2))
    assert await client.until_seq(3) == [1, 2, 3]
    assert client.names == ["task_queued", "progress", "progress"]


async def test_a_process_alone_asks_the_store_for_nothing(deployment: Deployment) -> None:
    from sophon.clock import SystemClock
    from sophon_hosting.events.event_bus import EventBus
    from sophon_hosting.fanout.contract import NoFanout

    asked: list[str] = []

    class Asked:
        def __init__(self, part: object) -> None:
            self.part = part

        def __getattr__(self, name: str):
            asked.append(name)
            return getattr(self.part, name)

    store = deployment.store
    bus = EventBus(Asked(store.events), Asked(store.runs), SystemClock(), fanout=NoFanout())  # type: ignore[arg-type]
    bus.start()
    client = Client(bus)
    await bus.subscribe("s", client)
    bus.emit(progress(1))
    await bus.flush("s")
    assert (asked, client.seqs) == (["record"], [1])
    await bus.aclose()


async def test_the_poll_runs_although_sessions_are_joined_all_the_time(deployment: Deployment) -> None:
    """Each join asks for a look at its session; together they must not put off the look at all others."""
    a, b = await deployment.start(), await deployment.start()
    client = await b.client()
    await a.emit(progress(1))
    await client.until_seq(1)
    await asyncio.sleep(0.1)  # what the join itself has asked for is over
    deployment.network.is_cut = True
    await a.emit(progress(2))
    is_joining = True

    async def join_others() -> None:
        number = 0
        while is_joining:
            number += 1
            await Client(b.bus).join(session=f"other {number}")
            await asyncio.sleep(0.02)

    joining = asyncio.create_task(join_others())
    await client.until_seq(2)
    is_joining = False
    await joining

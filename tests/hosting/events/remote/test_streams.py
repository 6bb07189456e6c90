"""Replies that another process streams: the same text at every client, without gap or repetition."""

import asyncio

from sophon.events import AgentStatus, StreamReset
from sophon_hosting.fanout.contract import SnapshotWanted, StreamedText
from tests.hosting.events.remote.conftest import Deployment, chunk, completed, of, progress, queued, until


async def test_chunks_arrive_at_clients_of_another_process(deployment: Deployment) -> None:
    a, b = await deployment.start(), await deployment.start()
    at_a, at_b = await a.client(), await b.client()
    await a.emit(queued())
    for number in range(100):
        a.bus.emit(chunk(f"{number} "))
        await asyncio.sleep(0.001)
    text = "".join(f"{number} " for number in range(100))
    await asyncio.gather(at_a.until_text(text), at_b.until_text(text))
    assert at_b.names.count("stream_chunk") < 50  # merged, as here
    await a.emit(completed(text))
    await asyncio.gather(at_a.until_seq(2), at_b.until_seq(2))
    assert at_a.text == at_b.text == text
    assert not b.bus._sequencers["s"].publisher.stream_snapshots.replies


async def test_a_chunk_follows_what_was_stored_before_it(deployment: Deployment) -> None:
    a, b = await deployment.start(), await deployment.start()
    at_b = await b.client()
    for number in range(20):
        await a.emit(progress(number), chunk(f"{number} "), of(AgentStatus(status="thinking")))
    await at_b.until_seq(20)
    await until(lambda: at_b.names.count("agent_status") == 20)
    assert at_b.names == ["progress", "stream_chunk", "agent_status"] * 20


async def test_a_client_joins_in_the_middle_of_a_stream(deployment: Deployment) -> None:
    a, b = await deployment.start(), await deployment.start()
    await a.emit(queued(), chunk("The first words, "))
    at_b = await b.client()
    await at_b.until_text("The first words, ")
    second = await b.client()
    assert second.text == "The first words, "
    await a.emit(chunk("and the last."))
    await asyncio.gather(*(each.until_text("The first words, and the last.") for each in (at_b, second)))


async def test_the_answer_to_one_host_disturbs_no_other(deployment: Deployment) -> None:
    a, b, c = [await deployment.start() for _ in range(3)]
    at_b = await b.client()
    await a.emit(queued(), chunk("words"))
    await at_b.until_text("words")
    at_c = await c.client()
    await at_c.until_text("words")
    assert at_b.names.count("stream_chunk") == 1
    assert "stream_reset" not in at_b.names


async def test_a_lost_chunk_is_asked_for(deployment: Deployment) -> None:
    a, b = await deployment.start(), await deployment.start()
    at_b = await b.client()
    await a.emit(queued(), chunk("one "))
    await at_b.until_text("one ")
    deployment.network.is_cut = True
    await a.emit(chunk("two "))
    deployment.network.is_cut = False
    await a.emit(chunk("three "))
    await at_b.until_text("one two three ")


async def test_what_a_replaced_worker_streams_is_ignored(deployment: Deployment) -> None:
    a, b, c = [await deployment.start() for _ in range(3)]
    at_a, at_c = await a.client(), await c.client()
    await a.emit(queued(), chunk("old "))
    await asyncio.gather(at_a.until_text("old "), at_c.until_text("old "))
    b.starts["t"] = 2
    await b.emit(of(StreamReset(epoch=2, reason="resumed")), chunk("new ", epoch=2))
    await asyncio.gather(at_a.until_text("new "), at_c.until_text("new "))
    await a.emit(chunk("stale "))
    await b.emit(chunk("words", epoch=2))
    await asyncio.gather(at_a.until_text("new words"), at_c.until_text("new words"))
    assert "stale " not in str([each.data for each in [*at_a.received, *at_c.received]])


async def test_a_start_that_says_nothing_of_the_earlier_one_replaces_its_text(deployment: Deployment) -> None:
    a, b, c = [await deployment.start() for _ in range(3)]
    at_c = await c.client()
    await a.emit(queued(), chunk("old "))
    await at_c.until_text("old ")
    b.starts["t"] = 2
    await b.emit(chunk("new"))
    await at_c.until_text("new")


async def test_what_arrives_after_the_outcome_is_ignored(deployment: Deployment) -> None:
    a, b = await deployment.start(), await deployment.start()
    at_b = await b.client()
    await a.emit(queued(), chunk("words"))
    await a.emit(completed("words"))
    await at_b.until_seq(2)
    a.fanout.publish(StreamedText("s", "t", "t", 1, 1, 0, "words", 1))
    await a.emit(progress(3))
    await at_b.until_seq(3)
    assert at_b.names[-1] == "progress"
    assert at_b.text == "words"


async def test_a_large_text_of_another_process_can_be_read(deployment: Deployment) -> None:
    a, b = await deployment.start(), await deployment.start()
    text = "".join(f"{number} " for number in range(80_000))
    await a.emit(queued(), chunk(text))
    assert await b.bus.fetch_streamed_text("s", "t", 1, len(text)) == text
    assert await b.bus.fetch_streamed_text("s", "t", 1) == text
    await until(lambda: b.bus.session_count == 0)


async def test_nobody_is_told_the_text_of_what_others_stream(deployment: Deployment) -> None:
    a, b, c = [await deployment.start() for _ in range(3)]
    at_b = await b.client()
    await a.emit(queued(), chunk("words"))
    await at_b.until_text("words")
    told: list[object] = []
    c.fanout.subscribe(told.append)
    c.fanout.watch_session("s")
    a.fanout._network.members.remove(a.fanout)
    c.fanout.publish(SnapshotWanted("s"))
    await b.emit(progress(1))
    await until(lambda: any(getattr(each, "seq", 0) == 2 for each in told))
    assert not [each for each in told if isinstance(each, StreamedText)]


async def test_who_leaves_keeps_nothing(deployment: Deployment) -> None:
    a, b = await deployment.start(), await deployment.start()
    at_b = await b.client()
    await a.emit(queued(), chunk("words"))
    await at_b.until_text("words")
    b.bus.unsubscribe("s", at_b)
    assert b.bus.session_count == 0

"""A worker or a hub drains while a reply is streamed: clients get each chunk once and in its order."""

import asyncio

from tests.hosting.fanout.hosts.conftest import ANSWER, WORDS, Client, Site


async def begin_stream(site: Site, client: Client) -> None:
    """Let a turn stream its first words to a client."""
    await client.join("talk")
    await client.ask("send_message", content="hello", session_id="talk", stream=True)
    site.let_on(20)
    await client.until(lambda: client.text == "".join(WORDS[:20]))


def check_order(client: Client) -> None:
    assert [seq for seq, _ in client.durable] == list(range(1, len(client.durable) + 1))


async def test_a_worker_that_drains_within_its_grace_streams_to_the_end(site: Site) -> None:
    client = await site.client(await site.serve("a", runs_turns=False))
    await site.serve("worker", runs_turns=True)
    await begin_stream(site, client)
    worker = site.servers[1]
    draining = asyncio.create_task(site.drain(worker, 60))
    while not worker.host.is_shutting_down:
        await asyncio.sleep(0)
    site.let_on(40)
    await client.until_event("task_completed")
    await draining
    assert (client.streamed, site.ran) == ([ANSWER], ["worker"])
    check_order(client)


async def test_what_a_draining_worker_has_begun_is_streamed_anew_by_another(site: Site) -> None:
    client = await site.client(await site.serve("a", runs_turns=False))
    await site.serve("first", runs_turns=True)
    await begin_stream(site, client)
    await site.serve("second", runs_turns=True)
    await site.drain(site.servers[1], 0)
    site.let_on(60)
    await client.until_event("task_completed")
    assert (client.streamed, site.ran) == (["".join(WORDS[:20]), ANSWER], ["first", "second"])
    check_order(client)


async def test_a_client_of_a_draining_hub_goes_on_at_another(site: Site) -> None:
    client = await site.client(await site.serve("a", runs_turns=False))
    other = await site.serve("b", runs_turns=False)
    await site.serve("worker", runs_turns=True)
    await begin_stream(site, client)
    await site.drain(site.servers[0], 60)
    site.let_on(10)  # while the client is connected to none
    await client.move(other)
    await client.join("talk", last_seq=client.durable[-1][0])
    await client.until(lambda: client.text == "".join(WORDS[:30]))
    site.let_on(30)
    await client.until_event("task_completed")
    assert (client.streamed, site.ran) == (["".join(WORDS[:20]), ANSWER], ["worker"])
    check_order(client)

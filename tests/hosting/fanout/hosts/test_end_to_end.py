"""Clients of several hubs while another host runs the turn."""

import asyncio
import json

from tests.hosting.fanout.hosts.conftest import ANSWER, WORDS, Site
from tests.hosting.fanout.servers import Proxy


async def test_clients_of_two_hubs_see_the_turn_of_a_third_host(site: Site, proxy: Proxy) -> None:
    a, b = await site.serve("a", runs_turns=False), await site.serve("b", runs_turns=False)
    await site.serve("worker", runs_turns=True)
    at_a, at_b = await site.client(a), await site.client(b)
    await at_a.join("talk")
    await at_b.join("talk")
    await at_a.ask("send_message", content="hello", session_id="talk", stream=True)
    site.let_on(30)
    some = "".join(WORDS[:20])
    await asyncio.gather(*(each.until(lambda c=each: c.text.startswith(some)) for each in (at_a, at_b)))

    late = await site.client(b)  # in the middle of the stream, at a hub that knows the text so far
    await late.join("talk")
    await late.until(lambda: late.text.startswith(some))
    fresh = await site.client(await site.serve("c", runs_turns=False))  # and at one that must ask for it
    await fresh.join("talk")
    await fresh.until(lambda: fresh.text.startswith(some))

    site.let_on(30)
    clients = (at_a, at_b, late, fresh)
    await asyncio.gather(*(each.until_event("task_completed") for each in clients))
    assert [each.text for each in clients] == [ANSWER] * 4
    assert all(each.durable == at_a.durable for each in clients)
    assert [seq for seq, _ in at_a.durable] == list(range(1, len(at_a.durable) + 1))
    assert site.ran == ["worker"]

    again = await site.client(b)
    await again.join("talk", last_seq=3)
    assert again.durable == at_a.durable[3:]


async def test_without_the_fan_outs_server_nothing_is_lost(site: Site, proxy: Proxy) -> None:
    a = await site.serve("a", runs_turns=False)
    await site.serve("worker", runs_turns=True)
    at_a = await site.client(a)
    await at_a.join("talk")
    await at_a.ask("send_message", content="hello", session_id="talk", stream=True)
    site.let_on(20)
    await at_a.until(lambda: at_a.text)
    await proxy.cut()
    site.let_on(20)
    await at_a.ask("send_message", content="more", session_id="talk", stream=True)
    site.let_on(80)
    await at_a.until(lambda: [name for _, name in at_a.durable].count("task_completed") == 2)
    assert at_a.text == ANSWER
    assert [seq for seq, _ in at_a.durable] == list(range(1, len(at_a.durable) + 1))

    await proxy.start()
    fanout = site.servers[0].host.fanout
    async with asyncio.timeout(60):
        while not fanout.is_connected:
            await asyncio.sleep(0.01)
    await at_a.ask("send_message", content="again", session_id="talk", stream=True)
    site.let_on(60)
    await at_a.until(lambda: [name for _, name in at_a.durable].count("task_completed") == 3)
    assert [seq for seq, _ in at_a.durable] == list(range(1, len(at_a.durable) + 1))


async def test_http_waits_for_what_another_host_does(site: Site, proxy: Proxy) -> None:
    a = await site.serve("a", runs_turns=False)
    await site.serve("worker", runs_turns=True)
    http = site.http(a)
    site.let_on(60)
    # A long poll, as the MCP server uses it.
    accepted = (await http.post("/api/tasks", json={"content": "hello", "session_id": "talk"})).json()
    seen: list[str] = []
    seq = 0
    async with asyncio.timeout(60):
        while "task_completed" not in seen:
            page = (await http.get(f"/api/sessions/talk/events?after={seq}&wait=10")).json()["items"]
            seen += [each["event"] for each in page if each["data"]["task_id"] == accepted["task_id"]]
            seq = page[-1]["data"]["seq"] if page else seq
    # A stream of the OpenAI-compatible API.
    site.let_on(60)
    body = {"model": "sophon", "messages": [{"role": "user", "content": "hello"}], "stream": True}
    pieces: list[str] = []
    async with http.stream("POST", "/v1/chat/completions", json=body) as response:
        async for line in response.aiter_lines():
            pieces.append(line)
    assert pieces[-2:] == ["data: [DONE]", ""]
    assert all(word.strip() in "".join(pieces) for word in WORDS)
    site.let_on(60)
    body["stream"] = False
    answered = (await http.post("/v1/chat/completions", json=body)).json()
    assert answered["choices"][0]["message"]["content"] == ANSWER


async def test_a_polling_connection_belongs_to_one_hub(site: Site, proxy: Proxy) -> None:
    a, b = site.http(await site.serve("a", runs_turns=False)), site.http(await site.serve("b", runs_turns=False))
    path = "/socket.io/?EIO=4&transport=polling"
    opened = (await a.get(path)).text
    connection = json.loads(opened[1:])["sid"]
    assert (await a.post(f"{path}&sid={connection}", content="40")).status_code == 200
    assert (await b.post(f"{path}&sid={connection}", content="40")).status_code == 400


async def test_a_renamed_session_is_told_to_clients_of_other_hubs_that_did_not_join_it(
    site: Site, proxy: Proxy
) -> None:
    a, b = await site.serve("a", runs_turns=False), await site.serve("b", runs_turns=True)
    at_b = await site.client(b)
    await at_b.join("talk")
    joined = await site.client(a)
    await joined.join("talk")
    unjoined, near = await site.client(a), await site.client(b)
    answer = await site.http(b).patch("/api/sessions/talk", json={"title": "Words"})
    assert answer.status_code == 200, answer.text
    for client in (unjoined, near, joined, at_b):
        assert (await client.until_event("session_changed"))["title"] == "Words"
    for client in (unjoined, near, joined, at_b):
        await client.ask("list_sessions")
        assert [name for name, _ in client.received].count("session_changed") == 1

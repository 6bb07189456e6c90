"""The hub with socket.io-client under Node: send, stream, approve, come back, a second client, stop."""

import asyncio
import os
import signal
import sys
from pathlib import Path


async def test_a_message_is_streamed_and_answered(program, in_node) -> None:
    host = program().serve()
    client = await in_node(host.url)
    sent = await client.ask("send_message", {"content": "hello there", "session_id": "s"})
    done = await client.event("task_completed", task_id=sent["task_id"])
    chunks = [data for name, data in client.heard if name == "stream_chunk"]
    assert done["text"] == "".join(each["text"] for each in chunks) == "HELLO THERE"
    assert chunks[0]["offset"] == 0
    seqs = [data["seq"] for _, data in client.heard if "seq" in data]
    assert seqs == list(range(1, len(seqs) + 1))


async def test_a_question_stays_open_over_a_break_and_is_answered(program, in_node) -> None:
    here = program()
    client = await in_node(here.serve().url)
    sent = await client.ask("send_message", {"content": "pay Bob", "session_id": "s"})
    asked = await client.event("approval_requested")
    last = max(data["seq"] for _, data in client.heard if "seq" in data)
    await client.tell(command="drop")
    await client.connected(2)
    joined = await client.ask("join_session", {"session_id": "s", "last_seq": last})
    assert (joined["ok"], joined["events"]) == (True, [])
    decided = await client.ask("decide_approval", {"approval_id": asked["approval_id"], "decision": "approve"})
    assert decided["ok"]
    assert (await client.event("task_completed", task_id=sent["task_id"]))["text"] == "PAID BOB"
    assert here.paid() == ["Bob"]


async def test_who_comes_back_in_mid_stream_has_the_whole_text(program, in_node) -> None:
    here = program()
    client = await in_node(here.serve().url)
    sent = await client.ask("send_message", {"content": "tell", "session_id": "s"})
    await client.event("stream_chunk", text="one ")
    last = max(data["seq"] for _, data in client.heard if "seq" in data)
    await client.tell(command="drop")
    await client.connected(2)
    joined = await client.ask("join_session", {"session_id": "s", "last_seq": last})
    assert [(each["event"], each["data"].get("text")) for each in joined["events"]] == [
        ("stream_reset", None),
        ("stream_chunk", "one "),
    ]
    (here.folder / "go").touch()
    assert (await client.event("stream_chunk", text="two"))["offset"] == 4
    assert (await client.event("task_completed", task_id=sent["task_id"]))["text"] == "one two"


async def test_a_second_client_sees_the_same_and_stops_it(program, in_node, connect) -> None:
    here = program()
    host = here.serve()
    first, second = await in_node(host.url), await connect(host.url)
    await second.ask("join_session", {"session_id": "s"})
    sent = await first.ask("send_message", {"content": "wait", "session_id": "s"})
    await here.appears("waiting")
    stopped = await second.ask("cancel_task", {"task_id": sent["task_id"]})
    assert (stopped["ok"], stopped["status"]) == (True, "cancelled")
    await first.event("task_cancelled", task_id=sent["task_id"])
    await second.until("task_cancelled", task_id=sent["task_id"])
    durable = [[(name, data["seq"]) for name, data in each.heard if data.get("seq")] for each in (first, second)]
    assert durable[0] == durable[1]


async def test_a_client_finds_its_host_again_after_a_stop_and_after_a_kill(program, in_node) -> None:
    here = program()
    host = here.serve()
    client = await in_node(host.url)
    await client.connected()
    for times, number in enumerate((signal.SIGTERM, signal.SIGKILL), start=2):
        await host.ended(number)
        host = await asyncio.to_thread(here.serve, host.port)
        await client.connected(times)
    assert (await client.ask("list_sessions", {}))["ok"]


async def test_a_wrong_token_is_told(program, in_node, monkeypatch) -> None:
    monkeypatch.setenv("ADAS_TOKEN", "the token of ada")
    host = program(Hub={"Users": [{"Id": "ada", "Token": {"$env": "ADAS_TOKEN"}}]}).serve()
    client = await in_node(host.url, "wrong")
    assert (await client.until(lambda said: "refused" in said))["refused"]["code"] == "unauthorized"


EXAMPLES = Path(__file__).parents[3] / "docs" / "examples"


async def converse(*command: str, answer: str | None, **environment: str) -> str:
    """Run a client, and answer what it asks; None: close its input."""
    process = await asyncio.create_subprocess_exec(
        *command,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
        env={**os.environ, **environment},
    )
    assert process.stdin is not None
    assert process.stdout is not None
    out = b""
    async with asyncio.timeout(90):
        while piece := await process.stdout.read(4096):
            out += piece
            if b"approve or reject?" in out and not process.stdin.is_closing():
                if answer is None:
                    process.stdin.close()
                    continue
                process.stdin.write(f"{answer}\n".encode())
                await process.stdin.drain()
                answer = ""
        assert await process.wait() == 0, out.decode()
    return out.decode()


async def test_the_example_in_javascript_has_a_conversation_with_an_approval(program, node) -> None:
    here = program()
    url = here.serve().url
    modules = str(Path(__file__).with_name("node") / "node_modules")
    out = await converse(node, str(EXAMPLES / "client.js"), url, "-", "pay Bob", answer="approve", NODE_PATH=modules)
    assert "[pay]" in out
    assert "PAID BOB" in out
    assert here.paid() == ["Bob"]


async def test_the_example_in_python_has_a_conversation_with_an_approval(program) -> None:
    here = program()
    url = here.serve().url
    out = await converse(sys.executable, str(EXAMPLES / "client.py"), url, "-", "pay Bob", answer="approve")
    assert "[pay]" in out
    assert "PAID BOB" in out
    assert here.paid() == ["Bob"]


async def test_the_examples_end_with_their_input_and_leave_the_approval(program, node) -> None:
    here = program()
    url = here.serve().url
    modules = str(Path(__file__).with_name("node") / "node_modules")
    for command in ((sys.executable, str(EXAMPLES / "client.py")), (node, str(EXAMPLES / "client.js"))):
        out = await converse(*command, url, "-", "pay Bob", answer=None, NODE_PATH=modules)
        assert "approve or reject?" in out
    assert here.paid() == []

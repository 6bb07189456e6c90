"""The hub with socket.io-client under Node: send, stream, come back; and the examples of docs, which approve."""

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

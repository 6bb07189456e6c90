import asyncio
import sys

import socketio

client = socketio.AsyncClient()
over = asyncio.Event()
client.on("stream_chunk", lambda data: print(data["text"], end="", flush=True))
client.on("tool_call_started", lambda data: print(f"[{data['tool']}]"))
client.on("task_completed", lambda data: over.set())
client.on("task_failed", lambda data: over.set())


async def ask(data):
    answer = await asyncio.to_thread(input, f"{data['preview']}\napprove or reject? ")
    await client.call("decide_approval", {"approval_id": data["approval_id"], "decision": answer.strip()})


async def main(url, token, text):
    client.on("approval_requested", ask)
    await client.connect(url, auth={"token": token})
    print(await client.call("send_message", {"content": text, "session_id": "example"}))
    await over.wait()
    await client.disconnect()


asyncio.run(main(*sys.argv[1:]))

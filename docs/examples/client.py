import asyncio
import sys

import socketio

client = socketio.AsyncClient()
over = asyncio.Event()
client.on("stream_chunk", lambda data: print(data["text"], end="", flush=True))
client.on("tool_call_started", lambda data: print(f"[{data['tool']}]"))
for end in ("task_completed", "task_failed", "task_cancelled"):
    client.on(end, lambda data: over.set())


async def ask(data):
    answer = await asyncio.to_thread(input, f"{data['full_preview'] or data['preview']}\napprove or reject? ")
    said = await client.call("decide_approval", {"approval_id": data["approval_id"], "decision": answer.strip()})
    if not said["ok"] and said["error"]["code"] == "input":
        await ask(data)  # neither: once more


async def main(url, token, text):
    client.on("approval_requested", ask)
    await client.connect(url, auth={"token": token})
    sent = await client.call("send_message", {"content": text})
    print(sent)
    if sent["ok"]:
        await over.wait()
    await client.disconnect()


asyncio.run(main(*sys.argv[1:]))

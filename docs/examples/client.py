import asyncio
import sys

import aiohttp
import socketio

client = socketio.AsyncClient()
over = asyncio.Event()
url, token, text = sys.argv[1:]
written = 0  # characters of the reply
client.on("stream_reset", lambda data: globals().update(written=0))
client.on("tool_call_started", lambda data: print(f"[{data['tool']}]"))


async def whole(data, name):
    if name not in data.get("large", {}):
        return data[name]
    headers = {"Authorization": f"Bearer {token}"}
    async with aiohttp.ClientSession() as http, http.get(url + data["large"][name]["url"], headers=headers) as response:
        return (await response.json())["text"]  # a large text is not in the event


@client.on("stream_chunk")
async def write(data):
    global written
    if data["offset"] == written and "large" not in data:
        written += len(data["text"])
        print(data["text"], end="", flush=True)


async def end(data):
    text = await whole(data, "text")
    print(text[written:])  # what was not streamed
    over.set()


for name in ("task_completed", "task_failed", "task_cancelled"):
    client.on(name, end)


async def ask(data):
    shown = await whole(data, "full_preview") or await whole(data, "preview")
    answer = await asyncio.to_thread(input, f"{shown}\napprove or reject? ")
    said = await client.call("decide_approval", {"approval_id": data["approval_id"], "decision": answer.strip()})
    if not said["ok"] and said["error"]["code"] == "input":
        await ask(data)  # neither: once more


async def main():
    client.on("approval_requested", ask)
    await client.connect(url, auth={"token": token})
    sent = await client.call("send_message", {"content": text})
    print(sent)
    if sent["ok"]:
        await over.wait()
    await client.disconnect()


asyncio.run(main())

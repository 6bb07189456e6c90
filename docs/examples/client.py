import asyncio
import sys

import aiohttp
import socketio

client = socketio.AsyncClient()
over = asyncio.Event()
client.on("stream_chunk", lambda data: print(data["text"], end="", flush=True))
client.on("tool_call_started", lambda data: print(f"[{data['tool']}]"))
url, token, text = sys.argv[1:]


async def whole(data, name):  # a large text is not in the event, but at a URL of the host
    if name not in data.get("large", {}):
        return data[name]
    async with aiohttp.ClientSession(url, headers={"Authorization": f"Bearer {token}"}) as http:
        return (await (await http.get(data["large"][name]["url"])).json())["text"]


async def end(data):
    if "large" in data:
        print(f"\n{await whole(data, 'text')}")
    over.set()


async def ask(data):
    shown = await whole(data, "full_preview") or await whole(data, "preview")
    try:
        answer = await asyncio.to_thread(input, f"{shown}\napprove or reject? ")
    except EOFError:
        over.set()  # nobody is there to ask: the call waits for somebody else
        return
    said = await client.call("decide_approval", {"approval_id": data["approval_id"], "decision": answer.strip()})
    if not said["ok"] and said["error"]["code"] == "input":
        await ask(data)  # neither: once more


async def main():
    client.on("approval_requested", ask)
    for name in ("task_completed", "task_failed", "task_cancelled"):
        client.on(name, end)
    try:
        await client.connect(url, auth={"token": token})
    except socketio.exceptions.ConnectionError as error:
        sys.exit(f"{url}: {error}")
    print(sent := await client.call("send_message", {"content": text}))
    if sent["ok"]:
        await over.wait()
    await client.disconnect()


asyncio.run(main())

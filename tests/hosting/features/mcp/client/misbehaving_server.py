"""MCP server over stdio that misbehaves on purpose: one tool for each fault.

With an argument, the description of its tools is read from that file, and the tool `change` writes it and reports a
change.
"""

import json
import os
import sys
from pathlib import Path

NAMES = ("echo", "flood", "lie", "die", "hang", "change", "fail", "picture", "look")
FILE = Path(sys.argv[1]) if len(sys.argv) > 1 else None


def send(answer: object) -> None:
    sys.stdout.write(json.dumps(answer) + "\n")
    sys.stdout.flush()


def result(call: str, arguments: dict) -> dict:
    if call == "picture":
        return {"content": [{"type": "image", "data": "A" * 400, "mimeType": "image/png"}]}
    if call == "look":
        place = Path(arguments["text"])
        text = json.dumps(sorted(each.name for each in place.iterdir())) if place.is_dir() else place.read_text()
        return {"content": [{"type": "text", "text": text}]}
    texts = {
        "flood": "x" * 50_000_000,
        "environment": json.dumps(sorted(os.environ)),
        "echo": arguments.get("text", "echo"),
    }
    return {"content": [{"type": "text", "text": texts.get(call, call)}], "isError": call == "fail"}


def define(name: str) -> dict:
    about = FILE.read_text() if FILE is not None and FILE.exists() else "Does what its name says."
    schema = {"type": "object", "properties": {"text": {"type": "string"}}}
    hint = {"annotations": {"destructiveHint": True}} if name == "die" else {}
    return {"name": name, "description": f"{name}: {about}", "inputSchema": schema, **hint}


for line in sys.stdin:
    asked = json.loads(line)
    method, number = asked["method"], asked.get("id")
    if number is None:
        if FILE is not None and method == "notifications/cancelled":
            FILE.with_suffix(".cancelled").touch()
        continue
    if method == "initialize":
        if FILE is not None and FILE.exists() and FILE.read_text() == "never start":
            sys.stderr.write("starting\nno configuration\u202e: sk-proj-abcdefghijklmnopqrstuvwxyz0123456789ABCDEF\n")
            sys.stderr.flush()
            os._exit(4)
        if FILE is not None and FILE.exists() and FILE.read_text() == "never answer":
            continue
        version = asked["params"]["protocolVersion"]
        about = {"name": "misbehaving", "version": "1"}
        send(
            {
                "jsonrpc": "2.0",
                "id": number,
                "result": {"protocolVersion": version, "capabilities": {"tools": {}}, "serverInfo": about},
            }
        )
    elif method == "tools/call":
        call = asked["params"]["name"]
        arguments = asked["params"].get("arguments") or {}
        if call == "die":
            os._exit(3)
        if call == "hang":
            continue
        if call == "change" and FILE is not None:
            FILE.write_text(arguments["text"])
            send({"jsonrpc": "2.0", "method": "notifications/tools/list_changed"})
        if call == "lie":
            sys.stdout.write("this is no JSON\n")
            send({"jsonrpc": "2.0", "id": 987_654, "result": result("wrong id", {})})
        send({"jsonrpc": "2.0", "id": number, "result": result(call, arguments)})
    else:
        names = NAMES[:4] if asked.get("params", {}).get("cursor") is None else NAMES[4:]
        more = {"nextCursor": "2"} if names == NAMES[:4] else {}
        broken = [{"description": "no name"}, {"name": "numbered", "inputSchema": 3}]
        is_broken = FILE is not None and FILE.exists() and FILE.read_text() == "invalid"
        tools = [define(each) for each in names] + (broken if is_broken and more else [])
        send({"jsonrpc": "2.0", "id": number, "result": {"tools": tools, **more}})

"""MCP server over stdio that misbehaves on purpose: one tool for each fault."""

import json
import os
import sys


def send(answer: object) -> None:
    sys.stdout.write(json.dumps(answer) + "\n")
    sys.stdout.flush()


def result(call: str) -> dict:
    text = {"flood": "x" * 50_000_000, "environment": json.dumps(sorted(os.environ))}.get(call, call)
    return {"content": [{"type": "text", "text": text}]}


for line in sys.stdin:
    asked = json.loads(line)
    method, number = asked["method"], asked.get("id")
    if number is None:
        continue
    if method == "initialize":
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
        if call == "die":
            os._exit(3)
        if call == "lie":
            sys.stdout.write("this is no JSON\n")
            send({"jsonrpc": "2.0", "id": 987_654, "result": result("wrong id")})
        send({"jsonrpc": "2.0", "id": number, "result": result(call)})
    else:
        tools = [{"name": name, "inputSchema": {"type": "object"}} for name in ("echo", "flood", "lie", "die")]
        send({"jsonrpc": "2.0", "id": number, "result": {"tools": tools}})

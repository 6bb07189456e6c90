"""Recorded calls about the host: what it is, its queue, providers, tools, guards, tokens, settings and logs."""

import asyncio
import logging

from sophon.skills.custom_tools import CustomToolDraft
from sophon.stores.route_averages.route_average import RouteObservation
from sophon_channels.outbound_entry import OutboundEntry
from sophon_hosting.features.mcp.feature import MCP_SERVERS
from sophon_hosting.queue.contract import QueueEntry
from tests.hosting.features.settings.conftest import KEY, Provider
from tests.hosting.http.api_shapes.served import PATIENCE_SECONDS, Served

OF_OPERATORS = (
    "/api/hosts",
    "/api/providers",
    "/api/queue",
    "/api/routing",
    "/api/routing/explain?text=hello",
    "/api/audit",
    "/api/audit/verify",
    "/api/users",
    "/api/webhooks",
    "/api/settings",
    "/api/setup",
    "/api/usage",
)
OF_EVERYBODY = (
    "/api/me",
    "/api/chain",
    "/api/models",
    "/api/channels",
    "/api/policy",
    "/api/agents",
    "/api/agents/helper",
    "/api/tools",
    "/api/tools/version",
    "/api/tools/groups",
    "/api/skills",
)


async def call_all(served: Served) -> None:
    """Make the calls."""
    seen = RouteObservation("main/main", "all", "chat", served.services.clock.now(), cost_micros=1.0, latency_ms=2.0)
    await served.store.route_averages.add([seen])
    for path in OF_OPERATORS:
        await served.call(f"GET {path}", user="olga")
        await served.call(f"GET {path}", note="as a user")
    await call_tools(served)
    for path in OF_EVERYBODY:
        await served.call(f"GET {path}", user="olga", note="as an operator")
        await served.call(f"GET {path}")
    await call_queue(served)
    await call_tokens(served)
    await call_mcp(served)
    await call_switches(served)


async def call_tools(served: Served) -> None:
    """Switch, share and delete custom tools, and try a call."""
    custom_tools = served.services.assistant.custom_tools
    assert custom_tools is not None
    for name in ("double", "triple"):
        draft = CustomToolDraft(name, "Counts.", "print(1)", {"type": "object"})
        custom_tools.create(draft, owner="ada", at="2026-01-01")
    await served.call("PATCH /api/tools/double", {"enabled": False})
    await served.call("PATCH /api/tools/double", {"shared": True}, note="shared by a user")
    await served.call("PATCH /api/tools/none", {"enabled": False}, note="unknown")
    await served.call("DELETE /api/tools/triple")
    await served.call("DELETE /api/tools/triple", note="deleted before")
    await served.call("POST /api/policy/test", {"tool": "pay", "arguments": {"to": "Bob"}})
    await served.call("POST /api/policy/test", {"arguments": {}}, note="without a tool")


async def call_queue(served: Served) -> None:
    """Pause, drain and resume the queue, and enqueue dead letters again."""
    task_id = await served.finish("hello", "dead")
    run = await served.store.runs.get(task_id)
    await served.server.host.queue.put(QueueEntry(task_id, run.session_id, delivered_before=100))
    await served.store.outbox.add([OutboundEntry("e", None, "synthetic", "bot", "7", "text", {"text": "hello"})])
    await served.store.outbox.mark_dead("e", "403: blocked")
    await served.call("GET /api/queue/dead", user="olga")
    await served.call("GET /api/queue/dead", note="as a user")
    retried = await served.call(f"POST /api/queue/dead/{task_id}/retry", user="olga")
    await served.until_ended(retried.json()["task_id"])
    await served.call("POST /api/queue/dead/e/retry", user="olga", note="message to a chat")
    await served.call("POST /api/queue/dead/none/retry", user="olga", note="unknown")
    for act in ("pause", "drain", "resume"):
        await served.call(f"POST /api/queue/{act}", user="olga")
        await served.call(f"POST /api/queue/{act}", note="as a user")


async def call_tokens(served: Served) -> None:
    """Make, list, use and revoke a token."""
    made = await served.call("POST /api/tokens", {"user": "ada", "scopes": ["Read"], "name": "t"}, user="olga")
    await served.call("POST /api/tokens", {"user": "nobody", "scopes": ["Read"]}, user="olga", note="unknown user")
    await served.call("POST /api/tokens", {"user": "ada", "scopes": ["Read"]}, note="as a user")
    await served.call("GET /api/tokens", user="olga")
    await served.call("GET /api/tokens", note="as a user")
    headers = {"Authorization": f"Bearer {made.json()['token']}"}
    await served.call("GET /api/me", headers=headers, note="with a token")
    await served.call("POST /api/tasks", {"content": "hello"}, headers=headers, note="without the scope")
    path = f"/api/tokens/{made.json()['id']}"
    await served.call(f"DELETE {path}", user="olga")
    await served.call("DELETE /api/tokens/none", user="olga", note="unknown")


async def call_mcp(served: Served) -> None:
    """Accept a tool that has changed, and restart its server."""
    servers = served.server.host.feature_services.find(MCP_SERVERS)
    assert servers is not None
    await served.call("GET /api/mcp", user="olga")
    await served.call("GET /api/mcp", note="as a user")
    await served.services.registry.find("bad.change").invoke({"text": "New."}, None)
    async with asyncio.timeout(PATIENCE_SECONDS):
        while servers.list_status()[0].tools[0].state != "changed":
            await asyncio.sleep(0)
    changed = await served.call("GET /api/mcp", user="olga", note="changed")
    shown = changed.json()["items"][0]["tools"][0]
    await served.call("POST /api/mcp/bad/accept", {"tools": {shown["name"]: "0" * 64}}, user="olga", note="old digest")
    await served.call("POST /api/mcp/bad/accept", {"tools": {shown["name"]: shown["digest"]}}, user="olga")
    await served.call("POST /api/mcp/none/accept", {"tools": {}}, user="olga", note="unknown")
    await served.call("POST /api/mcp/bad/restart", user="olga")
    await served.call("POST /api/mcp/none/restart", user="olga", note="unknown")


async def call_switches(served: Served) -> None:
    """Use what only operators may: channels, providers, routing, webhooks, logs and settings."""
    await served.call("POST /api/channels/synthetic/attach", user="olga")
    await served.call("POST /api/channels/none/attach", user="olga", note="unknown")
    await served.call("POST /api/outbox/wake", user="olga")
    await served.call("POST /api/outbox/wake", note="as a user")
    await served.call("POST /api/providers/main/reset", user="olga")
    await served.call("POST /api/providers/none/reset", user="olga", note="unknown")
    await served.call("POST /api/routing/reset", user="olga")
    await served.call("POST /api/webhooks/monitor/test", {}, user="olga")
    await served.call("POST /api/webhooks/none/test", {}, user="olga", note="unknown")
    logging.getLogger("sophon").warning("the kettle is empty")
    await served.call("GET /api/logs?text=kettle&wait=10", user="olga")
    await served.call("GET /api/logs", note="as a user")
    await served.call("PATCH /api/settings", {"path": "ToolFilter.Top", "value": 50}, user="olga")
    await served.call("PATCH /api/settings", {"path": "Hub.Port", "value": 1}, user="olga", note="not changeable")
    await served.call("DELETE /api/settings/ToolFilter.Top", user="olga")


async def call_setup(served: Served, provider: Provider) -> None:
    """Set up a provider, which is the only one from then on, and remove it."""
    choice = {"type": "openai_compatible", "key": KEY, "base_url": provider.url}
    await served.call("POST /api/setup/models", choice, user="olga")
    await served.call("POST /api/setup/models", {**choice, "key": "wrong"}, user="olga", note="wrong key")
    await served.call("POST /api/setup/provider", {**choice, "model": "my-own"}, user="olga")
    await served.call("GET /api/setup", user="olga", note="saved")
    await served.call("GET /api/models", note="of a provider")
    await served.call("GET /api/providers", user="olga", note="with a key")
    await served.call("DELETE /api/setup/provider", user="olga")
    await served.call("DELETE /api/setup/provider", note="as a user")

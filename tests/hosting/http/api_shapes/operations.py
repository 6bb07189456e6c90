"""Recorded calls about the host: what it is, its queue, providers, tools, guards and logs."""

from tests.hosting.http.api_shapes.served import Served

OPERATOR_LISTS = (
    "/api/providers",
    "/api/queue",
    "/api/queue/dead",
    "/api/routing",
    "/api/routing/explain?text=hello",
    "/api/audit",
    "/api/audit/verify",
    "/api/users",
    "/api/tokens",
    "/api/mcp",
    "/api/webhooks",
    "/api/settings",
    "/api/setup",
    "/api/logs?limit=1",
    "/api/usage",
)
LISTS = (
    "/api/me",
    "/api/chain",
    "/api/hosts",
    "/api/models",
    "/api/channels",
    "/api/policy",
    "/api/preferences",
    "/api/agents",
    "/api/agents/helper",
    "/api/tools",
    "/api/tools/version",
    "/api/tools/groups",
    "/api/skills",
    "/api/traces",
    "/api/replay-choices",
    "/api/trajectories",
    "/api/usage/turns",
    "/api/workspace",
    "/api/workspace/USER.md",
    "/api/memory",
    "/api/memory/export",
    "/api/schedules",
    "/api/goals",
    "/api/attachments",
    "/v1/models",
)


async def call_all(served: Served) -> None:
    """Make the calls."""
    for path in OPERATOR_LISTS:
        await served.call(f"GET {path}", user="olga")
        await served.call(f"GET {path}", note="as a user")
    for path in LISTS:
        await served.call(f"GET {path}", user="olga", note="as an operator")
        await served.call(f"GET {path}")

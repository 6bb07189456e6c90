"""The API answers with the recorded shapes, and every route and client event has one.

A change that is meant is recorded by `python -m tests.hosting.http.api_shapes`.
"""

from pathlib import Path

from sophon_hosting.hub.client_event_payloads import PAYLOAD_MODELS
from tests.hosting.http.api_shapes.recorder import find_problems, list_successes, read_recording
from tests.hosting.http.api_shapes.scenario import play
from tests.hosting.http.api_shapes.served import serve

RECORD = "if this is meant, run `python -m tests.hosting.http.api_shapes`, and say it in CHANGELOG.md"

MISSING = {
    "DELETE /api/attachments/{attachment_id}",
    "DELETE /api/goals/{goal_id}",
    "DELETE /api/memory",
    "DELETE /api/memory/{entry_id}",
    "DELETE /api/persons/{person}",
    "DELETE /api/schedules/{schedule_id}",
    "DELETE /api/settings/{path}",
    "DELETE /api/setup/provider",
    "DELETE /api/tokens/{token_id}",
    "DELETE /api/tools/{name}",
    "GET /api/attachments/{attachment_id}",
    "GET /api/goals/{goal_id}",
    "GET /api/memory/{entry_id}",
    "GET /api/persons/{person}",
    "GET /api/schedules/{schedule_id}",
    "GET /api/sessions/{session_id}/texts/{text_id}",
    "GET /api/traces/{task_id}",
    "GET /api/traces/{task_id}/messages",
    "GET /api/trajectories/{task_id}",
    "PATCH /api/memory/{entry_id}",
    "PATCH /api/schedules/{schedule_id}",
    "PATCH /api/settings",
    "PATCH /api/tools/{name}",
    "POST /api/agents/cancel",
    "POST /api/attachments",
    "POST /api/channels/{name}/attach",
    "POST /api/goals",
    "POST /api/goals/{goal_id}/cancel",
    "POST /api/goals/{goal_id}/pause",
    "POST /api/goals/{goal_id}/resume",
    "POST /api/mcp/{server_id}/accept",
    "POST /api/mcp/{server_id}/restart",
    "POST /api/memory/import",
    "POST /api/outbox/wake",
    "POST /api/policy/test",
    "POST /api/providers/{provider_id}/reset",
    "POST /api/queue/dead/{task_id}/retry",
    "POST /api/queue/drain",
    "POST /api/queue/pause",
    "POST /api/queue/resume",
    "POST /api/routing/reset",
    "POST /api/schedules",
    "POST /api/sessions/import",
    "POST /api/setup/models",
    "POST /api/setup/provider",
    "POST /api/tokens",
    "POST /api/tools/{name}/call",
    "POST /api/traces/{task_id}/replay",
    "POST /api/webhooks/{webhook_id}/test",
    "POST /v1/chat/completions",
    "PUT /api/preferences",
    "PUT /api/workspace/{name}",
    "event cancel_task",
    "event decide_approval",
    "event join_session",
    "event leave_session",
    "event list_approvals",
    "event list_sessions",
    "event list_tasks",
    "event regenerate",
    "event send_feedback",
    "event send_message",
}
"""Routes and events that the scenario does not reach yet."""


async def test_every_answer_has_the_recorded_shape(tmp_path: Path) -> None:
    served = await play(tmp_path)
    problems = find_problems(read_recording(), served.recorder.rows)
    assert not problems, "\n".join([*problems, RECORD])


async def test_every_route_and_client_event_is_recorded(tmp_path: Path) -> None:
    async with serve(tmp_path) as served:
        routes = {
            f"{route.method} {route.resource.canonical}"
            for route in served.routes.routes()
            if route.resource is not None
            and route.resource.canonical.startswith(("/api/", "/v1/"))
            and route.method != "HEAD"
        }
    registered = routes | {f"event {name}" for name in PAYLOAD_MODELS}
    assert registered - list_successes(read_recording()) == MISSING

"""Following of a task until it has ended: reports its progress, and cancels it if nobody waits for it any more."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, TypeAlias

import anyio

from sophon.clock import Clock
from sophon.errors import SophonError
from sophon.events import event_type
from sophon_hosting.features.sessions.history_operations import list_session_events
from sophon_hosting.features.tasks.operations import cancel_task, get_task
from sophon_hosting.operations.client import AsyncClient, HostUnreachable

log = logging.getLogger("sophon.mcp")

JsonRow: TypeAlias = Mapping[str, Any]
"""JSON object of an answer."""

Report: TypeAlias = Callable[[str], Awaitable[None]]

WAIT_SECONDS = 10.0
"""How long one request waits for the next event; then the task itself is looked at."""

RETRY_SECONDS = 0.25
"""Pause before a host that does not answer is asked again."""

LOST_SECONDS = 20.0
"""How long a host may not answer before the call ends with an error; a host that restarts is waited for that long."""

CANCEL_SECONDS = 5.0

EVENTS_PER_PAGE = 1000

MAX_TEXT_CHARACTERS = 300


async def follow_task(api: AsyncClient, accepted: JsonRow, report: Report, clock: Clock) -> JsonRow:
    """Return a task once it is finished. Raises HostError, HostUnreachable.

    If this coroutine is cancelled, it cancels the task before it ends.
    """
    task_id = str(accepted["task_id"])
    try:
        return await _follow(api, task_id, str(accepted["session_id"]), report, clock)
    except asyncio.CancelledError:
        with anyio.CancelScope(shield=True), anyio.move_on_after(CANCEL_SECONDS):
            try:
                await api.call(cancel_task, task_id=task_id)
            except SophonError as error:
                log.warning("task %s could not be cancelled: %s", task_id, error)
        raise


async def _follow(api: AsyncClient, task_id: str, session_id: str, report: Report, clock: Clock) -> JsonRow:
    seq, answered_at = 0, clock.monotonic()
    while True:
        try:
            rows = (
                await api.call(
                    list_session_events, session_id=session_id, after=seq, limit=EVENTS_PER_PAGE, wait=WAIT_SECONDS
                )
            )["items"]
            answered_at = clock.monotonic()
            seq = max([seq, *(int(row["data"]["seq"]) for row in rows)])
            own = [row for row in rows if row["data"].get("task_id") == task_id]
            for row in own:
                text = describe_progress(str(row["event"]), row["data"])
                if text is not None:
                    await report(text)
            # Old events are trimmed, so silence is looked into as well.
            if not rows or any(event_type(str(row["event"])).is_final for row in own):
                task = await api.call(get_task, task_id=task_id)
                if task["finished_at"] is not None:
                    return task
        except HostUnreachable:
            if clock.monotonic() - answered_at >= LOST_SECONDS:
                raise
            await clock.sleep(RETRY_SECONDS)


def describe_progress(event: str, data: Mapping[str, Any]) -> str | None:
    """Return what an event of a task says about its progress in one line; None if it says nothing."""
    text = _describe(event, data)
    return None if text is None else " ".join(text.split())[:MAX_TEXT_CHARACTERS]


def _describe(event: str, data: Mapping[str, Any]) -> str | None:
    match event:
        case "task_queued":
            return "queued"
        case "task_started":
            return "started"
        case "tool_call_started":
            return f"{data.get('tool')} runs"
        case "tool_call_completed":
            return f"{data.get('tool')}: {data.get('outcome')}"
        case "approval_requested":
            who = "an operator" if data.get("needs_operator") else "a person"
            number = data.get("approval_id")
            how = f"decide it on the page, or with `sophon approvals approve {number}`"
            return f"{data.get('tool')} waits for {who}: {how}"
        case "approval_resolved":
            return f"decided: {data.get('decision')}"
        case "plan_step_changed":
            return f"step {data.get('step_id')}: {data.get('status')}"
        case "message" if data.get("role") == "assistant":
            return str(data.get("content") or "") or None
        case _:
            return None

"""Following of a task until it has ended: reports its progress, and cancels it if nobody waits for it any more."""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import TypeAlias

import anyio

from sophon.clock import Clock
from sophon.errors import SophonError
from sophon_hosting.mcp_server.host_api import HostApi, HostUnreachable, JsonRow
from sophon_hosting.mcp_server.progress_text import describe_progress

log = logging.getLogger("sophon.mcp")

Report: TypeAlias = Callable[[str], Awaitable[None]]

FIRST_POLL_SECONDS, LONGEST_POLL_SECONDS = 0.03, 1.0
"""Pauses between two looks at a task: they double from the first to the longest, and start again when it moves."""

LOST_SECONDS = 5.0
"""How long a host may not answer before the call ends with an error; a host that restarts is waited for that long."""

CANCEL_SECONDS = 5.0


async def follow_task(api: HostApi, accepted: JsonRow, report: Report, clock: Clock) -> JsonRow:
    """Return a task once it is finished. Raises HostRefused, HostUnreachable.

    If this coroutine is cancelled, it cancels the task before it ends.
    """
    task_id = str(accepted["task_id"])
    try:
        return await _follow(api, task_id, str(accepted["session_id"]), report, clock)
    except asyncio.CancelledError:
        with anyio.CancelScope(shield=True), anyio.move_on_after(CANCEL_SECONDS):
            try:
                await api.cancel_task(task_id)
            except SophonError as error:
                log.warning("task %s could not be cancelled: %s", task_id, error)
        raise


async def _follow(api: HostApi, task_id: str, session_id: str, report: Report, clock: Clock) -> JsonRow:
    seq, pause, answered_at = 0, FIRST_POLL_SECONDS, clock.monotonic()
    while True:
        try:
            task = await api.get_task(task_id)
            page = await api.list_events(session_id, seq)
            rows, answered_at = list(page["items"]), clock.monotonic()
        except HostUnreachable:
            if clock.monotonic() - answered_at >= LOST_SECONDS:
                raise
            page, rows, task = {"more": False}, [], None
        for row in rows:
            data = row["data"]
            seq = max(seq, int(data["seq"]))
            text = describe_progress(str(row["event"]), data) if data.get("task_id") == task_id else None
            if text is not None:
                await report(text)
        if page["more"]:  # earlier turns of the session
            continue
        if task is not None and task["finished_at"] is not None:
            return task
        pause = FIRST_POLL_SECONDS if rows else min(pause * 2, LONGEST_POLL_SECONDS)
        await clock.sleep(pause)

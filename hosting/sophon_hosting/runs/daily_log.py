"""Daily log: a line per message of the last two days, made from the stored runs, and deleted with them."""

from collections.abc import Sequence
from datetime import timedelta

from sophon.context import Context
from sophon_hosting.runs.data_owner_and_chat_overrides import audience_of_run
from sophon_hosting.runs.own_text import own_text_of_run
from sophon_hosting.store.contract import host_store

MAX_LINES = 40
LINE_CHARACTERS = 100
DAYS = 2
"""Today and yesterday, in UTC. Source: Sophon's guide, memory."""


async def read_daily_log(ctx: Context) -> Sequence[str]:
    """Return the lines that a turn may see, oldest first: of its person's chats, in a group those of the group.

    A line has what the person wrote themselves, nothing that they forwarded. Raises StoreError.
    """
    runs = host_store(ctx.services).runs
    # A group has one session per thread; a person may have many.
    session_id, owner = (ctx.session_id, None) if ctx.group else (None, ctx.principal)
    found = await runs.list(session_id=session_id, owner=owner, limit=MAX_LINES, whole=False)
    first_day = (ctx.services.clock.now() - timedelta(days=DAYS - 1)).date()
    lines: list[str] = []
    for run in reversed(found):
        text = " ".join(own_text_of_run(run).split())[:LINE_CHARACTERS]
        is_visible = audience_of_run(run).data_owner == ctx.data_owner and run.id != ctx.task_id
        if text and is_visible and run.created_at is not None and run.created_at.date() >= first_day:
            lines.append(f"- {run.created_at:%Y-%m-%d %H:%M} {text}")
    return lines

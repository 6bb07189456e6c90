"""Retention of goals: those that ended `Goals.KeepDays` ago, with the sessions that they worked in."""

from collections.abc import Mapping
from contextlib import suppress
from datetime import timedelta
from typing import TYPE_CHECKING, Final

from sophon.errors import NotFound
from sophon_hosting.features.goals.settings import GoalsSettings
from sophon_hosting.features.goals.stored_goals import stored_goals

if TYPE_CHECKING:
    from sophon_hosting.retention import SweptStore

BATCH_SIZE: Final = 100
"""Goals that are looked for at once; each is deleted in a transaction of its own."""


async def delete_ended_goals(swept: "SweptStore") -> Mapping[str, int]:
    """Delete old goals and return how many. A goal is deleted with its first session of work, if there is one."""
    if (days := swept.settings.section(GoalsSettings).keep_days) is None:
        return {}
    store, before, deleted = stored_goals(swept.store), swept.now - timedelta(days=days), 0
    while expired := await store.list_expired(before, BATCH_SIZE):
        for goal in expired:
            for session_id in goal.list_work_sessions():
                with suppress(NotFound):  # a step runs in the first one that is free, so that most have no second
                    await swept.sessions.delete_session(session_id)
            await store.remove(goal.id)
        deleted += len(expired)
    return {"goals": deleted}

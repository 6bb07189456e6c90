"""Goals in the store, for the commands while no host answers: whose a goal is that nobody signed in for."""

from sophon.clock import SystemClock
from sophon.errors import InputError
from sophon.goals.goal import Goal
from sophon.principals import LOCAL_USER
from sophon.settings import Settings
from sophon.stores.contract import Store


async def find_goal_owner(store: Store, settings: Settings, session_id: str | None) -> str:
    """Return the owner of a goal: the local user, or on a host with users whoever wrote last in the session.

    Raises InputError if that is nobody: such a goal would run, and no user would see it.
    """
    if not settings.hub.users:
        return LOCAL_USER
    if session_id is None:
        raise InputError("give --session: this host has several users, and the goal belongs to whoever wrote there")
    newest = await store.runs.list(session_id=session_id, limit=1, whole=False)
    if not newest:
        raise InputError(f"nobody has written in session {session_id!r}, so nobody owns a goal there")
    return newest[0].owner


async def delete_stored_goal(store: Store, goal: Goal) -> None:
    """Delete a goal with the sessions that it works in; no host may run, so that no step of it begins meanwhile."""
    if await store.sessions.find(goal.work_session_id) is not None:
        await store.sessions.delete(goal.work_session_id)  # in one transaction, and the goal with it
        return
    if goal.is_live:
        await store.goals.change(goal.move("cancel", "it is deleted", SystemClock().now()))
    await store.goals.remove(goal.id)

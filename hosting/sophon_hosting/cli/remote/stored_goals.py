"""Goals in the store, for the commands while no host answers: whose a goal is that nobody signed in for."""

from sophon.errors import InputError
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

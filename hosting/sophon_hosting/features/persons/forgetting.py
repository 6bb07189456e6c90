"""Forgetting a person: everything that is kept of them is deleted, in an order that an interruption can be repeated."""

from collections.abc import Awaitable, Callable, Sequence
from datetime import UTC
from typing import Final

from sophon._python.lazy_dataclass import dataclass
from sophon.clock import Clock
from sophon.errors import InputError, NotFound
from sophon.memory.full_text_scan import forget_words
from sophon.memory.workspace_files import forget_workspace_texts
from sophon.memory.workspace_index import forget_workspace_indexes
from sophon.principals import LOCAL_USER, RESERVED_NAMES, memory_scope
from sophon.stores.memories.long_term_memory import LongTermMemory
from sophon.stores.usage.contract import Period
from sophon_hosting.features.person_export_items import ALL
from sophon_hosting.features.persons.channel_notes import find_notes
from sophon_hosting.features.persons.person_files import PersonFiles, PersonFolders
from sophon_hosting.store.contract import HostStore

ROUNDS: Final = 5
"""How often the sessions are looked up: a message that comes meanwhile opens a new one."""


@dataclass(frozen=True, slots=True)
class Forgotten:
    """How many of each kind were deleted, and the sessions of others, such as groups, where the person wrote."""

    counts: dict[str, int]
    other_sessions: Sequence[str]


class PersonForgetting:
    """Deletes what is kept of a person. `delete_session` is that of the host, or of the store while none runs.

    Of the usage and the audit log the numbers and the hashes stay; the session of an amount and every text go. Averages
    of routes name no person. Messages in sessions of others, such as groups, belong to those, and are named.
    """

    def __init__(
        self,
        store: HostStore,
        memory: LongTermMemory,
        clock: Clock,
        folders: PersonFolders,
        delete_session: Callable[[str], Awaitable[None]],
    ) -> None:
        self._store, self._memory, self._clock, self._folders = store, memory, clock, folders
        self._delete_session = delete_session

    async def forget(self, person: str) -> Forgotten:
        """Delete everything; a call that was interrupted can be repeated. Raises InputError, Busy, StoreError, OSError.

        Sessions are first: then no turn writes for the person any more.
        """
        check_person(person)
        store, counts = self._store, dict[str, int]()
        notes = await find_notes(store.channel_state, person, [each.id for each in await store.sessions.list(person)])
        counts["sessions"] = await self._delete_sessions(person)
        counts["memories"] = await self._memory.forget_all(memory_scope(person))
        counts["audit_texts"] = await store.audit.blank_texts(person)
        snapshots = await store.snapshots.list(person, limit=ALL)
        files = PersonFiles(self._folders, person)
        # Before their rows, so that a repeated call still knows the copies.
        counts["files"] = await self._clock.run_in_thread(lambda: files.remove(snapshots))
        today = self._clock.now().astimezone(UTC).date().isoformat()
        counts |= await store.persons.forget(person, Period(today, today[:7]))
        for note in notes:
            counts["channel_notes"] = counts.get("channel_notes", 0) + await store.channel_state.remove(
                note.channel, note.account, note.kind, note.key
            )
        forget_words()
        forget_workspace_texts()
        forget_workspace_indexes()
        await store.maintenance.reclaim_space()
        others = {run.session_id: None for run in await store.runs.list(owner=person, limit=ALL, whole=False)}
        return Forgotten({kind: count for kind, count in counts.items() if count}, [*others])

    async def _delete_sessions(self, person: str) -> int:
        deleted = 0
        for _ in range(ROUNDS):
            found = await self._store.sessions.list(person)
            if not found:
                break
            for session in found:
                try:
                    await self._delete_session(session.id)
                    deleted += 1
                except NotFound:
                    continue  # deleted by somebody else meanwhile
        return deleted


def check_person(person: str) -> None:
    """Raise InputError for what names no person: nothing, and names that the host itself uses."""
    if not person or (person in RESERVED_NAMES and person != LOCAL_USER):
        raise InputError(
            f"{person!r} is no person; give one as ada, local, telegram:5, or a group as telegram:chat:-100"
        )

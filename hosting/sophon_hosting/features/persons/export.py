"""Export of everything that is kept of a person, as JSON values of one kind each."""

import base64
from collections.abc import AsyncIterator, Sequence
from datetime import UTC
from functools import partial
from typing import Any, Final

from sophon.clock import Clock
from sophon.stores.audit.audit_event import AuditFilter
from sophon.stores.snapshots.stored_snapshot import StoredSnapshot
from sophon.stores.usage.contract import Period
from sophon.traces.serialization import trace_to_json
from sophon_hosting.features.person_export_items import ALL, to_json
from sophon_hosting.features.persons.channel_notes import find_notes
from sophon_hosting.features.persons.person_files import PersonFiles, PersonFolders
from sophon_hosting.features.registry import list_person_data
from sophon_hosting.features.sessions.session_export import session_record_to_json, session_summary_to_json
from sophon_hosting.store.contract import HostStore

FORMAT_VERSION: Final = 1
AUDIT_PAGE: Final = 1000


class PersonExport:
    """Reads what is kept of a person. A host may run meanwhile."""

    def __init__(self, store: HostStore, clock: Clock, folders: PersonFolders) -> None:
        self._store, self._clock, self._folders = store, clock, folders

    async def read(self, person: str) -> AsyncIterator[dict[str, Any]]:
        """Yield one JSON value per thing, each with a `kind`, that of kind `person` first. Raises StoreError, OSError.

        Kinds: session (with records and approvals), memory, task, sub_agent, feedback, trajectory, trace, those of
        features (goal, schedule), preferences, grant, token (without its digest), usage, account, channel, snapshot
        (contents in base64), attachment (content in base64), workspace, audit.
        """
        now = self._clock.now().isoformat()
        yield {"kind": "person", "version": FORMAT_VERSION, "person": person, "exported_at": now}
        kept = (self._read_sessions, self._read_turns, self._read_features, self._read_rights, self._read_files)
        for part in (*kept, self._read_audit):
            async for item in part(person):
                yield item

    async def _read_sessions(self, person: str) -> AsyncIterator[dict[str, Any]]:
        from sophon.stores.memories.exported_entry import entry_to_json  # lazy: it needs pydantic

        store = self._store
        for session in await store.sessions.list(person):
            records = await store.sessions.list_records(session.id)
            approvals = await store.approvals.list(open_only=False, session_id=session.id)
            yield {
                "kind": "session",
                "session": session_summary_to_json(session),
                "records": [session_record_to_json(each) for each in records],
                "approvals": [to_json(each) for each in approvals],
            }
            for total in await store.usage.list_totals(session_id=session.id):
                yield {"kind": "usage", "session_id": session.id, **to_json(total)}
        for entry in await store.memories.list_all(scope=person):
            yield {"kind": "memory", "entry": entry_to_json(entry)}

    async def _read_turns(self, person: str) -> AsyncIterator[dict[str, Any]]:
        store = self._store
        for run in await store.runs.list(owner=person, limit=ALL):
            yield {"kind": "task", **to_json(run)}
            for worker in await store.sub_agents.list_for_task(run.id):
                yield {"kind": "sub_agent", **to_json(worker)}
            for said in await store.trajectories.list_feedback(run.id):
                if said.principal == person:
                    yield {"kind": "feedback", **to_json(said)}
        for trajectory in await store.trajectories.list(principal=person, limit=ALL):
            yield {"kind": "trajectory", **trajectory.to_json()}
        for trace in await store.traces.list(principal=person, limit=ALL):
            yield {"kind": "trace", **trace_to_json(trace)}

    async def _read_rights(self, person: str) -> AsyncIterator[dict[str, Any]]:
        store, now = self._store, self._clock.now()
        if said := (await store.preferences.get(person)).to_json():
            yield {"kind": "preferences", "preferences": said}
        for grant in await store.grants.list_active(now, principal=person):
            yield {"kind": "grant", **to_json(grant)}
        for token in await store.api_tokens.list(person):
            yield {"kind": "token", **{name: part for name, part in to_json(token).items() if name != "digest"}}
        today = now.astimezone(UTC).date().isoformat()
        account = await store.usage.get_payer_spending(person, Period(today, today[:7]))
        yield {"kind": "account", "day": today, **to_json(account)}
        sessions = [each.id for each in await store.sessions.list(person)]
        for note in await find_notes(store.channel_state, person, sessions):
            yield {"note": note.kind, **to_json(note), "kind": "channel"}

    async def _read_features(self, person: str) -> AsyncIterator[dict[str, Any]]:
        for data in list_person_data():
            for value in await data.read(self._store, person):
                yield {"kind": data.kind, data.kind: value}

    async def _read_files(self, person: str) -> AsyncIterator[dict[str, Any]]:
        files = PersonFiles(self._folders, person)
        for snapshot in await self._store.snapshots.list(person, limit=ALL):
            contents = await self._clock.run_in_thread(partial(files.read_copies, snapshot))
            yield _snapshot_to_json(snapshot, contents)
        for stored in await self._store.attachments.list(person):
            content = await self._store.attachments.read(stored.attachment.id)
            yield {
                "kind": "attachment",
                **to_json(stored),
                "content": None if content is None else base64.b64encode(content).decode(),
            }
        for name, text in (await self._clock.run_in_thread(files.read_workspace)).items():
            yield {"kind": "workspace", "name": name, "text": text}

    async def _read_audit(self, person: str) -> AsyncIterator[dict[str, Any]]:
        before: int | None = None
        while True:
            page = await self._store.audit.list_entries(AuditFilter(principal=person), before=before, limit=AUDIT_PAGE)
            for entry in page:
                yield {"kind": "audit", "number": entry.number, **entry.fields, "texts": dict(entry.texts)}
            if len(page) < AUDIT_PAGE:
                return
            before = page[-1].number


def _snapshot_to_json(snapshot: StoredSnapshot, contents: Sequence[bytes | None]) -> dict[str, Any]:
    event = to_json(snapshot.event)
    for file, content in zip(event["files"], contents, strict=True):
        file["content"] = None if content is None else base64.b64encode(content).decode()
    return {"kind": "snapshot", "number": snapshot.number, **event}

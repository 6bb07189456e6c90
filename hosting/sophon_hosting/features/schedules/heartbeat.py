"""Heartbeat: runs the entries of HEARTBEAT.md, each in a silent session of its own."""

import asyncio
import hashlib
import logging
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any, Final

from sophon.errors import InputError, NotFound, SophonError
from sophon.failure_log import log_failure
from sophon.memory.workspace_files import open_workspace_file
from sophon.memory.workspace_templates import HEARTBEAT_FILE
from sophon.principals import LOCAL_USER, files_folder, hub_user_principal
from sophon.scheduled_turns import SCHEDULED_ORIGIN, build_scheduled_text
from sophon.settings import Settings
from sophon_hosting.background_tasks import end_tasks
from sophon_hosting.channels.unattended_owner_rights import find_level_problem
from sophon_hosting.features.schedules.firing import find_governor
from sophon_hosting.features.schedules.heartbeat_file import (
    HeartbeatEntry,
    HeartbeatFile,
    build_heartbeat_text,
    is_no_op_reply,
    parse_heartbeat,
)
from sophon_hosting.features.schedules.occurrences import Recurrence, check_cron
from sophon_hosting.features.schedules.schedule_service import ScheduleService
from sophon_hosting.features.schedules.settings import SchedulesSettings
from sophon_hosting.host import Host, RunRequest
from sophon_hosting.runs.own_text import OWN_TEXT
from sophon_hosting.settings.hub import HubSettings
from sophon_hosting.store.contract import host_store
from sophon_hosting.store.runs.contract import InboundKey, Run

log = logging.getLogger("sophon")

HEARTBEAT_CHANNEL: Final = "heartbeat"
"""Channel of runs whose answers go nowhere, and of their de-duplication keys; no platform has this name."""

SESSION_PREFIX: Final = "heartbeat-"
MAX_FILE_BYTES: Final = 100_000
KEPT_SILENT: Final = timedelta(minutes=10)
"""How long a session stays in which nothing was said: with it goes the key by which a second host knows the run."""


class Heartbeat:
    """Reads HEARTBEAT.md of each user once a minute, as it is then, and runs the entries of this minute.

    Each entry runs once in a minute, over several processes too; the leader of `heartbeat` reads the files that it has.
    What was missed while no host ran is not made up for. A run has a session of its own, so its context is small; one
    whose reply is the no-op token is deleted later.
    """

    def __init__(self, host: Host) -> None:
        self._host, self._services = host, host.services
        self._clock, self._settings = host.services.clock, host.services.settings.section(SchedulesSettings)
        self._problems: set[tuple[str, str]] = set()
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        """Begin with the next minute; the host must have started."""
        self._task = asyncio.create_task(self._host.membership.leadership.lead("heartbeat", self.run_forever))

    async def stop(self) -> None:
        """Start no run any more."""
        await end_tasks(self._task)
        self._task = None

    async def run_forever(self) -> None:
        """Fire at the beginning of each minute, until cancelled."""
        while True:
            now = self._clock.now()
            await self._clock.sleep(60 - now.second - now.microsecond / 1_000_000)
            try:
                await self.fire()
            except Exception as error:  # noqa: BLE001 - logged, and tried again
                log_failure(log, error, "the heartbeat failed; the next one follows")

    async def fire(self) -> None:
        """Run the entries of the present minute, and delete sessions in which nothing was said."""
        minute = self._clock.now().replace(second=0, microsecond=0)
        for owner, path in list_heartbeat_files(self._services.settings, self._services.folder):
            found = await self._clock.run_in_thread(partial(read_heartbeat, path))
            for entry in found.entries:
                if self._is_due(entry, owner, minute):
                    await self._run(entry, found.instructions, owner, minute)
            if found.entries:
                await self._delete_silent_sessions(owner, minute)

    def _is_due(self, entry: HeartbeatEntry, owner: str, minute: datetime) -> bool:
        try:
            recurrence = Recurrence("cron", check_cron(entry.cron), self._settings.time_zone, minute)
            return recurrence.find_next(minute - timedelta(seconds=1)) == minute
        except InputError as error:
            if (owner, entry.cron) not in self._problems:
                self._problems.add((owner, entry.cron))
                log.warning("%s of %s: %s", HEARTBEAT_FILE, owner, error)
            return False

    async def _run(self, entry: HeartbeatEntry, instructions: str, owner: str, minute: datetime) -> None:
        digest = hashlib.sha256(f"{owner}\n{entry.cron}\n{entry.task}".encode()).hexdigest()[:12]
        key = InboundKey(HEARTBEAT_CHANNEL, owner, f"{digest}:{minute.astimezone(UTC).isoformat()}")
        text = build_heartbeat_text(entry, instructions)
        channel, origin = await self._find_chat(owner)
        if problem := find_level_problem(self._services, owner, channel):
            if (owner, problem) not in self._problems:
                self._problems.add((owner, problem))
                log.warning("%s of %s does not run: %s", HEARTBEAT_FILE, owner, problem)
            return
        request = RunRequest(
            text=build_scheduled_text("heartbeat", text),
            session_id=f"{SESSION_PREFIX}{minute:%Y%m%dT%H%M}-{digest}",
            session_owner=owner,
            owner=owner,
            channel=channel,
            account=str(origin.get("account", "")),
            origin={**origin, SCHEDULED_ORIGIN: HEARTBEAT_CHANNEL, OWN_TEXT: text},
            model=self._settings.heartbeat.model,
            key=key,
        )
        try:
            async with self._host.unattended_starts.of(owner):
                waits = await self._start(request)
        except SophonError as error:
            log.warning("the heartbeat %r of %s did not run: %s", entry.task[:60], owner, error)
        else:
            if waits:
                log.warning("the heartbeat %r of %s does not run now: %s", entry.task[:60], owner, waits)

    async def _start(self, request: RunRequest) -> str:
        """Accept a run; return which limit of its owner keeps it from starting, "" if none does. Raises SophonError."""
        governor = find_governor(self._services)
        if governor is not None and (waits := await governor.find_turn_refusal(self._services, request.owner)):
            return waits
        receipt = await self._host.accept(request)
        if governor is not None and receipt.created:
            await governor.record(request.owner, tasks=1)
        return ""

    async def _find_chat(self, owner: str) -> tuple[str, Mapping[str, Any]]:
        """Return channel and origin of the chat that gets what is said; without its place it sees nobody typing.

        Each user writes a file of their own: only those of operators, and of whose chat it is, speak there.
        """
        session = self._settings.heartbeat.session
        if session is None or not await self._may_write_to(session, owner):
            return HEARTBEAT_CHANNEL, {}
        service = ScheduleService(host_store(self._services), self._clock, self._settings)
        found = await service.find_destination(session)
        if found is None:
            return HEARTBEAT_CHANNEL, {}
        return found.channel, {name: value for name, value in found.origin.items() if name != "place"}

    async def _may_write_to(self, session_id: str, owner: str) -> bool:
        users = self._services.settings.section(HubSettings).users
        if owner in ([hub_user_principal(user.id) for user in users if user.operator] if users else [LOCAL_USER]):
            return True
        session = await host_store(self._services).sessions.find(session_id)
        return session is not None and session.owner == owner

    async def _delete_silent_sessions(self, owner: str, minute: datetime) -> None:
        for session in await host_store(self._services).sessions.list(owner):
            if not session.id.startswith(SESSION_PREFIX) or minute - session.updated_at < KEPT_SILENT:
                continue
            runs = await host_store(self._services).runs.list(session_id=session.id, whole=False)
            if len(runs) == 1 and is_silent(runs[0]):
                try:
                    await self._host.delete_session(session.id)
                except NotFound:
                    continue  # another host was faster


def is_silent(run: Run) -> bool:
    """Return whether a scheduled run has said that there is nothing to say. Pure."""
    text = str((run.response or {}).get("text") or "")
    return run.status == "completed" and SCHEDULED_ORIGIN in run.origin and is_no_op_reply(text)


def list_heartbeat_files(settings: Settings, folder: Path) -> list[tuple[str, Path]]:
    """Return the file of each user of the host, with its owner; none without `Memory.Directory`."""
    directory = settings.memory.directory
    if directory is None:
        return []
    base = (folder / directory.expanduser()).absolute()
    owners = [hub_user_principal(user.id) for user in settings.section(HubSettings).users] or [LOCAL_USER]
    return [(owner, base / files_folder(owner) / HEARTBEAT_FILE) for owner in owners]


def read_heartbeat(path: Path) -> HeartbeatFile:
    """Return the entries of a file as it is now; none if there is no such file. Blocks."""
    try:
        with open_workspace_file(path) as stream:
            return parse_heartbeat(stream.read(MAX_FILE_BYTES).decode("utf-8", "replace"))
    except OSError:
        return HeartbeatFile()

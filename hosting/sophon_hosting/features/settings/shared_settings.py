"""Changed settings of a group of processes: the store has what operators changed, and the fan-out says when to look.

A row per setting, so that two changes of different settings at two processes are both kept. What a reset removed has a
row as well; a setting without a row stays as each process has saved it itself.
"""

import asyncio
import logging
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any

from sophon.clock import Clock
from sophon.errors import SettingsError
from sophon.failure_log import log_failure
from sophon.settings.changeable import split_changeable
from sophon.settings.saved_settings import remove_value, set_value
from sophon_hosting.fanout.contract import HintsLost, HostFanout, HostMessage, Wake
from sophon_hosting.features.settings.live_settings import LiveSettings, Share
from sophon_hosting.store.channel_state.channel_state_entry import ChannelStateEntry
from sophon_hosting.store.channel_state.sql import ChannelStateStore

log = logging.getLogger("sophon")

OWNER, KIND = "host", "changed_setting"
"""Names of the rows in the channel state; no channel is called `host`."""

VALUE = "value"
"""Field of a row; one without it was reset."""

HINT = "settings"

CHECK_SECONDS = 30.0
"""How often the store is read, for hints that were lost."""


class SharedSettings:
    """Applies the changes of other processes of the group to `live`, which shares its own by `share_change`. Keeps
    them in the file of this process as well, so that it starts with them.
    """

    def __init__(self, live: LiveSettings, state: ChannelStateStore, fanout: HostFanout, clock: Clock) -> None:
        self._live, self._state, self._fanout, self._clock = live, state, fanout, clock
        self._is_due = asyncio.Event()
        self._refused: list[tuple[str, Mapping[str, Any]]] = []
        """Changes that the log has told of."""
        self._task: asyncio.Task[None] | None = None

    async def start(self) -> None:
        """Apply what others changed, and go on doing so in the background. Raises StoreError."""
        await self.apply_changes()
        self._fanout.subscribe(self._receive)
        self._task = asyncio.create_task(self._run())

    async def stop(self) -> None:
        """Apply nothing any more."""
        task, self._task = self._task, None
        if task is not None:
            self._fanout.unsubscribe(self._receive)
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task

    async def apply_changes(self) -> None:
        """Read the changes of all processes, and apply those that this one does not have. Raises StoreError."""
        async with self._live.lock:
            rows = await self._state.list(KIND, OWNER)
            saved = self._live.loaded.saved.read()
            try:
                self._live.adopt(merge_changes(saved, rows))
            except SettingsError:
                self._live.adopt(merge_changes(saved, self._select_valid(saved, rows)))

    def _select_valid(self, saved: Mapping[str, Any], rows: Sequence[ChannelStateEntry]) -> Sequence[ChannelStateEntry]:
        """Return the changes whose values this version takes; another one may have made the rest."""
        valid: list[ChannelStateEntry] = []
        for row in rows:
            try:
                self._live.loaded.with_saved(merge_changes(saved, [*valid, row]))
            except SettingsError as error:
                if (row.key, row.value) not in self._refused:
                    self._refused.append((row.key, row.value))
                    log.warning("a changed setting of another process is not taken: %s", error)
            else:
                valid.append(row)
        return valid

    def _receive(self, message: HostMessage) -> None:
        if isinstance(message, HintsLost) or message == Wake(HINT):
            self._is_due.set()

    async def _run(self) -> None:
        while True:
            with suppress(TimeoutError):
                async with self._clock.timeout(CHECK_SECONDS):
                    await self._is_due.wait()
            self._is_due.clear()
            try:
                await self.apply_changes()
            except Exception as error:  # noqa: BLE001 - logged, and tried again
                log_failure(log, error, "settings that another process changed could not be applied")


def merge_changes(saved: Mapping[str, Any], rows: Sequence[ChannelStateEntry]) -> dict[str, Any]:
    """Return what a process has saved, with the changes of all processes. Pure.

    Settings that this version does not know as changeable are left out: a process of another version changed them.
    """
    values = dict(saved)
    for row in rows:
        parts = split_changeable(row.key)
        if parts is None:
            continue
        values = set_value(values, parts, row.value[VALUE]) if VALUE in row.value else remove_value(values, parts)
    return values


def share_change(state: ChannelStateStore, fanout: HostFanout) -> Share:
    """Return what stores a change for the other processes of a group, and tells them of it."""

    async def share(path: str, change: Mapping[str, Any]) -> None:
        await state.put(ChannelStateEntry(OWNER, "", KIND, path, change))
        fanout.publish(Wake(HINT))

    return share

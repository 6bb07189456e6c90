"""The settings of a running host: what they are, where they come from, and the change of those that can change."""

import asyncio
import logging
import os
from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, TypeAlias

from sophon.composition.configured_secrets import collect_secrets
from sophon.errors import InputError, NotFound, SettingsError
from sophon.services import Services
from sophon.settings.changeable import list_changeable, split_changeable
from sophon.settings.loader import LoadedSettings
from sophon.settings.root import Settings
from sophon.settings.saved_settings import remove_value, set_value
from sophon_hosting.features.settings.change_audit import record_change
from sophon_hosting.settings.logging import LoggingSettings
from sophon_hosting.store.contract import host_store

if TYPE_CHECKING:
    from sophon.settings.effective_rows import SettingRow

log = logging.getLogger("sophon")

Share: TypeAlias = Callable[[str, Mapping[str, Any]], Awaitable[None]]
"""Tells the other processes of a change: the path, and the value, which a reset does not have. Raises StoreError."""


class LiveSettings:
    """Changes settings while the host runs: validates, saves, records in the audit log, and applies them.

    Turns that run keep what they began with. `services` is the host's first, then its views with a store of their own.
    `on_applied` are called with the settings after each change; a group of processes has `share`.
    One change at a time. Nothing else is read from the files again: what was edited there holds from the next start on.
    """

    def __init__(
        self,
        services: Sequence[Services],
        loaded: LoadedSettings,
        *,
        on_applied: Sequence[Callable[[Settings], None]] = (),
        share: Share | None = None,
    ) -> None:
        self.loaded = loaded
        self.lock = asyncio.Lock()
        """Held during a change, from reading what was saved to applying it."""
        self._services, self._share = services, share
        self._on_applied = (make_level_listener(loaded.settings.section(LoggingSettings).level), *on_applied)

    async def list(self) -> "list[SettingRow]":
        """Return all settings with their sources; a secret is its reference, or `***`."""
        from sophon.settings.effective_rows import list_effective_settings  # lazy: it needs pydantic

        return await asyncio.to_thread(list_effective_settings, self.loaded, _find_in_force(self.loaded))

    async def change(self, path: str, value: object, *, by: str) -> "SettingRow":
        """Set a setting and save it. Raises NotFound, InputError, SettingsError, StoreError; then nothing changed."""
        parts = _check_changeable(path)
        async with self.lock:
            self._check_not_overridden(path)
            values = set_value(self.loaded.saved.read(), parts, value)
            await self._save(values, path, "set", by, {"value": value})
        return await self._find(path)

    async def reset(self, path: str, *, by: str) -> "SettingRow":
        """Remove what was saved for a setting. Raises what `change` raises."""
        parts = _check_changeable(path)
        async with self.lock:
            await self._save(remove_value(self.loaded.saved.read(), parts), path, "reset", by, {})
        return await self._find(path)

    def apply(self, loaded: LoadedSettings) -> None:
        """Let turns that start from now on use these settings."""
        self.loaded = loaded
        from sophon_middlewares.chains.chain_settings import complete_for_chain  # lazy: it imports the stages

        collect_secrets(loaded.settings, os.environ)
        completed = complete_for_chain(loaded.settings)  # once: chains know the last settings by identity
        for services in self._services:
            services.use_settings(completed)
        for listener in self._on_applied:
            listener(loaded.settings)

    def adopt(self, values: Mapping[str, Any]) -> None:
        """Save and apply what other processes changed, if it differs; the caller holds `lock`. Raises SettingsError.

        A file that cannot be written does not hinder: the next start reads the changes again.
        """
        loaded = self.loaded.with_saved(values)
        before, after = (each.settings.model_dump(mode="json", by_alias=True) for each in (self.loaded, loaded))
        changed = [path for path in list_changeable() if _find(before, path) != _find(after, path)]
        if values != self.loaded.saved.read():
            try:
                self.loaded.saved.write(values)
            except SettingsError as error:
                log.warning("what another process changed is not saved here: %s", error)
        if not changed:
            return
        self.apply(loaded)
        for path in changed:
            new, old = _find(after, path), _find(before, path)
            log.info("the setting %s was changed at another process: %r instead of %r", path, new, old)

    async def _save(
        self, values: Mapping[str, Any], path: str, outcome: str, by: str, shared: Mapping[str, Any]
    ) -> None:
        loaded = self.loaded.with_saved(values)
        before, after = (_read(_find_in_force(each), path) for each in (self.loaded, loaded))
        services = self._services[0]
        change = partial(record_change, host_store(services), services.clock, by=by, what="settings", name=path)
        await change(outcome=outcome, details={"from": before, "to": after})
        earlier = self.loaded.saved.read()
        try:
            self.loaded.saved.write(values)
        except SettingsError as error:
            await change(outcome="failed", details={"problem": str(error)})
            raise
        if self._share is not None:
            try:
                await self._share(path, shared)
            except BaseException:
                self.loaded.saved.write(earlier)
                raise
        self.apply(loaded)
        log.info("the setting %s was changed by %s: %r instead of %r", path, by, after, before)

    def _check_not_overridden(self, path: str) -> None:
        source = find_override(self.loaded, tuple(path.split(".")))
        if source is not None:
            raise InputError(f"{path} is set by {source}, which overrides what would be saved; change it there")

    async def _find(self, path: str) -> "SettingRow":
        return next(row for row in await self.list() if row.path == path)


def find_override(loaded: LoadedSettings, path: tuple[str, ...]) -> str | None:
    """Return the source that overrides what the host saves: an environment variable or the command line; else None."""
    sources = [each.source for each in loaded.layers]
    source = loaded.find_source(path)
    later = sources[sources.index(loaded.saved_source) + 1 :]
    return source if source in later else None


def _find_in_force(loaded: LoadedSettings) -> Settings:
    from sophon_middlewares.chains.chain_settings import complete_for_chain  # lazy: it imports the stages

    return complete_for_chain(loaded.settings)


def _check_changeable(path: str) -> tuple[str, ...]:
    parts = split_changeable(path)
    if parts is None:
        raise NotFound("setting that can change while the host runs", path, [])
    return parts


def make_level_listener(level: str) -> Callable[[Settings], None]:
    """Return a listener that sets the level of the log when the setting changes."""

    def apply_level(settings: Settings) -> None:
        nonlocal level
        if settings.section(LoggingSettings).level != level:
            level = settings.section(LoggingSettings).level
            logging.getLogger().setLevel(level.upper())

    return apply_level


def _read(settings: Settings, path: str) -> Any:
    return _find(settings.model_dump(mode="json", by_alias=True), path)


def _find(value: Any, path: str) -> Any:
    for part in path.split("."):
        value = value[part]
    return value

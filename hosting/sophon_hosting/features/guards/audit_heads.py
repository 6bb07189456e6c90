"""Signed heads of the audit chain: written by a host every minute, and read by `sophon audit verify`."""

import asyncio
import logging
import os
import tempfile
from collections.abc import Mapping
from pathlib import Path

from sophon._python.private_files import make_private_folder
from sophon.clock import Clock
from sophon.errors import InputError
from sophon.failure_log import log_failure
from sophon.security.audit.audit_head import MIN_KEY_BYTES, AuditHead, HeadError, read_head, sign_head
from sophon.settings import Settings
from sophon.stores.audit.audit_event import AuditVerification
from sophon_hosting.store.contract import HostStore

log = logging.getLogger("sophon")

INTERVAL_SECONDS = 60.0
"""Time between two heads: the entries of the last minute are not covered by one."""

MAX_HEAD_BYTES = 4096


class AuditHeadWriter:
    """Writes the signed head of the chain to `Guards.Audit.HeadFile`.

    A head that the chain contradicts is not replaced: it is the evidence.
    """

    def __init__(self, store: HostStore, clock: Clock, file: Path, key: str) -> None:
        self._store, self._clock, self._file, self._key = store, clock, file, key

    async def run_forever(self) -> None:
        """Write a head at once and every `INTERVAL_SECONDS`, until cancelled."""
        while True:
            await self._store.health.wait_until_available()
            try:
                await self.write()
            except Exception as error:  # noqa: BLE001 - logged, and tried again
                log_failure(log, error, "the head of the audit log could not be signed; the next attempt follows")
            await self._clock.sleep(INTERVAL_SECONDS)

    async def write(self) -> None:
        """Sign the newest entry, if the chain still has the one that was signed last. Raises HeadError, OSError."""
        newest = await self._store.audit.list_entries(limit=1)
        before = await self._clock.run_in_thread(lambda: load_head(self._file, self._key))
        if before is not None:
            at_head = await self._store.audit.list_after(before.number - 1, 1)
            if at_head and at_head[0].number == before.number and at_head[0].hash != before.hash:
                raise HeadError(f"the entry {before.number} of the audit log is not the one that was signed")
            if newest and newest[0].number < before.number:
                raise HeadError(f"the audit log ends at {newest[0].number}, and {before.number} was signed")
        if newest and (before is None or newest[0].number > before.number):
            line = sign_head(newest[0].number, newest[0].hash, self._clock.now(), self._key)
            await self._clock.run_in_thread(lambda: _replace(self._file, line))


def find_signing_key(settings: Settings, environment: Mapping[str, str]) -> str | None:
    """Return the key of the heads; None if none is set. Raises InputError for one that is missing or too short."""
    secret = settings.guards.audit.signing_key
    if secret is None:
        return None
    key = secret.resolve(environment)
    if key is None:
        raise InputError(f"Guards.Audit.SigningKey is not there: {secret.source_description}")
    if len(key.encode()) < MIN_KEY_BYTES:
        raise InputError(f"Guards.Audit.SigningKey has less than {MIN_KEY_BYTES} bytes")
    return key


async def verify_store(
    store: HostStore, settings: Settings, folder: Path, environment: Mapping[str, str]
) -> AuditVerification:
    """Check the hash chain of a store, and its signed head if there is a key. Raises InputError, StoreError."""
    key = find_signing_key(settings, environment)
    if key is None:
        return await store.audit.verify(None)
    file = folder / settings.guards.audit.head_file
    try:
        head = await asyncio.to_thread(load_head, file, key)
    except HeadError as error:
        return AuditVerification(0, None, f"{file}: {error}")
    found = await store.audit.verify(head)
    if head is None and found.count and not found.problem:
        return AuditVerification(found.count, None, f"there is no signed head {file}")
    return found


def load_head(file: Path, key: str) -> AuditHead | None:
    """Return the head in a file; None without one. Raises HeadError, OSError."""
    try:
        with file.open(encoding="utf-8", errors="replace") as opened:
            return read_head(opened.read(MAX_HEAD_BYTES), key)
    except FileNotFoundError:
        return None


def _replace(file: Path, line: str) -> None:
    make_private_folder(file.parent)
    descriptor, temporary = tempfile.mkstemp(dir=file.parent, prefix=f".{file.name}.")  # mode 0600
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8") as opened:
            opened.write(line)
            opened.flush()
            os.fsync(opened.fileno())
        Path(temporary).replace(file)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise

"""The audit log, for operators."""

import os
from collections.abc import Sequence
from typing import Any

from sophon.security.audit_chain import AuditEntry
from sophon.stores.audit.contract import AuditFilter, AuditVerification
from sophon_hosting.audit_heads import verify_store
from sophon_hosting.client_api.user_access import UserAccess


class AuditLog:
    """The audit log of the host, each operation with its permission check."""

    def __init__(self, access: UserAccess) -> None:
        self._access = access

    async def list(self, wanted: AuditFilter, *, before: int | None, limit: int) -> Sequence[AuditEntry]:
        """Return entries, the newest first. Operators only. Raises Forbidden, ScopeNeeded."""
        self._access.require_operator()
        return await self._access.store.audit.list_entries(wanted, before=before, limit=limit)

    async def verify(self) -> AuditVerification:
        """Check the chain and its signed head. Operators only. Raises Forbidden, ScopeNeeded, InputError."""
        self._access.require_operator()
        services = self._access.host.services
        return await verify_store(services.store, services.settings, services.folder, os.environ)


def audit_entry_to_json(entry: AuditEntry) -> dict[str, Any]:
    """Return an entry of the audit log: its fields and texts, without digests and salts."""
    return {"number": entry.number, **entry.fields, **{name: entry.texts[name] for name in sorted(entry.texts)}}

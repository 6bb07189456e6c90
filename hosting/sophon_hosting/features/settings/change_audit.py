"""Audit entries of what operators change on a host."""

import json
from typing import Any

from sophon.clock import Clock
from sophon.stores.audit.audit_event import AuditEvent
from sophon_hosting.store.contract import HostStore


async def record_change(
    store: HostStore, clock: Clock, *, by: str, what: str, name: str, outcome: str, details: dict[str, Any]
) -> None:
    """Append an entry: who changed what, and to what. `details` must hold no secret. Raises StoreError."""
    text = json.dumps(details, ensure_ascii=False, default=str)
    event = AuditEvent(
        at=clock.now(),
        event="changed",
        session_id="",
        principal=by,
        capability=what,
        rule=name,
        outcome=outcome,
        texts={"input": text},
    )
    await store.audit.append([event])

"""Verification of an audit chain between its two ends: a pure function over its entries in order."""

from collections.abc import Iterable

from sophon.security.audit_chain import AuditEntry, verify_audit
from sophon.stores.audit.contract import AuditChainState, AuditVerification


def verify_entries(entries: Iterable[AuditEntry], state: AuditChainState) -> AuditVerification:
    """Return the first entry that breaks the chain from its anchor to its newest entry.

    The two ends show a deletion at the beginning or at the end, which the entries alone do not.
    """
    previous_number, previous_hash = state.anchor_number, state.anchor_hash
    count = 0
    for entry in entries:
        if entry.number != previous_number + 1:
            missing = previous_number + 1
            return AuditVerification(count, missing, f"the entry {missing} is missing; {entry.number} follows")
        if verify_audit([entry.to_line()], previous_hash=previous_hash) is not None:
            return AuditVerification(count, entry.number, f"the entry {entry.number} was changed")
        previous_number, previous_hash, count = entry.number, entry.hash, count + 1
    if (previous_number, previous_hash) == (state.number, state.hash):
        return AuditVerification(count)
    if previous_number == state.number:
        return AuditVerification(count, state.number, f"the entry {state.number} is not the one that was appended")
    missing = previous_number + 1
    return AuditVerification(count, missing, f"the entry {missing} is missing: the chain ends at {state.number}")

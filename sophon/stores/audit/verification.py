"""Verification of an audit chain between its two ends: a pure function over its entries in order."""

from collections.abc import Iterable

from sophon.security.audit_chain import AuditEntry, verify_audit
from sophon.security.audit_head import AuditHead
from sophon.stores.audit.contract import AuditChainState, AuditVerification


def verify_entries(
    entries: Iterable[AuditEntry], state: AuditChainState, head: AuditHead | None = None
) -> AuditVerification:
    """Return the first entry that breaks the chain from its anchor to its newest entry.

    The two ends show a deletion at the beginning or at the end, which the entries alone do not. A signed head shows the
    same where the ends were changed with them.
    """
    previous_number, previous_hash = state.anchor_number, state.anchor_hash
    count = 0
    for entry in entries:
        if entry.number != previous_number + 1:
            missing = previous_number + 1
            return AuditVerification(count, missing, f"the entry {missing} is missing; {entry.number} follows")
        if verify_audit([entry.to_line()], previous_hash=previous_hash) is not None:
            return AuditVerification(count, entry.number, f"the entry {entry.number} was changed")
        if head is not None and entry.number == head.number and entry.hash != head.hash:
            return AuditVerification(count, entry.number, f"the entry {entry.number} is not the one that was signed")
        previous_number, previous_hash, count = entry.number, entry.hash, count + 1
    if (previous_number, previous_hash) == (state.number, state.hash):
        return _compare_ends(count, state, head)
    if previous_number == state.number:
        return AuditVerification(count, state.number, f"the entry {state.number} is not the one that was appended")
    missing = previous_number + 1
    return AuditVerification(count, missing, f"the entry {missing} is missing: the chain ends at {state.number}")


def _compare_ends(count: int, state: AuditChainState, head: AuditHead | None) -> AuditVerification:
    """Return whether an intact chain reaches from before the signed entry up to it."""
    if head is None or state.anchor_number < head.number <= state.number:
        return AuditVerification(count)
    if head.number > state.number:
        missing = state.number + 1
        return AuditVerification(count, missing, f"the entry {missing} is missing: the signed head is {head.number}")
    # A host signs within a minute, and retention keeps the entries of a day.
    if (head.number, head.hash) == (state.anchor_number, state.anchor_hash):
        return AuditVerification(count)
    return AuditVerification(count, head.number, f"the entry {head.number}, which was signed, is not there")

"""Events and filter of the audit log: append-only entries in one hash chain (`sophon.security.audit.audit_chain`)."""

from collections.abc import Mapping
from dataclasses import field
from datetime import UTC, datetime
from operator import attrgetter
from typing import Any, Final, Literal, TypeAlias, get_args

from sophon._python.lazy_dataclass import dataclass, new_dict, slotted_dataclass

AuditKind: TypeAlias = Literal["proposed", "evaluated", "executed", "failed", "blocked", "changed"]
"""What became of a tool call. `failed` calls ran, or could not; `blocked` ones were refused by a guard or a person.
`changed`: an operator changed the host, which is no call: `capability` says what (`settings`, `provider`, `token`),
`rule` names it, and `outcome` says how."""

AUDIT_KINDS: Final[tuple[str, ...]] = get_args(AuditKind)


@slotted_dataclass
class AuditEvent:
    """What a caller appends; the store numbers and chains it.

    `capability` is the action type of the tool, `risk` its label, `outcome` the verdict of a guard or the outcome of
    the call, `chat` the platform's chat that the message came from. `texts` are the parts that can be blanked.
    """

    at: datetime
    event: AuditKind
    session_id: str
    run_id: str = ""
    call_id: str = ""
    chat: str = ""
    principal: str = ""
    tool: str = ""
    capability: str = ""
    risk: str = ""
    guard: str = ""
    rule: str = ""
    outcome: str = ""
    duration_ms: int = 0
    texts: Mapping[str, str] = field(default_factory=new_dict)

    def build_fields(self) -> dict[str, Any]:
        """Return the fields that the hash of the entry covers; the time in UTC with microseconds."""
        fields: dict[str, Any] = dict(zip(COLUMNS, _get_columns(self), strict=True))
        fields["at"] = self.at.astimezone(UTC).isoformat(timespec="microseconds")
        return fields


COLUMNS: Final = (
    *("event", "session_id", "run_id", "call_id", "chat", "principal", "tool", "capability", "risk"),
    *("guard", "rule", "outcome", "duration_ms"),
)
"""Fields of an entry besides its time, each of which can be queried."""

_get_columns: Final = attrgetter(*COLUMNS)


@dataclass(frozen=True, slots=True)
class AuditFilter:
    """Which entries are listed; None: any. `since` is inclusive, `until` is not.

    `capability_level` is one of `sophon.security.authorization.capability_levels.LEVELS`.
    """

    event: str | None = None
    session_id: str | None = None
    chat: str | None = None
    principal: str | None = None
    tool: str | None = None
    capability: str | None = None
    risk: str | None = None
    outcome: str | None = None
    since: datetime | None = None
    until: datetime | None = None
    capability_level: str | None = None

    def find_wanted(self) -> dict[str, str]:
        """Return the columns that must have a given value."""
        values = {name: getattr(self, name) for name in COLUMNS if hasattr(self, name)}
        return {name: value for name, value in values.items() if value is not None}


ALL_ENTRIES: Final = AuditFilter()


@dataclass(frozen=True, slots=True)
class AuditChainState:
    """Ends of the chain: the number and hash of its newest entry, and of the newest one that retention has deleted."""

    number: int
    hash: str
    anchor_number: int
    anchor_hash: str


@dataclass(frozen=True, slots=True)
class AuditVerification:
    """Result of a verification: how many entries were read, and the number of the first one that breaks the chain.

    `broken` is None for an intact chain; otherwise `problem` is a sentence about it.
    """

    count: int
    broken: int | None = None
    problem: str = ""

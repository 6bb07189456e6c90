"""Results of guards: entries of the audit log, the overview of what is allowed, and the trial of a call."""

from typing import Any, Literal, NotRequired, TypeAlias, cast

from sophon._python.lazy_typed_dict import TypedDict
from sophon.risk import RiskLabel
from sophon.security.audit.audit_chain import AuditEntry
from sophon.stores.audit.audit_event import AuditKind, AuditVerification

ToolAccess: TypeAlias = Literal["runs", "asks", "operator"]
"""What happens to a call by its risk: it runs, a person is asked, or an operator is."""

RuleSet: TypeAlias = Literal["protection", "policy", "heuristics", "classifier", "risk"]
AssessmentVerdict: TypeAlias = Literal["allow", "verify", "block"]


class AuditEntryView(TypedDict):
    """An entry of the audit log; its texts are null once they were blanked, and missing where there was none."""

    number: int
    at: str
    event: AuditKind
    session_id: str
    run_id: str
    call_id: str
    chat: str
    principal: str
    tool: str
    capability: str
    capability_level: str
    risk: str
    guard: str
    rule: str
    outcome: str
    duration_ms: int
    input: NotRequired[str | None]
    reason: NotRequired[str | None]
    output: NotRequired[str | None]


class AuditPage(TypedDict):
    """Entries, the newest first; `more` says whether there are older ones."""

    items: list[AuditEntryView]
    more: bool


class AuditVerificationView(TypedDict):
    """Result of checking every hash: `broken` is the first entry that breaks the chain, `problem` says why."""

    entries: int
    broken: int | None
    problem: str


class RuleTableView(TypedDict):
    """Table of rules for people."""

    title: str
    columns: list[str]
    rows: list[list[str]]


class GuardView(TypedDict):
    """A guard, and what it does; `position` is its place in the chain, null if it does not stand there. Settings and
    rules are for operators only.
    """

    name: str
    setting: str
    enabled: bool
    enabled_by_default: bool
    position: int | None
    does: str
    settings: NotRequired[dict[str, Any]]
    rules: NotRequired[list[RuleTableView]]


class ToolAccessView(TypedDict):
    """What happens to a call of a tool, if no guard blocks it."""

    tool: str
    risk: RiskLabel
    access: ToolAccess


class PolicyOverview(TypedDict):
    """What is allowed to whom; operators, levels and policy for operators only."""

    guards: list[GuardView]
    approval: dict[str, Any]
    tools: list[ToolAccessView]
    operators: NotRequired[list[str]]
    levels: NotRequired[RuleTableView]
    policy: NotRequired[RuleTableView]


class AssessmentView(TypedDict):
    """Assessment of a call by a rule set; `tier` is the tier that must decide if the verdict is `verify`."""

    source: RuleSet
    verdict: AssessmentVerdict
    tier: int
    rule: str


class EnforcedAssessment(AssessmentView):
    """An assessment; `enforced` if a guard applies the rule set."""

    enforced: bool


class CallAssessment(AssessmentView):
    """The assessment of a call that decides, and all of them."""

    assessments: list[EnforcedAssessment]


class CallAccess(TypedDict):
    """What happens to a call by its risk; nulls for a name that is no tool."""

    tool: str
    risk: RiskLabel | None
    access: ToolAccess | None


class CallTrialView(CallAssessment):
    """What the rules say about a call that did not run."""

    tool: str
    risk: RiskLabel | None
    access: ToolAccess | None


def audit_entry_to_json(entry: AuditEntry) -> AuditEntryView:
    """Return an entry of the audit log: its fields, its level and its texts, without digests and salts."""
    texts = {name: entry.texts[name] for name in sorted(entry.texts)}
    found = {"number": entry.number, **entry.fields, "capability_level": entry.capability_level, **texts}
    return cast(AuditEntryView, found)


def audit_verification_to_json(found: AuditVerification) -> AuditVerificationView:
    """Return the result of a verification as JSON."""
    return {"entries": found.count, "broken": found.broken, "problem": found.problem}

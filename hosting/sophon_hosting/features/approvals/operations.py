"""Operations on approvals: list, show, decide. Users decide those of their tasks, operators all."""

from contextlib import suppress
from dataclasses import replace
from typing import Annotated, Any, Final, Literal, cast

from sophon._python.lazy_dataclass import dataclass
from sophon._python.value_rules import ValueRules
from sophon.approvals import Decision, turn_id_from_request
from sophon.errors import NotFound
from sophon.operator_policy import OperatorPolicy
from sophon.principals import LOCAL_USER, STORE_OPERATOR
from sophon_hosting.client_api.authentication.token_authentication import find_operators
from sophon_hosting.client_api.caller import Caller
from sophon_hosting.events.large_fields import cut_payload
from sophon_hosting.features.approvals.argument_depth import is_within_depth
from sophon_hosting.features.approvals.results import (
    STATUS_BY_VERDICT,
    ApprovalList,
    ApprovalSlice,
    ApprovalView,
    DecidedApproval,
    approval_to_json,
)
from sophon_hosting.operations.operation import Subject
from sophon_hosting.operations.request import Everything, NoFields, Request
from sophon_hosting.operations.shared_results import MAX_LIST_ITEMS, take_listed
from sophon_hosting.operations.table import Table
from sophon_hosting.runs.approvals.approval_service import (
    DecisionRefused,
    check_decider,
    check_grant,
    check_kind,
    check_session,
)
from sophon_hosting.settings.hub import HubSettings
from sophon_hosting.store.approvals.approval_record import ApprovalRecord

table = Table("approvals")

MAX_ARGUMENT_DEPTH: Final = 32
"""Maximum nesting of lists and objects in the arguments of a tool call."""


@dataclass(frozen=True, slots=True)
class FoundApproval:
    """An approval as it is stored, and the user whose task asks; None if the task was deleted."""

    record: ApprovalRecord
    owner: str | None


async def _find(caller: Caller, approval_id: str) -> FoundApproval | None:
    """Return an approval, None without one; after the same queries, so that the time does not tell which it is."""
    record = await caller.store.approvals.find(approval_id)
    run = await caller.store.runs.find(turn_id_from_request(record.request) if record is not None else approval_id)
    return None if record is None else FoundApproval(record, None if run is None else run.owner)


async def _is_off_the_record(off: Caller, approval_id: str) -> bool:
    return await off.store.approvals.find(approval_id) is not None


APPROVAL = Subject("approval", "approval_id", _find, lambda found: found.owner, _is_off_the_record)


class ListApprovals(Request):
    """Approvals, by default the open ones only."""

    session_id: str | None = None
    open_only: bool = True
    everything: Everything = False


class NamedApproval(Request):
    """An approval by its id."""

    approval_id: str


class ApprovalDecision(NamedApproval):
    """What a person decides: `arguments` belong to `edit` only, and replace all arguments of the call. `grant` belongs
    to `approve` only: what `grant_offer` describes needs no question any more, in this session or in all of this user.

    A question is decided by `answer`, whose text is `reason`, or by `reject`. A given `session_id` must be that of the
    approval.
    """

    decision: Literal["approve", "reject", "edit", "answer"]
    arguments: dict[str, Any] | None = None
    reason: Annotated[str, ValueRules(max_length=2000)] | None = None
    session_id: str | None = None
    grant: Literal["session", "always"] | None = None

    def check(self) -> None:
        """Allow arguments and a grant where they belong only, and arguments of a limited depth."""
        if (self.decision == "edit") != (self.arguments is not None):
            raise ValueError("`arguments` are required for the decision `edit`, and only for it")
        if self.arguments is not None and not is_within_depth(self.arguments, MAX_ARGUMENT_DEPTH):
            raise ValueError(f"`arguments` are nested more than {MAX_ARGUMENT_DEPTH} deep")
        if self.grant is not None and self.decision != "approve":
            raise ValueError("`grant` belongs to the decision `approve`")


@table.operation("GET /api/approvals", needs="Read")
async def list_approvals(caller: Caller, request: ListApprovals) -> ApprovalList:
    """List approvals, oldest first."""
    found = await _find_all(caller, request)
    return {"items": [_show(host, record) for host, record in found]}


@table.operation(needs="Read", event="list_approvals", is_large=True)
async def list_open_approvals(caller: Caller, request: NoFields) -> ApprovalSlice:
    """List the open approvals, oldest first; operators see those of all users."""
    found = await _find_all(caller, ListApprovals.validate({"everything": caller.user.operator}))
    items = [await _show_cut(host, record) for host, record in found[:MAX_LIST_ITEMS]]
    shown, is_all = take_listed(items, len(found))
    return {"items": shown} if is_all else {"items": shown, "more": True}


@table.operation("GET /api/approvals/{approval_id}", needs="Read", on=APPROVAL)
async def get_approval(caller: Caller, request: NamedApproval, found: FoundApproval) -> ApprovalView:
    """Return one approval, with its decision if it has one.

    `escalation` says which guard asks, `edited_arguments` are those of a decision `edit`.
    """
    return _show(caller, found.record)


@table.operation(
    "POST /api/approvals/{approval_id}",
    needs="Approvals",
    on=APPROVAL,
    ok=True,
    errors=(DecisionRefused,),
    example={"decision": "approve", "grant": "session"},
)
async def decide_approval(caller: Caller, request: ApprovalDecision, found: FoundApproval) -> ApprovalView:
    """Decide an approval; the first decision wins.

    It is refused with `other_session` if the approval is not of the given session.
    """
    return _show(caller, await _decide(caller, request, found))


@table.operation(
    needs="Approvals",
    on=APPROVAL,
    event="decide_approval",
    errors=(DecisionRefused,),
    example={"approval_id": "apr_1", "decision": "approve", "grant": "session"},
)
async def submit_decision(caller: Caller, request: ApprovalDecision, found: FoundApproval) -> DecidedApproval:
    """Decide an approval; the first decision wins."""
    record = await _decide(caller, request, found)
    return {
        "approval_id": record.request.id,
        "task_id": turn_id_from_request(record.request),
        "status": STATUS_BY_VERDICT[request.decision],
    }


async def _find_all(caller: Caller, request: ListApprovals) -> list[tuple[Caller, ApprovalRecord]]:
    """Return approvals as they are stored, each with the caller on the host that has it."""
    owner = caller.owner_filter(request.everything)
    session_id = await caller.sessions.filter_id(request.session_id)
    found = [
        (caller, record)
        for record in await caller.store.approvals.list(open_only=request.open_only, session_id=session_id)
        if owner is None or await _find_owner(caller, record) == owner
    ]
    off = caller.off_the_record
    return found if off is None else found + await _find_all(off, request)


async def _find_owner(caller: Caller, record: ApprovalRecord) -> str | None:
    """Return the owner of the task that asks, None if it was deleted."""
    run = await caller.store.runs.find(turn_id_from_request(record.request))
    return None if run is None else run.owner


async def _decide(caller: Caller, request: ApprovalDecision, found: FoundApproval) -> ApprovalRecord:
    check_session(caller.sessions.to_client_approval(found.record), request.session_id)
    decision = Decision(request.decision, request.reason or "", request.arguments or {}, grant=request.grant)
    if (host := caller.running_host) is not None:
        return await host.approvals.decide(found.record.request.id, decision, caller.user.id)
    return await _store_decision(caller, found.record.request.id, decision)


async def _store_decision(caller: Caller, approval_id: str, decision: Decision) -> ApprovalRecord:
    """Store the decision, checked as the local user's: with four eyes their own call needs another operator.

    Whether edited arguments fit the tool, and whether the approval has expired, is checked by a host alone.
    """
    store, settings = caller.store, caller.settings
    record = await store.approvals.get(approval_id)
    asker = (await store.runs.get(turn_id_from_request(record.request))).owner
    operators = find_operators(settings.section(HubSettings)) | {LOCAL_USER}
    policy = OperatorPolicy(operators, several_users=True, four_eyes=settings.approval.four_eyes)
    check_decider(policy, record, replace(decision, decided_by=LOCAL_USER), asker=asker)
    if record.decision is None:
        check_kind(record.request, decision)
        check_grant(record.request, decision)
    stored = await store.approvals.decide(approval_id, replace(decision, decided_by=STORE_OPERATOR), caller.now())
    if not stored.was_decided_now and (earlier := stored.decision) is not None:
        by = earlier.decided_by or "somebody"
        raise DecisionRefused("already_decided", f"{by} has already decided this: {earlier.verdict}", by)
    return stored


def _show(caller: Caller, record: ApprovalRecord) -> ApprovalView:
    shown = record if caller.view is None else caller.view.approval(record)
    return approval_to_json(caller.sessions.to_client_approval(shown))


async def _show_cut(caller: Caller, record: ApprovalRecord) -> ApprovalView:
    """Return an approval with its large fields cut, as in its event; the texts that they refer to are stored."""
    shown = _show(caller, record)
    cut = cut_payload(shown, shown["session_id"])
    if cut.texts:
        with suppress(NotFound):  # the session was deleted meanwhile
            await caller.store.texts.add(record.request.session_id, cut.texts)
    return cast(ApprovalView, cut.data)

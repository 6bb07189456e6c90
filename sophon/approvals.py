"""Approvals: the request sent to a person, the decision, the grant for one exact call, and the gate protocol."""

import hashlib
from collections.abc import Mapping
from copy import deepcopy
from dataclasses import field
from datetime import datetime
from typing import Any, Final, Literal, Protocol, Self, TypeAlias, get_args

from sophon._python.lazy_dataclass import dataclass, new_dict
from sophon.errors import InputError
from sophon.invisible_characters import escape_invisible, render_for_person
from sophon.messages import ToolCall, to_canonical_json
from sophon.tools.tool import Risk

ApprovalKind: TypeAlias = Literal["tool", "plan", "question"]
Verdict: TypeAlias = Literal["approve", "reject", "edit", "answer", "suspend"]
VERDICTS: Final[tuple[str, ...]] = get_args(Verdict)
GrantScope: TypeAlias = Literal["session", "always"]
"""Whether an approval in advance is for one session, or for all sessions of the person whose turn it is."""

MAX_PREVIEW_VALUE_CHARACTERS = 2000


@dataclass(frozen=True, slots=True)
class Escalation:
    """Reason of a guard to ask a person about a call; `reason` is a sentence that the person reads."""

    guard: str
    rule: str
    reason: str

    def __str__(self) -> str:
        """Return one line for people; what the reason quotes of the arguments cannot begin another line."""
        return f"{_to_line(self.guard)} asks: {_to_line(self.reason)} ({_to_line(self.rule)})"

    def to_json(self) -> dict[str, str]:
        """Return JSON-serialisable data."""
        return {"guard": self.guard, "rule": self.rule, "reason": self.reason}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Self:
        """Parse the output of `to_json`."""
        return cls(data["guard"], data["rule"], data["reason"])


@dataclass(frozen=True, slots=True)
class ApprovalRequest:
    """A request to a person to approve one tool call, plan or question.

    `id` is a hash of run, call id, tool and arguments, so a repeated request for the same call has the same id.
    `digest` binds the decision to exactly these arguments. `preview` is text of the host, built from the real
    arguments and never by the model, with invisible characters made visible. Of a long value it shows head and tail;
    `full_preview` is then the complete text, and empty if `preview` is complete. `needs_operator`: the person whose
    turn it is may only reject it (`OperatorPolicy`); it is shown to people, the decision is checked against the policy
    of the moment. `escalation`: a guard asks; `preview` says so too.
    `grant_offer` says which later calls an approval in advance would cover; empty if none is offered.
    """

    id: str
    kind: ApprovalKind
    run_id: str
    call_id: str
    tool: str
    arguments: Mapping[str, Any]
    risk: Risk
    digest: str
    preview: str
    editable: bool = False
    expires_at: datetime | None = None
    session_id: str = ""
    full_preview: str = ""
    needs_operator: bool = False
    escalation: Escalation | None = None
    grant_offer: str = ""

    @classmethod
    def from_call(
        cls,
        call: ToolCall,
        run_id: str,
        risk: Risk,
        *,
        kind: ApprovalKind = "tool",
        preview: str = "",
        full_preview: str = "",
        note: str = "",
        editable: bool = False,
        expires_at: datetime | None = None,
        session_id: str = "",
        needs_operator: bool = False,
        escalation: Escalation | None = None,
        grant_offer: str = "",
    ) -> Self:
        """Build the request for one call of one run; `note` is a sentence of the host below the preview.

        A given `preview` replaces the one of the call; `full_preview` is then its complete form.
        """
        digest = compute_call_digest(run_id, call)
        if not preview:
            preview = render_call_preview(call, note, escalation=escalation)
            full_preview = render_call_preview(call, note, escalation=escalation, limit=None)
        return cls(
            id=f"apr_{digest[:20]}",
            kind=kind,
            run_id=run_id,
            call_id=call.id,
            tool=call.name,
            arguments=deepcopy(dict(call.arguments)),  # what is shown stays what is approved, whoever changes the call
            risk=risk,
            digest=digest,
            preview=preview,
            editable=editable,
            expires_at=expires_at,
            session_id=session_id,
            full_preview=full_preview if full_preview != preview else "",
            needs_operator=needs_operator,
            escalation=escalation,
            grant_offer=grant_offer,
        )

    @property
    def whole_preview(self) -> str:
        """The complete text, of whatever length."""
        return self.full_preview or self.preview

    def to_json(self) -> dict[str, Any]:
        """Return JSON-serialisable data: the risk as its label, the time in ISO 8601."""
        return {
            "id": self.id,
            "kind": self.kind,
            "run_id": self.run_id,
            "call_id": self.call_id,
            "tool": self.tool,
            "arguments": dict(self.arguments),
            "risk": self.risk.label,
            "digest": self.digest,
            "preview": self.preview,
            "editable": self.editable,
            "expires_at": self.expires_at.isoformat() if self.expires_at else None,
            "session_id": self.session_id,
            "full_preview": self.full_preview,
            "needs_operator": self.needs_operator,
            "escalation": self.escalation.to_json() if self.escalation else None,
            "grant_offer": self.grant_offer,
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Self:
        """Parse the output of `to_json`."""
        expires_at = data.get("expires_at")
        return cls(
            id=data["id"],
            kind=data["kind"],
            run_id=data["run_id"],
            call_id=data["call_id"],
            tool=data["tool"],
            arguments=data["arguments"],
            risk=Risk.parse(data["risk"]),
            digest=data["digest"],
            preview=data["preview"],
            editable=data.get("editable", False),
            expires_at=datetime.fromisoformat(expires_at) if expires_at else None,
            session_id=data.get("session_id", ""),
            full_preview=data["full_preview"],
            needs_operator=data.get("needs_operator", False),
            escalation=Escalation.from_json(data["escalation"]) if data.get("escalation") else None,
            grant_offer=data.get("grant_offer", ""),
        )


@dataclass(frozen=True, slots=True)
class Decision:
    """Decision on an `ApprovalRequest`. `suspend` comes from the gate: no answer yet, the turn must be suspended.

    A request of kind `question` is decided by `answer`, whose text is `reason`, or by `reject`.
    `grant` belongs to `approve`: later calls that the request's `grant_offer` describes need no question.
    """

    verdict: Verdict
    reason: str = ""
    arguments: Mapping[str, Any] = field(default_factory=new_dict)
    decided_by: str = ""
    grant: GrantScope | None = None

    def __post_init__(self) -> None:
        if self.verdict not in VERDICTS:
            raise InputError(f"{self.verdict!r} is no verdict; write Decision.approve() or another of its methods")
        if not isinstance(self.arguments, Mapping):  # pyright: ignore[reportUnnecessaryIsInstance] - of untyped gates
            raise InputError(f"Decision.edit({self.arguments!r:.60}): the arguments of a call are a dict")
        object.__setattr__(self, "arguments", dict(self.arguments))

    @classmethod
    def approve(cls, *, decided_by: str = "", grant: GrantScope | None = None) -> Self:
        """Return the decision to run the call unchanged, and with `grant` later ones like it."""
        return cls("approve", decided_by=decided_by, grant=grant)

    @classmethod
    def reject(cls, reason: str = "", *, decided_by: str = "") -> Self:
        """Return the decision not to run the call; the model receives `reason`."""
        return cls("reject", reason, decided_by=decided_by)

    @classmethod
    def edit(cls, arguments: Mapping[str, Any], *, decided_by: str = "") -> Self:
        """Return the decision to run the call with `arguments`, which replace all original arguments."""
        return cls("edit", arguments=arguments, decided_by=decided_by)

    @classmethod
    def answer(cls, text: str, *, decided_by: str = "") -> Self:
        """Return the answer to a question."""
        return cls("answer", text, decided_by=decided_by)

    @classmethod
    def suspend(cls) -> Self:
        """Return the decision to suspend the turn; the call stays pending in its state."""
        return cls("suspend")

    def to_json(self) -> dict[str, Any]:
        """Return JSON-serialisable data; empty fields are omitted."""
        data: dict[str, Any] = {"verdict": self.verdict}
        if self.reason:
            data["reason"] = self.reason
        if self.arguments:
            data["arguments"] = dict(self.arguments)
        if self.decided_by:
            data["decided_by"] = self.decided_by
        if self.grant:
            data["grant"] = self.grant
        return data

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Self:
        """Parse the output of `to_json`."""
        return cls(
            data["verdict"],
            data.get("reason", ""),
            data.get("arguments", {}),
            decided_by=data.get("decided_by", ""),
            grant=data.get("grant"),
        )


@dataclass(frozen=True, slots=True)
class Grant:
    """Permission to run the one call with this digest; `edited` is true if a person changed its arguments.

    `decided_by` is who approved it: empty if the gate does not say, or if the settings or an approved plan did.
    `standing` is the id of the approval in advance (`StandingGrant`) that it follows from; such a one is never stored
    with the turn, so that a resumed turn looks whether it was revoked.
    """

    digest: str
    edited: bool = False
    decided_by: str = ""
    standing: str = ""


class ApprovalGate(Protocol):
    """Protocol for obtaining a person's decision; at most one call per request is in flight, without a time limit."""

    async def request(self, request: ApprovalRequest, /) -> Decision:
        """Ask for a decision, wait for it and return it."""
        ...


class RejectingGate:
    """Gate that rejects every request: the default of an embedded chain, where nobody can be asked."""

    async def request(self, request: ApprovalRequest, /) -> Decision:
        """Return a rejection with its reason."""
        return Decision.reject("nobody can be asked for approval here")


def compute_call_digest(run_id: str, call: ToolCall) -> str:
    """Return the hexadecimal SHA-256 over run id, call id, tool name and the arguments as they are at this moment."""
    head = to_canonical_json([run_id, call.id, call.name])
    # Not `call.canonical_arguments()`, which is made once: whoever holds the dict can change it in place later.
    return hashlib.sha256(head + to_canonical_json(call.arguments)).hexdigest()


def render_call_preview(
    call: ToolCall,
    note: str = "",
    *,
    escalation: Escalation | None = None,
    limit: int | None = MAX_PREVIEW_VALUE_CHARACTERS,
) -> str:
    """Return the call as text for a person, one line per argument, then why a guard asks, then the note.

    Of a value longer than `limit` characters head and tail are shown; with None everything is.
    """
    lines = [f"Run {_to_line(call.name)}", *format_argument_lines(call.arguments, limit=limit)]
    # Lines of arguments are indented, so none of them can be read as what follows.
    lines += [str(escalation)] if escalation is not None else []
    return "\n".join([*lines, f"Note: {note}"] if note else lines)


def format_argument_lines(arguments: Mapping[str, Any], *, limit: int | None = None) -> list[str]:
    """Return arguments as text for a person, indented, one entry per argument."""
    lines: list[str] = []
    for name, value in arguments.items():
        text = value if isinstance(value, str) else to_canonical_json(value).decode()
        lines.append(f"  {_to_line(name)}: {render_for_person(text, limit, indent='      ')}")
    return lines


def _to_line(name: str) -> str:
    return escape_invisible(name).replace("\n", "⟦U+000A⟧")


def turn_id_from_request(request: ApprovalRequest) -> str:
    """Return the id of the top-level run; a request of a plan step has the run id `turn/step`."""
    return request.run_id.partition("/")[0]

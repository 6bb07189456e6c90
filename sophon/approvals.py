"""Approvals: the request sent to a person, the decision, the grant for one exact call, and the gate protocol."""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal, Protocol, Self, TypeAlias

from sophon.messages import ToolCall, to_canonical_json
from sophon.tools.tool import Risk

ApprovalKind: TypeAlias = Literal["tool", "plan", "question"]
Verdict: TypeAlias = Literal["approve", "reject", "edit", "suspend"]

MAX_PREVIEW_VALUE_CHARACTERS = 2000


@dataclass(frozen=True, slots=True)
class ApprovalRequest:
    """A request to a person to approve one tool call, plan or question.

    `id` is a hash of run, call id, tool and arguments, so a repeated request for the same call has the same id.
    `digest` binds the decision to exactly these arguments. `preview` is text of the host, built from the real
    arguments and never by the model.
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

    def __post_init__(self) -> None:
        if self.kind == "question":
            raise ValueError("approval requests of kind 'question' are not supported by this version")

    @classmethod
    def from_call(
        cls,
        call: ToolCall,
        run_id: str,
        risk: Risk,
        *,
        kind: ApprovalKind = "tool",
        preview: str = "",
        editable: bool = False,
        expires_at: datetime | None = None,
        session_id: str = "",
    ) -> Self:
        """Build the request for one call of one run."""
        digest = compute_call_digest(run_id, call)
        return cls(
            id=f"apr_{digest[:20]}",
            kind=kind,
            run_id=run_id,
            call_id=call.id,
            tool=call.name,
            arguments=call.arguments,
            risk=risk,
            digest=digest,
            preview=preview or render_call_preview(call),
            editable=editable,
            expires_at=expires_at,
            session_id=session_id,
        )

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
        )


@dataclass(frozen=True, slots=True)
class Decision:
    """Decision on an `ApprovalRequest`. `suspend` comes from the gate: no answer yet, the turn must be suspended."""

    verdict: Verdict
    reason: str = ""
    arguments: Mapping[str, Any] = field(default_factory=lambda: {})
    decided_by: str = ""

    @classmethod
    def approve(cls, *, decided_by: str = "") -> Self:
        """Return the decision to run the call unchanged."""
        return cls("approve", decided_by=decided_by)

    @classmethod
    def reject(cls, reason: str = "", *, decided_by: str = "") -> Self:
        """Return the decision not to run the call; the model receives `reason`."""
        return cls("reject", reason, decided_by=decided_by)

    @classmethod
    def edit(cls, arguments: Mapping[str, Any], *, decided_by: str = "") -> Self:
        """Return the decision to run the call with `arguments`, which replace all original arguments."""
        return cls("edit", arguments=dict(arguments), decided_by=decided_by)

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
        return data

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Self:
        """Parse the output of `to_json`."""
        return cls(
            data["verdict"], data.get("reason", ""), data.get("arguments", {}), decided_by=data.get("decided_by", "")
        )


@dataclass(frozen=True, slots=True)
class Grant:
    """Permission to run the one call with this digest; `edited` is true if a person changed its arguments."""

    digest: str
    edited: bool = False


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
    """Return the hexadecimal SHA-256 over run id, call id, tool name and canonical arguments."""
    head = to_canonical_json([run_id, call.id, call.name])
    return hashlib.sha256(head + call.canonical_arguments()).hexdigest()


def render_call_preview(call: ToolCall) -> str:
    """Return the call as text, one line per argument; a value longer than `MAX_PREVIEW_VALUE_CHARACTERS` is cut and
    marked.
    """
    lines = [f"Run {call.name}"]
    for name, value in call.arguments.items():
        text = value if isinstance(value, str) else to_canonical_json(value).decode()
        if len(text) > MAX_PREVIEW_VALUE_CHARACTERS:
            text = f"{text[:MAX_PREVIEW_VALUE_CHARACTERS]}… ({len(text)} characters, sha256 {_short_sha256(text)})"
        # Continuation lines are indented so that none of them can be read as another argument.
        lines.append(f"  {name}: " + "\n      ".join(text.splitlines() or [""]))
    return "\n".join(lines)


def _short_sha256(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]

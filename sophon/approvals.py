"""Approvals: what a person is asked, what they may answer, and what an answer is bound to."""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal, Protocol, Self, TypeAlias

from sophon.messages import ToolCall, canonical_json
from sophon.tools.tool import Risk

ApprovalKind: TypeAlias = Literal["tool", "plan", "question"]
Verdict: TypeAlias = Literal["approve", "reject", "edit", "suspend"]

PREVIEW_CHARACTERS = 2000


@dataclass(frozen=True, slots=True)
class ApprovalRequest:
    """What a person is asked.

    `id` is a hash of run, call id, tool and arguments: asking again for the same thing is the same request.
    `digest` binds the answer to exactly these arguments. `preview` is the host's own wording, built from the real
    arguments, never the model's.
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

    @classmethod
    def of(
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
        """The request for one call of one run."""
        digest = call_digest(run_id, call)
        return cls(
            id=f"apr_{digest[:20]}",
            kind=kind,
            run_id=run_id,
            call_id=call.id,
            tool=call.name,
            arguments=call.arguments,
            risk=risk,
            digest=digest,
            preview=preview or preview_of(call),
            editable=editable,
            expires_at=expires_at,
            session_id=session_id,
        )

    def to_json(self) -> dict[str, Any]:
        """As plain data, ready for JSON; the risk by its label, the time in ISO 8601."""
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
        """The inverse of `to_json`."""
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
    """A person's answer; `suspend` is the gate's own: nobody has answered yet, let the turn be written out."""

    verdict: Verdict
    reason: str = ""
    arguments: Mapping[str, Any] = field(default_factory=lambda: {})
    decided_by: str = ""

    @classmethod
    def approve(cls, *, decided_by: str = "") -> Self:
        """Run it as it is."""
        return cls("approve", decided_by=decided_by)

    @classmethod
    def reject(cls, reason: str = "", *, decided_by: str = "") -> Self:
        """Do not run it; the model is told the reason."""
        return cls("reject", reason, decided_by=decided_by)

    @classmethod
    def edit(cls, arguments: Mapping[str, Any], *, decided_by: str = "") -> Self:
        """Run it with these arguments, all of them."""
        return cls("edit", arguments=dict(arguments), decided_by=decided_by)

    @classmethod
    def suspend(cls) -> Self:
        """End the turn as suspended; the call stays pending in its state."""
        return cls("suspend")

    def to_json(self) -> dict[str, Any]:
        """As plain data, ready for JSON; what is empty is left out."""
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
        """The inverse of `to_json`."""
        return cls(
            data["verdict"], data.get("reason", ""), data.get("arguments", {}), decided_by=data.get("decided_by", "")
        )


@dataclass(frozen=True, slots=True)
class Grant:
    """Leave to run one exact call; `edited` tells that a person changed its arguments."""

    digest: str
    edited: bool = False


class ApprovalGate(Protocol):
    """Whoever can ask a person. Called at most once at a time for one request; may wait as long as it likes."""

    async def request(self, request: ApprovalRequest, /) -> Decision:
        """Ask, wait, answer."""
        ...


class RejectingGate:
    """The gate of an embedded chain: nobody can be asked, so nothing that needs asking is done."""

    async def request(self, request: ApprovalRequest, /) -> Decision:
        """Reject, and say why."""
        return Decision.reject("nobody can be asked for approval here")


def call_digest(run_id: str, call: ToolCall) -> str:
    """SHA-256 in hexadecimal over run, call id, tool and canonical arguments."""
    head = canonical_json([run_id, call.id, call.name])
    return hashlib.sha256(head + call.canonical()).hexdigest()


def preview_of(call: ToolCall) -> str:
    """The call in the host's words, one line per argument, long ones cut and said so."""
    lines = [f"Run {call.name}"]
    for name, value in call.arguments.items():
        text = value if isinstance(value, str) else canonical_json(value).decode()
        if len(text) > PREVIEW_CHARACTERS:
            text = f"{text[:PREVIEW_CHARACTERS]}… ({len(text)} characters, sha256 {_sha(text)})"
        # A value of several lines stays under its name, so that none of them reads as another argument.
        lines.append(f"  {name}: " + "\n      ".join(text.splitlines() or [""]))
    return "\n".join(lines)


def _sha(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]

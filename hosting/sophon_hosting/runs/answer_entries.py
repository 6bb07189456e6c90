"""Outbound entries of a run: the messages for a channel that are committed with the run's outcome."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

from sophon_channels.outbound_entry import OutboundEntry
from sophon_hosting.store.runs.contract import Run, RunOutcome

OutboundBuilder: TypeAlias = Callable[[Run, RunOutcome], Sequence[OutboundEntry]]
"""Builds the outbound entries that are written in one transaction with the outcome."""


def build_answer_entries(run: Run, outcome: RunOutcome) -> Sequence[OutboundEntry]:
    """Return one entry for the chat that the message came from (`origin`: chat, account); empty without a chat."""
    chat = run.origin.get("chat")
    if not chat:
        return ()
    entry = OutboundEntry(
        id=f"{run.id}:end",
        run_id=run.id,
        channel=run.channel,
        account=str(run.origin.get("account", "")),
        chat=str(chat),
        kind="answer" if outcome.status == "completed" else outcome.status,
        payload=_payload(outcome),
        recipient=run.owner if run.origin.get("kind") == "direct" else "",
    )
    return [entry]


def _payload(outcome: RunOutcome) -> Mapping[str, Any]:
    if outcome.error is not None:
        return {"code": outcome.error.code, "message": outcome.error.message, "id": outcome.error.id}
    return dict(outcome.response or {})

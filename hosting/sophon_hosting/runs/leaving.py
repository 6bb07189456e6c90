"""Outbound entries of a run: the messages for a channel that are committed with the run's outcome."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

from sophon.context.turn_log import TurnEnd
from sophon.messages import Response
from sophon.stores.outbound_contracts import OutboundEntry
from sophon.stores.run_contracts import Run, RunError, RunOutcome

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
    )
    return [entry]


def outcome_from_turn_end(end: TurnEnd) -> RunOutcome:
    """Return the run outcome for the end of a turn. Raises ValueError for a suspended turn, which has no outcome."""
    if end.status == "completed" and end.response is not None:
        return RunOutcome("completed", response=response_to_json(end.response))
    if end.status == "failed":
        return RunOutcome("failed", error=RunError(end.error["code"], end.error["message"], end.error.get("id", "")))
    if end.status == "cancelled":
        return RunOutcome("cancelled")
    raise ValueError(f"a turn that is {end.status} has no outcome")


def response_to_json(response: Response) -> dict[str, Any]:
    """Return a response as JSON for the run's row."""
    return {
        "text": response.text,
        "finish_reason": response.finish_reason,
        "usage": response.usage.to_json(),
        "detail": dict(response.detail),
    }


def _payload(outcome: RunOutcome) -> Mapping[str, Any]:
    if outcome.error is not None:
        return {"code": outcome.error.code, "message": outcome.error.message, "id": outcome.error.id}
    return dict(outcome.response or {})

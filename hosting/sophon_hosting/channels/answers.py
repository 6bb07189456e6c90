"""The end of a turn, as what leaves for its chat: rendered by the channel, in the transaction of the outcome."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any, cast

from sophon.clock import Clock
from sophon.stores.outbound_contracts import OutboundEntry
from sophon.stores.run_contracts import FinalStatus, Run, RunOutcome
from sophon_channels.contract import Channel, Outgoing
from sophon_hosting.channels.letters import parts
from sophon_hosting.runs import leaving

ERROR_PAUSE = timedelta(seconds=60)
"""Between two errors that a group is told. Source: reference/complaints.md, group spam."""

SILENT = "(an answer without words)"

Shown = Callable[[str], str | None]
"""The platform's id of what is shown of a run while it goes on, if anything is."""


class Answers:
    """`WhatLeaves` for a host with channels: exactly one visible outcome for every message of one."""

    def __init__(self, channels: Mapping[str, Channel], clock: Clock, shown: Shown) -> None:
        self._channels, self._clock, self._shown = channels, clock, shown
        self._told: dict[str, tuple[datetime, str]] = {}

    def __call__(self, run: Run, outcome: RunOutcome) -> Sequence[OutboundEntry]:
        """The entries of a run's end; none for what is not told, or came from nowhere."""
        channel, chat = self._channels.get(run.channel), str(run.origin.get("chat") or "")
        if channel is None or not chat:
            return leaving.answer(run, outcome)
        if outcome.error is not None and run.origin.get("kind") == "group" and self._told_lately(chat, run.id):
            return ()
        return self._entries(channel, chat, run, outcome)

    def latest(self, entry: OutboundEntry, run: Run) -> Mapping[str, Any] | None:
        """The payload of an answer's first part, where more is shown of its run by now than when it was written."""
        channel, chat = self._channels.get(run.channel), str(run.origin.get("chat") or "")
        if channel is None or not run.over or entry.position > 0 or self._shown(run.id) is None:
            return None
        outcome = RunOutcome(cast("FinalStatus", run.status), run.response, run.error)
        made = self._entries(channel, chat, run, outcome)
        return made[0].payload if made and made[0].id == entry.id else None

    def _entries(self, channel: Channel, chat: str, run: Run, outcome: RunOutcome) -> Sequence[OutboundEntry]:
        outgoing = Outgoing(
            _text(outcome),
            markdown=outcome.error is None,
            reply_to=str(run.origin.get("reply_to") or "") or None,
            replaces=self._shown(run.id),
        )
        return [replace(entry, run_id=run.id) for entry in parts(channel, chat, f"{run.id}:end", outgoing, "answer")]

    def _told_lately(self, chat: str, run_id: str) -> bool:
        """Whether another run's error was; an outcome that the store did not take is written once more."""
        now = self._clock.now()
        self._told = {each: told for each, told in self._told.items() if now - told[0] < ERROR_PAUSE}
        _, last = self._told.setdefault(chat, (now, run_id))
        return last != run_id


def _text(outcome: RunOutcome) -> str:
    if outcome.error is not None:
        number = f" (number {outcome.error.id} in the host's log)" if outcome.error.id else ""
        return f"⚠️ This did not work: {outcome.error.message}{number}"
    if outcome.status == "cancelled":
        return "⏹ Stopped."
    return str((outcome.response or {}).get("text") or "").strip() or SILENT

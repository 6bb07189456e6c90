"""Replies: the outbound entries of a finished turn, rendered by its channel, for the transaction of the outcome."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any, cast

from sophon._python.joined_text import join_texts
from sophon.clock import Clock
from sophon.invisible_characters import is_blank
from sophon_channels.contract import Channel, OutboundMessage
from sophon_channels.outbound_entry import OutboundEntry
from sophon_hosting.channels.direct_chat_recipients import recipient_of_run
from sophon_hosting.channels.outbound.message_entries import build_entries
from sophon_hosting.runs import answer_entries
from sophon_hosting.store.runs.contract import FinalStatus, Run, RunOutcome

ERROR_NOTICE_INTERVAL = timedelta(seconds=60)
"""Minimum interval between two error messages in a group."""

EMPTY_REPLY = "(The answer had no visible text.)"
"""Text of a reply in which nothing is visible."""

PreviewLookup = Callable[[str], str | None]
"""Returns the platform's id of a run's live preview, None if there is none."""


class ReplyBuilder:
    """`OutboundBuilder` for a host with channels: every message of a channel gets exactly one visible outcome."""

    def __init__(self, channels: Mapping[str, Channel], clock: Clock, find_preview: PreviewLookup) -> None:
        self._channels, self._clock, self._find_preview = channels, clock, find_preview
        self._last_errors: dict[str, tuple[datetime, str]] = {}

    def __call__(self, run: Run, outcome: RunOutcome) -> Sequence[OutboundEntry]:
        """Return the entries for a run's outcome; none for a suppressed error or a run without a chat."""
        channel, chat = self._channels.get(run.channel), str(run.origin.get("chat") or "")
        if channel is None or not chat:
            return answer_entries.build_answer_entries(run, outcome)
        if (
            outcome.error is not None
            and run.origin.get("kind") == "group"
            and self._was_error_sent_recently(chat, run.id)
            and self._find_preview(run.id) is None  # a preview is replaced: it would look like an unfinished answer
        ):
            return ()
        return self._entries(channel, chat, run, outcome)

    def refresh_payload(self, entry: OutboundEntry, run: Run) -> Mapping[str, Any] | None:
        """Return the payload that replaces a preview, for the first part of a reply; None to keep the stored one."""
        channel, chat = self._channels.get(run.channel), str(run.origin.get("chat") or "")
        if channel is None or not run.is_finished or entry.position > 0 or self._find_preview(run.id) is None:
            return None
        outcome = RunOutcome(cast("FinalStatus", run.status), run.response, run.error)
        entries = self._entries(channel, chat, run, outcome)
        return entries[0].payload if entries and entries[0].id == entry.id else None

    def _entries(self, channel: Channel, chat: str, run: Run, outcome: RunOutcome) -> Sequence[OutboundEntry]:
        text, notice = _reply_text(outcome), _error_text(outcome)
        first = OutboundMessage(
            text or notice,
            is_markdown=bool(text),
            reply_to_message_id=str(run.origin.get("reply_to") or "") or None,
            replaces_message_id=self._find_preview(run.id),
        )

        def build(name: str, message: OutboundMessage) -> list[OutboundEntry]:
            entries = build_entries(
                channel, chat, f"{run.id}:{name}", message, "answer", recipient=recipient_of_run(run)
            )
            return [replace(entry, run_id=run.id) for entry in entries]

        entries = build("end", first)
        if text and not entries:  # markup and invisible characters only
            return build("end", replace(first, text=notice or EMPTY_REPLY, is_markdown=not notice))
        if text and notice:  # an error is plain text, so what was shown before it stays as a message of its own
            entries += build("error", OutboundMessage(notice, is_markdown=False))
        return entries

    def _was_error_sent_recently(self, chat: str, run_id: str) -> bool:
        """Return whether the chat was sent another run's error recently; the same run's outcome may be built again."""
        now = self._clock.now()
        self._last_errors = {
            each: error for each, error in self._last_errors.items() if now - error[0] < ERROR_NOTICE_INTERVAL
        }
        _, last_run_id = self._last_errors.setdefault(chat, (now, run_id))
        return last_run_id != run_id


def _reply_text(outcome: RunOutcome) -> str:
    """Return the answer, or what was shown of it before the turn failed (which may be nothing) or was stopped."""
    text = str((outcome.response or {}).get("text") or "").strip()
    if outcome.status == "cancelled":
        return join_texts(["" if is_blank(text) else text, "⏹ Stopped."])
    return text if outcome.error is not None else text or EMPTY_REPLY


def _error_text(outcome: RunOutcome) -> str:
    if outcome.error is None:
        return ""
    number = f" (number {outcome.error.id} in the host's log)" if outcome.error.id else ""
    return f"⚠️ This did not work: {outcome.error.message}{number}"

"""Silent replies: what a scheduled run says is not delivered if it says that there is nothing to say."""

from collections.abc import Sequence

from sophon.scheduled_turns import SCHEDULED_ORIGIN
from sophon_channels.outbound_entry import OutboundEntry
from sophon_hosting.features.schedules.heartbeat_file import is_no_op_reply
from sophon_hosting.runs.answer_entries import OutboundBuilder
from sophon_hosting.store.runs.contract import Run, RunOutcome


def keep_silent(build: OutboundBuilder) -> OutboundBuilder:
    """Return a builder of outbound entries that builds none for the no-op reply of a scheduled run."""

    def build_unless_silent(run: Run, outcome: RunOutcome) -> Sequence[OutboundEntry]:
        text = str((outcome.response or {}).get("text") or "")
        is_silent = SCHEDULED_ORIGIN in run.origin and outcome.status == "completed" and is_no_op_reply(text)
        return () if is_silent else build(run, outcome)

    return build_unless_silent

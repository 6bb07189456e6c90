"""View of histories for a client that may not see all of them: stored records, events, tasks and approvals.

The rule for messages is `sophon.turn.history_redaction`, that for the fields of an event is in its class
(`sophon.events.visibility`). Of the data of records only fields that are known to hold no content of a conversation are
passed on as they are, so a field that is added later is hidden until it is named here.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final, cast

from sophon._python.lazy_dataclass import dataclass
from sophon.events import event_type
from sophon.events.field_visibility_rules import FieldRule, field_rules
from sophon.events.visibility import Visibility
from sophon.learning.trajectories import Trajectory
from sophon.stores.grants.contract import StandingGrant
from sophon.stores.sessions.contract import SessionRecord, SessionSummary
from sophon.stores.sub_agents.sub_agent_run import SubAgentRun
from sophon.stores.texts.large_text import text_id
from sophon.traces.trace import Trace
from sophon.turn.history_redaction import HIDDEN, hide_values, redact_message_for_reader, redact_text_for_reader
from sophon_hosting.events.large_fields import LARGE_FIELD
from sophon_hosting.events.wire_event import WireEvent
from sophon_hosting.store.approvals.approval_record import ApprovalRecord
from sophon_hosting.store.events.logged_event import LoggedEvent
from sophon_hosting.store.runs.contract import Run

CONTENT: Final = Visibility.CONTENT
"""Rule of a field that the class of its event does not have."""

_OWNED_TEXTS: Final = (Visibility.TEXT, Visibility.STREAMED)

RECORD_FIELDS: Final = frozenset({"covers", "code", "id"})
"""Fields of a record's data that hold no content."""

RECORD_TEXTS: Final = frozenset({"text", "shown", "message", "reason"})
"""Fields of a record's data that hold texts."""


@dataclass(frozen=True, slots=True)
class HistoryView:
    """What a client without the permission FullHistory sees.

    `shows_approvals`: the client decides approvals, and sees the questions as they are. `hides_streams`: streamed text
    may contain secrets, because guard Redaction is off; a secret may be cut in two pieces, so no piece is shown.
    """

    shows_approvals: bool = False
    hides_streams: bool = False

    def record(self, record: SessionRecord, *, is_own: bool) -> SessionRecord:
        """Return a stored record as the client sees it."""
        message = record.message
        data: dict[str, Any] = {}
        for key, value in record.data.items():
            if key in RECORD_TEXTS:
                data[key] = redact_text_for_reader(str(value), is_own=is_own)
            elif key in RECORD_FIELDS:
                data[key] = value
        shown = None if message is None else redact_message_for_reader(message, is_own=is_own)
        return SessionRecord(record.kind, record.run_id, shown, data, record.seq, record.at)

    def wire_event(self, event: WireEvent, *, is_own: bool) -> WireEvent:
        """Return an event as the client sees it."""
        data = self.event_data(event.name, event.data, is_own=is_own)
        return WireEvent(event.name, data, event.session_id, event.task_id, event.seq)

    def logged_event(self, logged: LoggedEvent, *, is_own: bool) -> LoggedEvent:
        """Return a stored event as the client sees it."""
        return replace(logged, data=self.event_data(logged.name, logged.data, is_own=is_own), texts={})

    def event_data(self, name: str, data: Mapping[str, Any], *, is_own: bool) -> dict[str, Any]:
        """Return the payload of an event as the client sees it."""
        kind = event_type(name)
        if kind.is_approval and self.shows_approvals:
            return dict(data)
        rules = field_rules(kind)
        shown = {key: self._field(rules.get(key, CONTENT), value, is_own=is_own) for key, value in data.items()}
        if (references := data.get(LARGE_FIELD)) is not None:
            shown[LARGE_FIELD] = {
                key: each for key, each in references.items() if is_own and rules.get(key) in _OWNED_TEXTS
            }
        return shown

    def _field(self, rule: FieldRule, value: Any, *, is_own: bool) -> Any:
        """Return the value of a field, or of each part of an object or a list."""
        if rule is Visibility.PLAIN or (rule is Visibility.OWNED and is_own):
            return value
        if rule is Visibility.STREAMED and is_own and not self.hides_streams:
            return value
        if isinstance(value, list | tuple) and (rule is Visibility.TEXT or isinstance(rule, Mapping)):
            return [self._field(rule, each, is_own=is_own) for each in cast(list[Any], value)]
        if isinstance(value, Mapping) and isinstance(rule, Mapping):
            parts = cast(Mapping[str, Any], value).items()
            return {key: self._field(rule[key], each, is_own=is_own) for key, each in parts if key in rule}
        if isinstance(value, str) and rule is Visibility.TEXT:
            return redact_text_for_reader(value, is_own=is_own)
        return _hide(value)

    def run(self, run: Run, *, is_own: bool) -> Run:
        """Return a task as the client sees it."""
        response = dict(run.response or {})
        if isinstance(response.get("text"), str):
            response["text"] = redact_text_for_reader(response["text"], is_own=is_own)
        error = run.error
        if error is not None and not is_own:
            error = replace(error, message=HIDDEN)
        return replace(
            run,
            text=redact_text_for_reader(run.text, is_own=is_own),
            response=response if run.response is not None else None,
            error=error,
        )

    def session(self, session: SessionSummary, *, is_own: bool) -> SessionSummary:
        """Return a listed session as the client sees it."""
        if is_own or not session.shown_title:
            return session
        return replace(session, title=HIDDEN, provisional_title="")

    def grant(self, grant: StandingGrant) -> StandingGrant:
        """Return an approval in advance as the client sees it: its text quotes the arguments of a call."""
        return grant if self.shows_approvals else replace(grant, description=HIDDEN, pattern={})

    def sub_agent(self, row: SubAgentRun) -> SubAgentRun:
        """Return a sub-agent as the client sees it: its task was written by a model."""
        return replace(row, task=HIDDEN if row.task else "", detail=HIDDEN if row.detail else "")

    def trajectory(self, trajectory: Trajectory, *, is_own: bool) -> Trajectory:
        """Return what is kept of a finished turn as the client sees it: its texts are those of the conversation."""
        request, reply = (
            redact_text_for_reader(text, is_own=is_own) for text in (trajectory.request, trajectory.reply)
        )
        return replace(trajectory, request=request, reply=reply)

    def trace(self, trace: Trace, *, is_own: bool) -> Trace:
        """Return the trace of a turn as the client sees it: times and numbers, and no text of a conversation."""
        message = {"message": HIDDEN} if "message" in trace.error and not is_own else {}
        return replace(
            trace,
            error={**trace.error, **message},
            attempts=tuple(replace(each, detail=_cover(each.detail)) for each in trace.attempts),
            tools=tuple(replace(each, arguments=_cover(each.arguments)) for each in trace.tools),
            steps=tuple(replace(each, reason=_cover(each.reason)) for each in trace.steps),
            agents=tuple(replace(each, reason=_cover(each.reason)) for each in trace.agents),
            prompt=tuple(replace(each, name=each.name if is_own else _cover(each.name)) for each in trace.prompt),
            notes=tuple(
                replace(each, data=self.event_data(each.kind, each.data, is_own=is_own)) for each in trace.notes
            ),
        )

    def approval(self, record: ApprovalRecord) -> ApprovalRecord:
        """Return an approval as the client sees it."""
        if self.shows_approvals:
            return record
        request, decision = record.request, record.decision
        escalation = request.escalation
        return replace(
            record,
            request=replace(
                request,
                arguments=hide_values(request.arguments),
                preview=HIDDEN,
                full_preview=HIDDEN if request.full_preview else "",
                grant_offer="",
                escalation=None if escalation is None else replace(escalation, reason=HIDDEN),
            ),
            decision=None
            if decision is None
            else replace(decision, arguments=hide_values(decision.arguments), reason=HIDDEN if decision.reason else ""),
        )


def find_own_text(records: list[SessionRecord], wanted: str) -> str | None:
    """Return the text of a redacted conversation that has the id `wanted`, of a person or the agent; None if none has.

    `records` are the whole ones: a text that is part of a hidden field has no id here.
    """
    for record in records:
        message = record.message
        if message is None or message.role not in ("user", "assistant") or message.origin == "compaction":
            continue
        if text_id(message.content) == wanted:
            return redact_message_for_reader(message).content
    return None


def _cover(text: str) -> str:
    return HIDDEN if text else ""


def _hide(value: Any) -> Any:
    """Return what stands for a value of a hidden field; null, booleans, numbers and what is empty stay."""
    if not value or isinstance(value, bool | int | float):
        return value
    if isinstance(value, Mapping):
        return hide_values(cast(Mapping[str, Any], value))
    return [] if isinstance(value, list | tuple) else HIDDEN

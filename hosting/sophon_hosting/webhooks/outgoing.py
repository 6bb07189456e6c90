"""Outgoing webhooks: durable events become outbound entries in the transaction that stores them."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from difflib import get_close_matches
from typing import Any

from sophon.clock import Clock
from sophon.errors import SettingsError
from sophon.events import Event
from sophon.settings.sections.webhooks import OutgoingWebhookSettings
from sophon.stores.events.contract import LoggedEvent
from sophon.stores.outbound_entry import OutboundEntry
from sophon_hosting.events.wire_event import to_logged_event
from sophon_hosting.webhooks.incoming import WEBHOOK_CHANNEL

PLAIN_FIELDS = frozenset(
    {
        "decided_by",
        "decision",
        "finish_reason",
        "kind",
        "limit",
        "model",
        "outcome",
        "provider",
        "risk",
        "role",
        "state",
    }
    | {"status", "strategy", "tool", "verdict"}
)
"""Fields with a text that are sent without content: names and states of the host, never what anybody wrote."""


class OutgoingWebhooks:
    """Builder of the outbound entries of events: one per webhook that wants the event."""

    def __init__(
        self, webhooks: Sequence[OutgoingWebhookSettings], clock: Clock, event_classes: Sequence[type[Event]]
    ) -> None:
        """Create the builder. Raises SettingsError with each name that is no durable event."""
        self._clock = clock
        self._by_event: dict[str, list[OutgoingWebhookSettings]] = {}
        durable = {each.wire_name for each in event_classes if each.durable}
        if problems := [
            f"Webhooks.Outgoing[{index}].Events[{place}]: {name!r} is no durable event; {_suggest_event(name, durable)}"
            for index, webhook in enumerate(webhooks)
            for place, name in enumerate(webhook.events)
            if name not in durable
        ]:
            raise SettingsError(problems)
        for webhook in webhooks:
            for name in webhook.events if webhook.enabled else ():
                self._by_event.setdefault(name, []).append(webhook)

    def build_row(self, event: Event) -> LoggedEvent:
        """Return the row of an event with the outbound entries of the webhooks that want it; see `RowBuilder`."""
        row = to_logged_event(event)
        wanted = self._by_event.get(row.name)
        if not wanted:
            return row
        return replace(row, outbound=tuple(self._build_entry(each, event, row) for each in wanted))

    def _build_entry(self, webhook: OutgoingWebhookSettings, event: Event, row: LoggedEvent) -> OutboundEntry:
        data = row.data if webhook.content else remove_content(row.data)
        return OutboundEntry(
            id=f"{WEBHOOK_CHANNEL}:{webhook.id}:{self._clock.new_id()}",
            run_id=event.task_id.partition("/")[0] or None,
            channel=WEBHOOK_CHANNEL,
            account="",
            chat=webhook.id,
            kind=row.name,
            payload={"event": row.name, "session_id": event.session_id, "task_id": event.task_id, "data": dict(data)},
        )


def remove_content(data: Mapping[str, Any]) -> dict[str, Any]:
    """Return only the ids, names, states, numbers and times of an event's payload; an error keeps its code."""
    kept = {name: value for name, value in data.items() if _is_plain(name, value)}
    error = data.get("error")
    return {**kept, "error": {"code": error.get("code")}} if isinstance(error, Mapping) else kept  # pyright: ignore[reportUnknownMemberType] - any JSON


def _suggest_event(name: str, durable: Collection[str]) -> str:
    near = get_close_matches(name, durable, n=1)
    return f"did you mean {near[0]}?" if near else f"those are {', '.join(sorted(durable))}"


def _is_plain(name: str, value: object) -> bool:
    if isinstance(value, str):
        return name in PLAIN_FIELDS or name.endswith(("_id", "_at", "_ms"))
    return value is None or isinstance(value, int | float) or name == "usage"

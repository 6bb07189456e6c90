"""Outgoing webhooks: durable events become outbound entries in the transaction that stores them."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from difflib import get_close_matches
from typing import Any, cast

from sophon.clock import Clock
from sophon.errors import SettingsError
from sophon.events import Event, event_type, event_types
from sophon.events.field_visibility_rules import FieldRule, field_rules
from sophon.events.visibility import Visibility
from sophon_channels.outbound_entry import OutboundEntry
from sophon_hosting.events.wire_event import to_logged_event
from sophon_hosting.features.webhooks.incoming import WEBHOOK_CHANNEL
from sophon_hosting.features.webhooks.settings import OutgoingWebhookSettings
from sophon_hosting.store.events.logged_event import LoggedEvent


class OutgoingWebhooks:
    """Builder of the outbound entries of events: one per webhook that wants the event."""

    def __init__(self, webhooks: Sequence[OutgoingWebhookSettings], clock: Clock) -> None:
        """Create the builder. Raises SettingsError with each name that is no durable event."""
        self._clock = clock
        self._by_event: dict[str, list[OutgoingWebhookSettings]] = {}
        durable = {name for name, each in event_types().items() if each.durable}
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
        data = row.data if webhook.content else remove_content(row.name, row.data)
        return OutboundEntry(
            id=f"{WEBHOOK_CHANNEL}:{webhook.id}:{self._clock.new_id()}",
            run_id=event.task_id.partition("/")[0] or None,
            channel=WEBHOOK_CHANNEL,
            account="",
            chat=webhook.id,
            kind=row.name,
            payload={"event": row.name, "session_id": event.session_id, "task_id": event.task_id, "data": dict(data)},
        )


def remove_content(name: str, data: Mapping[str, Any]) -> dict[str, Any]:
    """Return only the ids, names, states, numbers and times of an event's payload (`sophon.events.visibility`)."""
    return _keep_plain(field_rules(event_type(name)), data)


def _keep_plain(rules: Mapping[str, FieldRule], data: Mapping[str, Any]) -> dict[str, Any]:
    kept: dict[str, Any] = {}
    for name, value in data.items():
        rule = rules.get(name)
        if value is None or isinstance(value, int | float) or rule is Visibility.PLAIN:
            kept[name] = value
        elif isinstance(rule, Mapping) and isinstance(value, Mapping):
            kept[name] = _keep_plain(rule, cast(Mapping[str, Any], value))
        elif isinstance(rule, Mapping) and isinstance(value, list):
            kept[name] = [_keep_plain(rule, each) for each in cast(list[Mapping[str, Any]], value)]
    return kept


def _suggest_event(name: str, durable: Collection[str]) -> str:
    near = get_close_matches(name, durable, n=1)
    return f"did you mean {near[0]}?" if near else f"those are {', '.join(sorted(durable))}"

"""Webhooks of a host: life cycle of the sender, and what operators see and try."""

import asyncio
from collections.abc import Mapping
from contextlib import suppress

from aiohttp import web

from sophon.errors import NotFound
from sophon.services import Services
from sophon_channels.contract import Channel
from sophon_channels.outbound_entry import OutboundEntry
from sophon_hosting.channels.outbound.outbox_worker import OutboxWorker, find_poll_seconds
from sophon_hosting.events.wire_event import WireEvent
from sophon_hosting.features.webhooks.incoming import WEBHOOK_CHANNEL, IncomingWebhooks
from sophon_hosting.features.webhooks.results import IncomingWebhook, OutgoingWebhook
from sophon_hosting.features.webhooks.sender import WebhookSender
from sophon_hosting.features.webhooks.settings import WebhooksSettings
from sophon_hosting.host import Host
from sophon_hosting.store.contract import host_store

TEST_EVENT = "webhook_test"
"""Name of the event that `sophon webhooks test` sends."""


WEBHOOK_DUTY = "outgoing_webhooks"
"""What the process leads that sends."""

MAX_LISTED = 10_000
"""Entries of a webhook that are counted."""


class WebhookService:
    """Incoming and outgoing webhooks of one host."""

    def __init__(
        self, services: Services, host: Host, environment: Mapping[str, str], channels: Mapping[str, Channel]
    ) -> None:
        """Connect the webhooks of the settings to the host. Raises InputError for settings that cannot be used."""
        self._services, self._host = services, host
        settings = services.settings.section(WebhooksSettings)
        self._incoming = IncomingWebhooks(host, settings.incoming, environment, channels)
        self._sender = WebhookSender(settings, environment, services.clock)
        self._worker = OutboxWorker(
            self._sender,
            host_store(services).outbox,
            services.clock,
            poll_seconds=find_poll_seconds(host),
            migrate_chat=_migrate_nothing,
            refresh_payload=_keep_payload,
            changes=host.outbox_changes,
        )
        self._names = frozenset(name for each in settings.outgoing if each.enabled for name in each.events)
        self._task: asyncio.Task[None] | None = None

    def routes(self) -> list[web.RouteDef]:
        """Return the routes of the incoming webhooks."""
        return self._incoming.routes()

    def start(self) -> None:
        """Send what is stored, and what is added from now on."""
        self._host.event_bus.subscribe_all(self._handle_event)
        self._worker.resume()  # what was refused before is tried again at a start
        self._task = asyncio.create_task(self._host.membership.leadership.lead(WEBHOOK_DUTY, self._worker.run))

    async def stop(self) -> None:
        """Stop to send, if it was started; entries that are not sent yet are sent after the next start."""
        if self._task is not None:
            self._host.event_bus.unsubscribe_all(self._handle_event)
            self._task.cancel()
            with suppress(asyncio.CancelledError):
                await self._task
            self._task = None
        await self._sender.close()

    async def send_test(self, webhook_id: str) -> str:
        """Add a test event for an outgoing webhook; return the id of the entry. Raises NotFound."""
        known = [each.id for each in self._services.settings.section(WebhooksSettings).outgoing if each.enabled]
        if webhook_id not in known:
            raise NotFound("outgoing webhook", webhook_id, known[:5])
        entry = OutboundEntry(
            id=f"{WEBHOOK_CHANNEL}:{webhook_id}:{self._services.clock.new_id()}",
            run_id=None,
            channel=WEBHOOK_CHANNEL,
            account="",
            chat=webhook_id,
            kind=TEST_EVENT,
            payload={"event": TEST_EVENT, "session_id": "", "task_id": "", "data": {}},
        )
        await host_store(self._services).outbox.add([entry])
        self._worker.wake()
        return entry.id

    async def describe(self) -> list[IncomingWebhook | OutgoingWebhook]:
        """Return each webhook with its settings, without secrets, and the deliveries of the outgoing ones by status."""
        settings, outbox = self._services.settings.section(WebhooksSettings), host_store(self._services).outbox
        rows: list[IncomingWebhook | OutgoingWebhook] = [
            {
                "id": each.id,
                "direction": "incoming",
                "enabled": each.enabled,
                "path": f"/webhooks/receive/{each.id}",
                "scheme": each.scheme,
                "user": each.user,
                "deliver": f"{each.deliver.channel}:{each.deliver.chat}" if each.deliver else None,
            }
            for each in settings.incoming
        ]
        for each in settings.outgoing:
            entries = await outbox.list(channel=WEBHOOK_CHANNEL, chat=each.id, limit=MAX_LISTED)
            waiting = [entry for entry in entries if entry.status in ("pending", "sending", "refused", "ambiguous")]
            rows.append(
                {
                    "id": each.id,
                    "direction": "outgoing",
                    "enabled": each.enabled,
                    "url": each.url,
                    "events": list(each.events),
                    "waiting": len(waiting),
                    "dead": sum(entry.status == "dead" for entry in entries),
                    "last_error": next((entry.last_error for entry in reversed(entries) if entry.last_error), ""),
                }
            )
        return rows

    def _handle_event(self, event: WireEvent) -> None:
        if event.name in self._names:
            self._worker.wake()


async def _migrate_nothing(old: str, new: str) -> None:
    """Do nothing: a URL has no new id."""


async def _keep_payload(entry: OutboundEntry) -> None:
    """Return None: an event is sent as it was stored."""

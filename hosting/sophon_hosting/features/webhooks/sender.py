"""Sender of outgoing webhooks: one signed POST per outbound entry, for `OutboxWorker`."""

import asyncio
from collections.abc import Mapping
from datetime import timedelta
from email.utils import parsedate_to_datetime

import aiohttp

from sophon._python.lazy_dataclass import dataclass
from sophon.clock import Clock
from sophon.errors import InputError
from sophon_channels.backoff import backoff_delay
from sophon_channels.contract import (
    BeforeRequest,
    ChannelHealth,
    SendDeferred,
    SendResult,
    SendSucceeded,
    SendUndeliverable,
    before_no_request,
)
from sophon_channels.outbound_entry import OutboundEntry
from sophon_hosting.features.webhooks.incoming import WEBHOOK_CHANNEL
from sophon_hosting.features.webhooks.settings import OutgoingWebhookSettings, WebhooksSettings
from sophon_hosting.features.webhooks.signatures import sign_event
from sophon_hosting.json_text import encode_json

MAX_RETRY_AFTER = timedelta(hours=1)
"""Maximum delay that a receiver may ask for."""
SEND_SECONDS = 10.0
"""Time of one request: a receiver has only to keep what it gets."""
GONE = 410
REFUSALS = frozenset({400, 413, 415, 422})
"""Answers that say that the same request would be refused again."""


@dataclass(frozen=True, slots=True)
class _Target:
    webhook: OutgoingWebhookSettings
    secret: str


class WebhookSender:
    """`EntrySender` for the outgoing webhooks of the settings. The chat of an entry is the webhook's id.

    2xx is success. An answer that refuses this event (`REFUSALS`) makes it a dead letter at once, so that it does not
    hold up the later ones; 410 means that the receiver wants nothing more. Every other answer is retried for 24 hours,
    with back-off or after `Retry-After`. A request without an answer is sent again, too: the receiver knows a repeat by
    `webhook-id`. Redirects are not followed, because a signed body is for one receiver.
    """

    name = WEBHOOK_CHANNEL
    account = ""
    reports_delivery = False

    def __init__(self, settings: WebhooksSettings, environment: Mapping[str, str], clock: Clock) -> None:
        """Create the sender. Raises InputError for a secret that is empty or cannot be read."""
        self._clock = clock
        self.health = ChannelHealth()
        self._session: aiohttp.ClientSession | None = None
        self._targets: dict[str, _Target] = {}
        for each in settings.outgoing:
            secret = each.secret.resolve(environment) if each.enabled else None
            if each.enabled and not secret:
                raise InputError(f"Webhooks.Outgoing {each.id!r}: its Secret is empty or cannot be read")
            if secret:
                self._targets[each.id] = _Target(each, secret)

    async def close(self) -> None:
        """Close the connections."""
        if self._session is not None:
            await self._session.close()
            self._session = None

    async def send(self, entry: OutboundEntry, before_request: BeforeRequest = before_no_request) -> SendResult:
        """Post one event; see `Channel.send`."""
        target = self._targets.get(entry.chat)
        if target is None:
            return SendUndeliverable(f"there is no webhook {entry.chat!r} in the settings any more", is_chat_gone=True)
        if self._session is None:
            self._session = aiohttp.ClientSession(trust_env=False, auto_decompress=False)
        body = build_body(entry)
        headers = {
            "Content-Type": "application/json",
            "User-Agent": "Sophon",
            "X-Sophon-Event": entry.kind,
            "X-Sophon-Delivery": entry.id,
            **sign_event(entry.id, body, target.secret, self._clock.now()),
        }
        await before_request()
        again = backoff_delay(entry.refusals + 1)
        try:
            async with (
                asyncio.timeout(SEND_SECONDS),
                self._session.post(target.webhook.url, data=body, headers=headers, allow_redirects=False) as response,
            ):
                return self._read_status(response.status, response.headers.get("Retry-After"), again)
        except TimeoutError:
            return SendDeferred(f"no answer within {SEND_SECONDS:g} s", again)
        except (aiohttp.ClientError, OSError) as error:
            return SendDeferred(f"{type(error).__name__}: {error}"[:300], again)

    def _read_status(self, status: int, retry_after: str | None, again: timedelta) -> SendResult:
        if 200 <= status < 300:
            return SendSucceeded(None)
        if status == GONE:
            return SendUndeliverable("410: the receiver wants no more events", is_chat_gone=True)
        if status in REFUSALS:
            return SendUndeliverable(f"HTTP {status}: the receiver refuses this event")
        return SendDeferred(f"HTTP {status}", max(again, self._parse_retry_after(retry_after)))

    def _parse_retry_after(self, value: str | None) -> timedelta:
        """Return the delay of a `Retry-After` header, in seconds or as a date; zero if there is none that is valid."""
        value = (value or "").strip()
        if value.isascii() and value.isdigit():
            return min(timedelta(seconds=min(int(value[:9]), 10**6)), MAX_RETRY_AFTER)
        try:
            delay = parsedate_to_datetime(value) - self._clock.now()
        except (ValueError, TypeError):
            return timedelta(0)
        return min(max(delay, timedelta(0)), MAX_RETRY_AFTER)


def build_body(entry: OutboundEntry) -> bytes:
    """Return the body of an entry's request; the same bytes at each attempt."""
    created_at = None if entry.created_at is None else entry.created_at.isoformat()
    return encode_json({"id": entry.id, "created_at": created_at, **entry.payload}).encode()

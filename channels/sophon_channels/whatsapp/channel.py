"""WhatsApp channel: one phone number of the Cloud API, with a webhook."""

import logging
from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import Any

from aiohttp import web

from sophon.clock import Clock
from sophon.settings import WhatsAppSettings
from sophon.stores.outbound_contracts import OutboundEntry
from sophon_channels.contract import (
    Attachment,
    Finding,
    Health,
    Inbox,
    Outgoing,
    Place,
    Pressed,
    Receipt,
    Refused,
    Sent,
    Undeliverable,
)
from sophon_channels.disk import FileToSend
from sophon_channels.errors import ChannelError
from sophon_channels.fields import text
from sophon_channels.whatsapp import render
from sophon_channels.whatsapp.access import access, mistakes, webhook_secrets
from sophon_channels.whatsapp.client import Client
from sophon_channels.whatsapp.downloads import LARGEST, download
from sophon_channels.whatsapp.failures import Failure, receipt
from sophon_channels.whatsapp.parse import arrivals
from sophon_channels.whatsapp.rate import GO, Gate
from sophon_channels.whatsapp.statuses import Statuses
from sophon_channels.whatsapp.uploads import file_message
from sophon_channels.whatsapp.webhook import PATH, Webhook

log = logging.getLogger("sophon")

NOT_STARTED = Refused("the channel is not running", timedelta(minutes=1), everywhere=True)
"""Result of every send while the channel is stopped."""


TYPING_SECONDS = 20.0
"""Interval of the typing indicator, which WhatsApp shows for 25 s; each call counts. Source: reference/channels.md."""


class WhatsAppChannel:
    """`Channel` for one WhatsApp number. `account` is the number's id at Meta, which is not the phone number."""

    def __init__(self, settings: WhatsAppSettings, environment: Mapping[str, str], clock: Clock) -> None:
        self._settings, self._environment, self._clock = settings, environment, clock
        self._health = Health()
        self._rate_limiter = Gate(clock)
        self._deduplicator = Statuses()
        self._client: Client | None = None
        self._typing_until: dict[str, float] = {}
        self._inbox: Inbox | None = None

    @property
    def name(self) -> str:
        return "whatsapp"

    @property
    def account(self) -> str:
        return self._settings.phone_number_id or ""

    @property
    def notes_presses(self) -> bool:
        return False

    @property
    def health(self) -> Health:
        return self._health

    @property
    def largest_file(self) -> int:
        return LARGEST["document"]

    async def start(self, inbox: Inbox) -> None:
        """Start the channel, as `Channel.start`. A failed check of the number is logged, and the channel runs."""
        try:
            client = self._create_client()
        except ChannelError as error:
            self._health.state, self._health.detail = "refused", str(error)
            raise
        self._client, self._inbox = client, inbox
        self._health.state, self._health.detail = "running", ""
        try:
            await client.number()
        except Failure as api_error:
            self._record_failure(api_error)

    async def stop(self) -> None:
        client, self._client, self._inbox = self._client, None, None
        if client is not None:
            await client.close()
        if self._health.state != "refused":
            self._health.state, self._health.detail = "stopped", ""

    def routes(self) -> Sequence[web.RouteDef]:
        """Return the GET and POST routes; POST answers 503 while the channel is stopped. None without the secrets."""
        try:
            secret, verify_token = webhook_secrets(self._settings, self._environment)
        except ChannelError:  # `start` reports it
            return ()
        webhook = Webhook(secret, verify_token, self._handle_payload, lambda: self._inbox is not None)
        return web.get(PATH, webhook.verify), web.post(PATH, webhook.handle)

    def parts(self, outgoing: Outgoing) -> list[dict[str, Any]]:
        return render.payloads(outgoing)

    async def send(self, entry: OutboundEntry) -> Receipt:
        if self._client is None:
            return NOT_STARTED
        delay, is_account_wide = self._rate_limiter.final(entry.chat)
        if delay > GO:
            return Refused("delayed by the rate limit of WhatsApp", delay, is_account_wide)
        try:
            result = Sent(await self._deliver(self._client, entry))
        except ChannelError as error:
            return Undeliverable(str(error))
        except Failure as api_error:
            if api_error.refuses_token:
                self._record_failure(api_error)
            return receipt(api_error, entry.attempts)
        self._record_success()
        return result

    async def _deliver(self, client: Client, entry: OutboundEntry) -> str:
        file = FileToSend.of(entry.payload)
        message = (
            _build_message(entry)
            if file is None
            else await file_message(client, self._clock, file, _text_with_repeat_mark(entry))
        )
        return await client.send(entry.chat, message, entry.payload.get("reply_to"))

    async def acknowledge(self, press: Pressed, note: str) -> None:
        """Do nothing: WhatsApp shows no note at a button."""

    async def busy(self, place: Place, message_id: str) -> None:
        now = self._clock.monotonic()
        if self._client is None or not message_id or now < self._typing_until.get(message_id, now):
            return
        if not self._rate_limiter.typing():
            return
        active = {shown_for: until for shown_for, until in self._typing_until.items() if until > now}
        self._typing_until = {**active, message_id: now + TYPING_SECONDS}
        try:
            await self._client.read(message_id)
        except Failure as error:
            if error.refuses_token:
                self._record_failure(error)
            log.info("WhatsApp: %s", error)
        else:
            self._record_success()

    async def progress(self, place: Place, text: str, shown: str | None, reply_to: str | None) -> str | None:
        """Do nothing and return None: WhatsApp messages cannot be edited."""
        return None

    async def fetch(self, attachment: Attachment, target: str, *, limit: int) -> int:
        if self._client is None:
            raise ChannelError("the file cannot be downloaded from WhatsApp: the channel is not running")
        return await download(self._client, attachment, target, limit)

    async def test(self) -> list[Finding]:
        """Check the configuration by fetching the number from Meta, which changes nothing."""
        if messages := mistakes(self._settings, self._environment):
            return [Finding(False, message, "see docs/whatsapp.md") for message in messages]
        client = self._create_client()
        try:
            info = await client.number()
        except Failure as error:
            return [Finding(False, self._describe_failure(error), "see docs/whatsapp.md, The usual mistakes")]
        finally:
            await client.close()
        number, name = text(info, "display_phone_number"), text(info, "verified_name")
        return [
            Finding(True, f"the number is {number or 'known'} ({name or 'without a verified name'})"),
            Finding(True, "a token from Meta's set-up page expires after 24 hours; one of a system user does not"),
        ]

    async def _handle_payload(self, payload: object) -> None:
        events = self._deduplicator.news(arrivals(payload, self.account, self._clock.now()))
        if not events or self._inbox is None:
            return
        await self._inbox.receive(events)
        self._deduplicator.keep(events)
        self._health.last_arrival = self._clock.now()
        self._health.counts["received"] = self._health.counts.get("received", 0) + len(events)

    def _create_client(self) -> Client:
        credentials = access(self._settings, self._environment)
        base_url = self._settings.api_base
        return Client(credentials.number_id, credentials.token, str(base_url) if base_url else None, self._clock)

    def _record_success(self) -> None:
        if self._client is not None:
            self._health.state, self._health.detail = "running", ""

    def _record_failure(self, error: Failure) -> None:
        """Record the failure; a repeated one is not logged."""
        detail = self._describe_failure(error)
        if self._client is not None and (self._health.state, self._health.detail) != ("failing", detail):
            self._health.state, self._health.detail = "failing", detail
            log.warning("WhatsApp: %s", detail)

    def _describe_failure(self, error: Failure) -> str:
        if error.refuses_token:
            return (
                "Meta rejects the access token: it is wrong or has expired (one from the set-up page lasts 24 hours); "
                "create one for a system user"
            )
        if error.code == 100:
            return f"Meta has no number with the id {self.account}; is it the phone number itself, or another app's?"
        return str(error)


def _text_with_repeat_mark(entry: OutboundEntry) -> str:
    return (render.REPEAT_MARK if entry.doubtful else "") + str(entry.payload["text"])


def _build_message(entry: OutboundEntry) -> dict[str, Any]:
    body = _text_with_repeat_mark(entry)
    buttons = entry.payload.get("buttons")
    if not buttons:
        return {"type": "text", "text": {"preview_url": False, "body": body}}
    replies = [{"type": "reply", "reply": dict(button)} for button in buttons]
    return {
        "type": "interactive",
        "interactive": {"type": "button", "body": {"text": body}, "action": {"buttons": replies}},
    }

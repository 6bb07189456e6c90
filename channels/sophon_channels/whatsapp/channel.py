"""WhatsApp channel: one phone number of the Cloud API, with a webhook."""

import asyncio
import logging
from collections.abc import Mapping, Sequence
from contextlib import suppress
from datetime import datetime, timedelta
from functools import partial
from typing import Any

from aiohttp import web

from sophon.clock import Clock
from sophon_channels.contract import (
    BeforeRequest,
    ButtonPress,
    ChannelAttachment,
    ChannelHealth,
    ChatLocation,
    Inbox,
    OutboundMessage,
    SelfTestResult,
    SendPostponed,
    SendResult,
    SendSucceeded,
    SendUnauthorized,
    SendUndeliverable,
    before_no_request,
)
from sophon_channels.errors import ChannelError
from sophon_channels.json_fields import get_text
from sophon_channels.outbound_entry import OutboundEntry
from sophon_channels.outbound_file import OutboundFile
from sophon_channels.proxy import resolve_proxy
from sophon_channels.quiet_hours import QuietHours
from sophon_channels.sent_files import SentFiles
from sophon_channels.webhook_body import WEBHOOKS
from sophon_channels.whatsapp import rendering
from sophon_channels.whatsapp.api.client import WhatsAppClient
from sophon_channels.whatsapp.api.downloads import MAX_BYTES_BY_KIND, download_attachment
from sophon_channels.whatsapp.api.errors import UNKNOWN_MEDIA_CODES, WhatsAppApiError, send_result_from_error
from sophon_channels.whatsapp.api.rate_limiter import NO_DELAY, WhatsAppRateLimiter
from sophon_channels.whatsapp.api.uploads import MEDIA_ID_LIFETIME, find_file_problem, upload_file_message
from sophon_channels.whatsapp.credentials import find_credential_problems, resolve_credentials, resolve_webhook_secrets
from sophon_channels.whatsapp.parsing import parse_webhook
from sophon_channels.whatsapp.settings import WhatsAppSettings
from sophon_channels.whatsapp.status_deduplicator import StatusDeduplicator
from sophon_channels.whatsapp.templates import DOUBT_MESSAGE, build_template_message, render_template
from sophon_channels.whatsapp.webhook import WhatsAppWebhook
from sophon_channels.whatsapp.webhook_registration import WebhookRegistration, check_webhook

log = logging.getLogger("sophon")

NOT_RUNNING = SendPostponed(timedelta(seconds=1), is_account_wide=True)
"""Result of every send while the channel is stopped; a host sends only after the start has ended."""


TYPING_INTERVAL_SECONDS = 20.0
"""Interval of the typing indicator, which WhatsApp shows for 25 s; each call counts."""

MARK_GRACE_SECONDS = 1.0
"""How long `stop` waits for read marks in flight."""


class WhatsAppChannel:
    """`Channel` for one WhatsApp number. `account` is the number's id at Meta, which is not the phone number.

    Several numbers have different names, and webhooks at `/webhooks/NAME`; `webhook_url` is the public URL of that,
    which is registered with Meta; without it that is done elsewhere.
    """

    supports_press_notes = False
    reports_delivery = True
    max_file_bytes = MAX_BYTES_BY_KIND["document"]

    def __init__(
        self,
        settings: WhatsAppSettings,
        environment: Mapping[str, str],
        clock: Clock,
        *,
        name: str = "whatsapp",
        webhook_url: str | None = None,
    ) -> None:
        self.name, self.account = name, settings.phone_number_id or ""
        self._settings, self._environment, self._clock = settings, environment, clock
        self._webhook_url = webhook_url
        window = settings.quiet_hours
        self._quiet_hours = None if window is None else QuietHours.parse(window, settings.quiet_time_zone)
        self._registration: WebhookRegistration | None = None
        self._registering: asyncio.Task[None] | None = None
        self.health = ChannelHealth()
        self._rate_limiter = WhatsAppRateLimiter(clock)
        self._deduplicator = StatusDeduplicator()
        self._sent_files = SentFiles(clock, MEDIA_ID_LIFETIME)
        self._client: WhatsAppClient | None = None
        self._typing_until: dict[str, float] = {}
        self._marking: set[asyncio.Task[None]] = set()
        self._inbox: Inbox | None = None

    async def start(self, inbox: Inbox) -> None:
        """Start the channel, as `Channel.start`. A failed check of the number is logged, and the channel runs."""
        try:
            client = self._create_client()
        except ChannelError as error:
            self.health.state, self.health.detail = "refused", str(error)
            raise
        self._client, self._inbox = client, inbox
        self.health.state, self.health.detail, self.health.is_credential_rejected = "running", "", False
        try:
            await client.get_phone_number()
        except WhatsAppApiError as api_error:
            self._record_failure(api_error)
        if self._webhook_url is not None:
            token = resolve_credentials(self._settings, self._environment).verify_token
            self._registration = WebhookRegistration(client, self._clock, self._webhook_url, token)
            self._registering = asyncio.create_task(self._registration.run(self._show_registration))

    def _show_registration(self) -> None:
        if self.health.state == "running":
            self.health.detail = self._registration.problem if self._registration is not None else ""

    async def stop(self) -> None:
        registering, self._registering, self._registration = self._registering, None, None
        if registering is not None:
            registering.cancel()
            await asyncio.gather(registering, return_exceptions=True)
        client, self._client, self._inbox = self._client, None, None
        await self._end_marks()
        if client is not None:
            await client.close()
        if self.health.state != "refused":
            self.health.state, self.health.detail = "stopped", ""

    async def _end_marks(self) -> None:
        """Wait for the read marks in flight, at most `MARK_GRACE_SECONDS`."""
        marking = list(self._marking)
        with suppress(TimeoutError):
            async with self._clock.timeout(MARK_GRACE_SECONDS):
                await asyncio.gather(*(asyncio.shield(task) for task in marking), return_exceptions=True)
        for task in marking:
            task.cancel()
        await asyncio.gather(*marking, return_exceptions=True)

    def routes(self) -> Sequence[web.RouteDef]:
        """Return the GET and POST routes; POST answers 503 while the channel is stopped. None without the secrets."""
        try:
            secret, verify_token = resolve_webhook_secrets(self._settings, self._environment)
        except ChannelError:  # `start` reports it
            return ()
        path = f"{WEBHOOKS}{self.name}"
        webhook = WhatsAppWebhook(secret, verify_token, self._handle_payload, lambda: self._inbox is not None, path)
        return web.get(path, webhook.handle_verification), web.post(path, webhook.handle)

    def render_payloads(self, message: OutboundMessage) -> list[dict[str, Any]]:
        return rendering.render_payloads(message)

    def render_reopening(self, beginning: str) -> dict[str, Any] | None:
        template = self._settings.template
        return None if template is None else render_template(template, beginning)

    def find_quiet_end(self, now: datetime) -> datetime | None:
        return None if self._quiet_hours is None else self._quiet_hours.find_end(now)

    def find_file_problem(self, media_type: str, size: int) -> str:
        return find_file_problem(media_type, size)

    async def send(self, entry: OutboundEntry, before_request: BeforeRequest = before_no_request) -> SendResult:
        if self._client is None:
            return NOT_RUNNING
        if "template" in entry.payload and entry.doubtful:
            return SendUndeliverable(DOUBT_MESSAGE)
        delay, is_account_wide = self._rate_limiter.acquire_message(entry.chat)
        if delay > NO_DELAY:
            return SendPostponed(delay, is_account_wide)
        try:
            result = SendSucceeded(await self._deliver(self._client, entry, before_request))
        except ChannelError as error:
            return SendUndeliverable(str(error))
        except WhatsAppApiError as api_error:
            failure = send_result_from_error(api_error, entry.refusals + 1)
            if isinstance(failure, SendUnauthorized):
                self._record_failure(api_error)
            return failure
        self._record_success()
        return result

    async def _deliver(self, client: WhatsAppClient, entry: OutboundEntry, before_request: BeforeRequest) -> str:
        file, reply_to = OutboundFile.from_payload(entry.payload), entry.payload.get("reply_to")
        if file is None:
            await before_request()
            return await client.send_message(entry.chat, _build_message(entry), reply_to)
        caption = _text_with_repeat_mark(entry)
        build_message = partial(
            upload_file_message,
            client,
            self._clock,
            file,
            caption,
            self._sent_files,
            is_voice=bool(entry.payload.get("is_voice")),
        )
        message, reused = await build_message()
        await before_request()  # an upload delivers nothing yet
        try:
            return await client.send_message(entry.chat, message, reply_to)
        except WhatsAppApiError as error:
            if not reused or error.code not in UNKNOWN_MEDIA_CODES:
                raise
        # Meta has lost the upload of days ago; what it refused for certain is sent again with a new one.
        self._sent_files.forget(reused)
        message, _ = await build_message()
        return await client.send_message(entry.chat, message, reply_to)

    async def acknowledge_press(self, press: ButtonPress, note: str) -> None:
        """Do nothing: WhatsApp shows no note at a button."""

    async def send_typing(self, location: ChatLocation, message_id: str) -> None:
        now = self._clock.monotonic()
        if self._client is None or not message_id or now < self._typing_until.get(message_id, now):
            return
        if not self._rate_limiter.try_acquire_typing():
            return
        active = {shown_for: until for shown_for, until in self._typing_until.items() if until > now}
        self._typing_until = {**active, message_id: now + TYPING_INTERVAL_SECONDS}
        marking = asyncio.create_task(self._mark_as_read(self._client, message_id))
        self._marking.add(marking)
        marking.add_done_callback(self._marking.discard)
        # The caller ends the indicator with the turn; the mark that the message was read stays, so it is not cut off.
        await asyncio.shield(marking)

    async def _mark_as_read(self, client: WhatsAppClient, message_id: str) -> None:
        try:
            await client.mark_as_read(message_id)
        except WhatsAppApiError as error:
            if error.is_credential_error:
                self._record_failure(error)
            log.info("WhatsApp: %s", error)
        else:
            self._record_success()

    async def send_reaction(self, location: ChatLocation, message_id: str, emoji: str) -> None:
        """React to a message; it counts as a message to the person, so it is left out if the next one would wait."""
        if self._client is None or self._rate_limiter.acquire_message(location.chat)[0] > NO_DELAY:
            return
        reaction = {"type": "reaction", "reaction": {"message_id": message_id, "emoji": emoji}}
        try:
            await self._client.send_message(location.chat, reaction)
        except WhatsAppApiError as error:
            if error.is_credential_error:
                self._record_failure(error)
            log.info("WhatsApp: %s", error)

    async def update_preview(
        self, location: ChatLocation, text: str, preview_message_id: str | None, reply_to_message_id: str | None
    ) -> str | None:
        """Do nothing and return None: WhatsApp messages cannot be edited."""
        return None

    async def download_attachment(self, attachment: ChannelAttachment, target: str, *, max_bytes: int) -> int:
        running = self._client
        client = running or self._create_client()
        try:
            return await download_attachment(client, attachment, target, max_bytes)
        finally:
            if running is None:
                await client.close()

    async def run_self_test(self) -> list[SelfTestResult]:
        """Check the configuration by fetching the number from Meta, which changes nothing."""
        if messages := find_credential_problems(self._settings, self._environment):
            return [SelfTestResult(False, message, "see docs/whatsapp.md") for message in messages]
        client = self._create_client()
        try:
            info = await client.get_phone_number()
        except WhatsAppApiError as error:
            return [SelfTestResult(False, self._describe_failure(error), "see docs/whatsapp.md, The usual mistakes")]
        finally:
            await client.close()
        number, name = get_text(info, "display_phone_number"), get_text(info, "verified_name")
        return [
            SelfTestResult(True, f"the number is {number or 'known'} ({name or 'without a verified name'})"),
            SelfTestResult(
                True, "a token from Meta's set-up page expires after 24 hours; one of a system user does not"
            ),
            *check_webhook(info, self._webhook_url, f"{WEBHOOKS}{self.name}"),
        ]

    async def _handle_payload(self, payload: object) -> None:
        events = self._deduplicator.filter_new(parse_webhook(payload, self.account, self._clock.now()))
        if not events or self._inbox is None:
            return
        await self._inbox.receive(events)
        self._deduplicator.record(events)
        self.health.last_received_at = self._clock.now()
        self.health.counts["received"] = self.health.counts.get("received", 0) + len(events)

    def _create_client(self) -> WhatsAppClient:
        credentials = resolve_credentials(self._settings, self._environment)
        base_url = self._settings.api_base
        return WhatsAppClient(
            credentials.number_id,
            credentials.token,
            str(base_url) if base_url else None,
            self._clock,
            resolve_proxy(self._settings.proxy, self._environment, "WhatsApp", socks_package="socksio"),
        )

    def _record_success(self) -> None:
        if self._client is not None:
            self.health.state, self.health.detail = "running", ""
            self.health.is_credential_rejected = False
            self._show_registration()

    def _record_failure(self, error: WhatsAppApiError) -> None:
        """Record the failure; a repeated one is not logged."""
        detail = self._describe_failure(error)
        self.health.is_credential_rejected = error.is_credential_error
        if self._client is not None and (self.health.state, self.health.detail) != ("failing", detail):
            self.health.state, self.health.detail = "failing", detail
            log.warning("WhatsApp: %s", detail)

    def _describe_failure(self, error: WhatsAppApiError) -> str:
        if error.is_token_error:
            return (
                "Meta rejects the access token: it is wrong or has expired (one from the set-up page lasts 24 hours); "
                "create one for a system user"
            )
        if error.code == 100:
            return f"Meta has no number with the id {self.account}; is it the phone number itself, or another app's?"
        return str(error)


def _text_with_repeat_mark(entry: OutboundEntry) -> str:
    return (rendering.REPEAT_MARK if entry.doubtful else "") + str(entry.payload["text"])


def _build_message(entry: OutboundEntry) -> dict[str, Any]:
    if "template" in entry.payload:
        return build_template_message(entry.payload)
    body = _text_with_repeat_mark(entry)
    buttons, rows = entry.payload.get("buttons"), entry.payload.get("rows")
    if rows:
        action = {"button": rendering.LIST_BUTTON, "sections": [{"rows": [dict(row) for row in rows]}]}
        return {"type": "interactive", "interactive": {"type": "list", "body": {"text": body}, "action": action}}
    if not buttons:
        return {"type": "text", "text": {"preview_url": False, "body": body}}
    replies = [{"type": "reply", "reply": dict(button)} for button in buttons]
    return {
        "type": "interactive",
        "interactive": {"type": "button", "body": {"text": body}, "action": {"buttons": replies}},
    }

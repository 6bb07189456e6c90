"""The WhatsApp channel: one number of the Cloud API, with a webhook."""

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

NOT_STARTED = Refused("the channel does not run", timedelta(minutes=1), everywhere=True)


TYPING_SECONDS = 20.0
"""WhatsApp shows it for 25, and every call counts. Source: reference/channels.md."""


class WhatsAppChannel:
    """One number; implements `Channel`. `account` is its id at Meta, which is not the phone number."""

    def __init__(self, settings: WhatsAppSettings, environment: Mapping[str, str], clock: Clock) -> None:
        self._settings, self._environment, self._clock = settings, environment, clock
        self._health = Health()
        self._gate = Gate(clock)
        self._statuses = Statuses()
        self._client: Client | None = None
        self._typing: dict[str, float] = {}
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
        """As `Channel.start`; a number that Meta does not show now is told, and tried all the same."""
        try:
            client = self._connect()
        except ChannelError as error:
            self._health.state, self._health.detail = "refused", str(error)
            raise
        self._client, self._inbox = client, inbox
        self._health.state, self._health.detail = "running", ""
        try:
            await client.number()
        except Failure as failure:
            self._fails(failure)

    async def stop(self) -> None:
        client, self._client, self._inbox = self._client, None, None
        if client is not None:
            await client.close()
        if self._health.state != "refused":
            self._health.state, self._health.detail = "stopped", ""

    def routes(self) -> Sequence[web.RouteDef]:
        """GET and POST, which answers 503 while the channel is stopped. None without the secrets: `start` says why."""
        try:
            secret, word = webhook_secrets(self._settings, self._environment)
        except ChannelError:
            return ()
        webhook = Webhook(secret, word, self._take, lambda: self._inbox is not None)
        return web.get(PATH, webhook.verify), web.post(PATH, webhook.handle)

    def parts(self, outgoing: Outgoing) -> list[dict[str, Any]]:
        return render.payloads(outgoing)

    async def send(self, entry: OutboundEntry) -> Receipt:
        if self._client is None:
            return NOT_STARTED
        wait, everywhere = self._gate.final(entry.chat)
        if wait > GO:
            return Refused("held back: WhatsApp's limits", wait, everywhere)
        try:
            sent = Sent(await self._deliver(self._client, entry))
        except ChannelError as error:
            return Undeliverable(str(error))
        except Failure as failure:
            if failure.refuses_token:
                self._fails(failure)
            return receipt(failure, entry.attempts)
        self._works()
        return sent

    async def _deliver(self, client: Client, entry: OutboundEntry) -> str:
        file = FileToSend.of(entry.payload)
        message = _message(entry) if file is None else await file_message(client, self._clock, file, _body(entry))
        return await client.send(entry.chat, message, entry.payload.get("reply_to"))

    async def acknowledge(self, press: Pressed, note: str) -> None:
        """Nothing can be shown at a button; who decided is told in a message."""

    async def busy(self, place: Place, message_id: str) -> None:
        now = self._clock.monotonic()
        if self._client is None or not message_id or now < self._typing.get(message_id, now):
            return
        if not self._gate.typing():
            return
        shown = {known: until for known, until in self._typing.items() if until > now}
        self._typing = {**shown, message_id: now + TYPING_SECONDS}
        try:
            await self._client.read(message_id)
        except Failure as failure:
            if failure.refuses_token:
                self._fails(failure)
            log.info("WhatsApp: %s", failure)
        else:
            self._works()

    async def progress(self, place: Place, text: str, shown: str | None, reply_to: str | None) -> str | None:
        """Nothing: a message that was sent cannot be changed."""
        return None

    async def fetch(self, attachment: Attachment, target: str, *, limit: int) -> int:
        if self._client is None:
            raise ChannelError("a file of WhatsApp cannot be fetched: the channel does not run")
        return await download(self._client, attachment, target, limit)

    async def test(self) -> list[Finding]:
        """Asks Meta for the number, and changes nothing."""
        if problems := mistakes(self._settings, self._environment):
            return [Finding(False, problem, "see docs/whatsapp.md") for problem in problems]
        client = self._connect()
        try:
            found = await client.number()
        except Failure as failure:
            return [Finding(False, self._told(failure), "see docs/whatsapp.md, The usual mistakes")]
        finally:
            await client.close()
        number, name = text(found, "display_phone_number"), text(found, "verified_name")
        return [
            Finding(True, f"the number is {number or 'known'} ({name or 'without a verified name'})"),
            Finding(True, "a token from Meta's set-up page lives 24 hours; one of a system user stays"),
        ]

    async def _take(self, payload: object) -> None:
        found = self._statuses.news(arrivals(payload, self.account, self._clock.now()))
        if not found or self._inbox is None:
            return
        await self._inbox.receive(found)
        self._statuses.keep(found)
        self._health.last_arrival = self._clock.now()
        self._health.counts["received"] = self._health.counts.get("received", 0) + len(found)

    def _connect(self) -> Client:
        allowed = access(self._settings, self._environment)
        base = self._settings.api_base
        return Client(allowed.number_id, allowed.token, str(base) if base else None, self._clock)

    def _works(self) -> None:
        if self._client is not None:
            self._health.state, self._health.detail = "running", ""

    def _fails(self, failure: Failure) -> None:
        """Said once in the log, however many messages it holds up."""
        told = self._told(failure)
        if self._client is not None and (self._health.state, self._health.detail) != ("failing", told):
            self._health.state, self._health.detail = "failing", told
            log.warning("WhatsApp: %s", told)

    def _told(self, failure: Failure) -> str:
        if failure.refuses_token:
            return (
                "Meta refuses the access token: it is wrong or has expired (one from the set-up page lives 24 hours); "
                "make one of a system user"
            )
        if failure.code == 100:
            return f"Meta knows no number with the id {self.account}; is it the phone number itself, or another app's?"
        return str(failure)


def _body(entry: OutboundEntry) -> str:
    return (render.REPEAT_MARK if entry.doubtful else "") + str(entry.payload["text"])


def _message(entry: OutboundEntry) -> dict[str, Any]:
    body = _body(entry)
    given = entry.payload.get("buttons")
    if not given:
        return {"type": "text", "text": {"preview_url": False, "body": body}}
    replies = [{"type": "reply", "reply": dict(each)} for each in given]
    return {
        "type": "interactive",
        "interactive": {"type": "button", "body": {"text": body}, "action": {"buttons": replies}},
    }

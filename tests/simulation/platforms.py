"""The two chat platforms of the simulated world, each behind the channel's real code.

A platform keeps what was sent to each chat, and whether an answer got lost after it had taken a message. Messages of
people are delivered at least once, some twice and some late, so that they overtake others.
"""

import asyncio
import contextvars
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import httpx

from sophon.clock import Clock
from sophon.errors import StoreError
from sophon.testing.simulation import SimulatedLoop
from sophon_channels.access_policy import AccessPolicy
from sophon_channels.json_fields import JsonObject
from sophon_channels.telegram.api.errors import TelegramApiError
from sophon_channels.telegram.api.transport import BotApiTransport
from sophon_channels.telegram.channel import TelegramChannel
from sophon_channels.telegram.settings import TelegramSettings
from sophon_channels.whatsapp.api.client import WhatsAppClient
from sophon_channels.whatsapp.channel import WhatsAppChannel
from sophon_channels.whatsapp.settings import WhatsAppSettings
from sophon_hosting.channels.channel_factory import ConfiguredChannel

FAULTS = ("429", "no answer", "no connection", "error")

ENVIRONMENT = {"BOT": "123456:simulated", "TOKEN": "simulated-token", "SECRET": "simulated-secret", "WORD": "simulated"}
NUMBER_ID = "106500000000001"
REPEAT = "♻️"


@dataclass(eq=False)
class ChatMessage:
    """A message as the chat shows it."""

    chat: str
    text: str
    buttons: list[str]
    is_preview: bool = False
    """Whether it was sent while the answer was being written, and has not become that answer."""


@dataclass(eq=False)
class Platform:
    """What both have in common: chats, faults, and who wants to know of new messages."""

    loop: SimulatedLoop
    chats: dict[str, ChatMessage] = field(default_factory=dict)
    """Messages to people by their ids."""
    fault: str = ""
    share: float = 0.0
    on_message: Callable[[ChatMessage], object] = lambda message: None
    on_taken: Callable[[], object] = lambda: None
    """Called in the context of the host whose message was taken."""

    def draw_fault(self) -> str:
        """Return the fault of one request, "" for none."""
        return self.fault if self.fault and self.loop.random.random() < self.share else ""

    def show(self, number: int, chat: str, text: str, buttons: Sequence[str], *, is_preview: bool) -> None:
        """Show a new message."""
        message = self.chats[str(number)] = ChatMessage(chat, text, [*buttons], is_preview)
        self.on_taken()
        self.on_message(message)


class Telegram(Platform):
    """The Bot API's server for one bot, whose updates are polled."""

    def __init__(self, loop: SimulatedLoop) -> None:
        super().__init__(loop)
        self._updates: list[JsonObject] = []
        self._numbers = 0
        self._changed = asyncio.Event()

    def deliver(self, update: Mapping[str, Any]) -> None:
        """Have an update for the bot."""
        self._numbers += 1
        self._updates.append({"update_id": self._numbers, **update})
        self._changed.set()

    def deliver_message(self, person: int, number: int, text: str, at: float) -> None:
        """Have a message of a person in their chat with the bot."""
        sender = {"id": person, "is_bot": False, "first_name": f"P{person}"}
        chat = {"id": person, "type": "private", "first_name": f"P{person}"}
        message = {"message_id": number, "date": int(at), "chat": chat, "from": sender, "text": text}
        self.deliver({"message": message})

    def deliver_press(self, person: int, press_id: str, data: str) -> None:
        """Have the press of a button."""
        sender = {"id": person, "is_bot": False, "first_name": f"P{person}"}
        prompt = {"message_id": 1, "date": 1, "chat": {"id": person, "type": "private"}}
        query = {"id": press_id, "from": sender, "chat_instance": "x", "data": data, "message": prompt}
        self.deliver({"callback_query": query})

    async def call(self, method: str, fields: Mapping[str, Any]) -> Any:
        """Answer a call. Raises TelegramApiError, also for an answer that gets lost behind the effect."""
        await asyncio.sleep(self.loop.random.uniform(0.01, 0.3))
        if method == "getUpdates":
            return await self._poll(fields.get("offset"))
        fault = self.draw_fault()
        if fault == "no connection":
            raise TelegramApiError(method, "no connection", may_have_arrived=False)
        if fault == "429":
            error = TelegramApiError(method, "Too Many Requests", status=429, may_have_arrived=False)
            error.retry_after = self.loop.random.choice((1, 5, 20))
            raise error
        if fault == "error":
            raise TelegramApiError(method, "Bad Gateway", status=502, may_have_arrived=False)
        result = self._do(method, fields)
        if fault == "no answer":
            await asyncio.sleep(30.0)
            raise TelegramApiError(method, "no response within 30 s")
        await asyncio.sleep(self.loop.random.uniform(0.01, 0.3))
        return result

    async def _poll(self, offset: int | None) -> list[JsonObject]:
        self._updates = [each for each in self._updates if offset is None or each["update_id"] >= offset]
        try:
            async with asyncio.timeout(50.0):
                while not self._updates:
                    self._changed.clear()
                    await self._changed.wait()
        except TimeoutError:
            return []
        if self.draw_fault():
            raise TelegramApiError("getUpdates", "the connection was lost")
        return [*self._updates]

    def _do(self, method: str, fields: Mapping[str, Any]) -> Any:
        match method:
            case "getMe":
                return {"id": 123456, "is_bot": True, "username": "simulated_bot"}
            case "getWebhookInfo":
                return {"url": ""}
            case "sendMessage":
                number = 1_000_000 + len(self.chats)
                self.show(
                    number,
                    str(fields["chat_id"]),
                    str(fields["text"]),
                    _telegram_buttons(fields),
                    is_preview=bool(fields.get("disable_notification")),
                )
                return {"message_id": number}
            case "editMessageText":
                return self._edit(fields)
        return True

    def _edit(self, fields: Mapping[str, Any]) -> Any:
        message = self.chats.get(str(fields["message_id"]))
        if message is None:
            raise TelegramApiError("editMessageText", "message to edit not found", status=400, may_have_arrived=False)
        message.text, message.buttons = str(fields["text"]), _telegram_buttons(fields)
        message.is_preview = message.is_preview and "parse_mode" not in fields  # an answer is marked up
        self.on_taken()
        return {"message_id": fields["message_id"]}


class WhatsApp(Platform):
    """The Graph API's server for one number; it calls the webhook of a host until that has answered."""

    def __init__(self, loop: SimulatedLoop, post: Callable[[Mapping[str, Any]], Any]) -> None:
        super().__init__(loop)
        self._post = post

    def deliver_message(self, person: int, number: int, text: str, at: float) -> None:
        """Have a message of a person, which is posted until a host takes it."""
        self._deliver(
            {"id": f"wamid.{number}", "timestamp": str(int(at)), "type": "text", "text": {"body": text}}, person
        )

    def deliver_press(self, person: int, press_id: str, data: str) -> None:
        """Have the press of a button."""
        reply = {"type": "button_reply", "button_reply": {"id": data, "title": "x"}}
        self._deliver(
            {"id": f"wamid.{press_id}", "timestamp": "1767225600", "type": "interactive", "interactive": reply}, person
        )

    def _deliver(self, message: Mapping[str, Any], person: int) -> None:
        sender = str(person)
        contact = {"profile": {"name": f"P{person}"}, "wa_id": sender}
        self._post_soon({"contacts": [contact], "messages": [{"from": sender, **message}]})

    def _post_soon(self, value: Mapping[str, Any]) -> None:
        self.loop.create_task(self._post_until_taken(value), context=contextvars.Context())

    async def _post_until_taken(self, value: Mapping[str, Any]) -> None:
        metadata = {"display_phone_number": "1", "phone_number_id": NUMBER_ID}
        change = {"field": "messages", "value": {"messaging_product": "whatsapp", "metadata": metadata, **value}}
        body = {"object": "whatsapp_business_account", "entry": [{"id": "W", "changes": [change]}]}
        while not await self._post(body):
            await asyncio.sleep(self.loop.random.uniform(0.5, 10.0))

    async def handle(self, request: httpx.Request) -> httpx.Response:
        """Answer a request of the Graph API. Raises what a lost connection raises."""
        await asyncio.sleep(self.loop.random.uniform(0.01, 0.3))
        fields = json.loads(request.content) if request.content else {}
        fault = self.draw_fault()
        if fault == "no connection":
            raise httpx.ConnectError("no connection")
        if fault in ("429", "error"):
            code = 130429 if fault == "429" else 131016
            return httpx.Response(429 if fault == "429" else 500, json={"error": {"code": code, "message": fault}})
        result = self._do(fields)
        if fault == "no answer":
            await asyncio.sleep(30.0)
            raise httpx.ReadError("the connection was lost")
        await asyncio.sleep(self.loop.random.uniform(0.01, 0.3))
        return httpx.Response(200, json=result)

    def _do(self, fields: Mapping[str, Any]) -> Any:
        if "to" not in fields:
            return {"id": NUMBER_ID, "display_phone_number": "1"}
        number = 2_000_000 + len(self.chats)
        text = str(fields["text"]["body"] if fields["type"] == "text" else fields["interactive"]["body"]["text"])
        action = fields.get("interactive", {}).get("action", {})
        buttons = [each["reply"]["id"] for each in action.get("buttons", [])]
        buttons += [row["id"] for part in action.get("sections", []) for row in part["rows"]]
        self.show(number, str(fields["to"]), text, buttons, is_preview=False)
        status = {
            "id": f"wamid.{number}",
            "status": "delivered",
            "timestamp": "1767225600",
            "recipient_id": str(fields["to"]),
        }
        self._post_soon({"statuses": [status]})
        return {"messages": [{"id": f"wamid.{number}"}]}


class _BotApiConnection(BotApiTransport):
    """A host's way to Telegram, in place of HTTP."""

    def __init__(self, platform: Telegram, clock: Clock) -> None:
        self.is_local, self.token, self._clock, self._platform = False, ENVIRONMENT["BOT"], clock, platform

    async def call(self, method: str, fields: Mapping[str, Any], **options: Any) -> Any:
        return await self._platform.call(method, fields)

    async def close(self) -> None:
        """Do nothing."""


class SimulatedTelegram(TelegramChannel):
    """The channel, whose requests go to the simulated platform."""

    def __init__(self, platform: Telegram, clock: Clock) -> None:
        settings = TelegramSettings.model_validate({"Enabled": True, "Token": {"$env": "BOT"}})
        super().__init__(settings, ENVIRONMENT, clock)
        self._platform = platform

    async def _connect(self) -> BotApiTransport:
        return _BotApiConnection(self._platform, self._clock)


class SimulatedWhatsApp(WhatsAppChannel):
    """The channel, whose requests go to the simulated platform, and whose webhook that calls."""

    def __init__(self, platform: WhatsApp, clock: Clock) -> None:
        secrets = {"AccessToken": "TOKEN", "AppSecret": "SECRET", "VerifyToken": "WORD"}
        settings = WhatsAppSettings.model_validate(
            {"Enabled": True, "PhoneNumberId": NUMBER_ID, **{key: {"$env": name} for key, name in secrets.items()}}
        )
        super().__init__(settings, ENVIRONMENT, clock)
        self._platform = platform

    def _create_client(self) -> WhatsAppClient:
        client = WhatsAppClient.__new__(WhatsAppClient)
        client._number_id, client._token, client._clock = NUMBER_ID, ENVIRONMENT["TOKEN"], self._clock
        client._base = "https://graph.simulated"
        client._http = httpx.AsyncClient(transport=httpx.MockTransport(self._platform.handle))
        return client

    async def receive(self, body: Mapping[str, Any]) -> bool:
        """Take the body of a webhook; return whether it is answered with success."""
        if self._inbox is None:
            return False
        try:
            await self._handle_payload(body)
        except StoreError:
            return False
        return True


def create_channels(telegram: Telegram, whatsapp: WhatsApp, clock: Clock) -> list[ConfiguredChannel]:
    """Return the channels of a host, to which everybody may write."""
    policy = AccessPolicy(direct_policy="Open")
    return [
        ConfiguredChannel(SimulatedTelegram(telegram, clock), policy),
        ConfiguredChannel(SimulatedWhatsApp(whatsapp, clock), policy),
    ]


def _telegram_buttons(fields: Mapping[str, Any]) -> list[str]:
    keyboard = fields.get("reply_markup") or {}
    return [each["callback_data"] for row in keyboard.get("inline_keyboard", []) for each in row]

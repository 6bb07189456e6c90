"""What the tests of Telegram build with: updates, entries, an inbox, a channel."""

import asyncio
from collections.abc import Sequence
from datetime import datetime
from typing import Any

from sophon.errors import StoreError
from sophon_channels.contract import InboundEvent
from sophon_channels.outbound_entry import OutboundEntry
from sophon_channels.telegram.settings import TelegramSettings
from tests.channels.telegram.bot_api import TOKEN

ADA = {"id": 111222333, "is_bot": False, "first_name": "Ada", "username": "ada"}
DIRECT = {"id": 111222333, "type": "private"}
GROUP = {"id": -1001234567890, "type": "supergroup", "title": "Ops", "is_forum": True}
SENT_AT = 1767225600  # the virtual clock's beginning
SECRET = "s3cret_-" * 4
ENVIRONMENT = {"TELEGRAM_TOKEN": TOKEN, "WEBHOOK_SECRET": SECRET}


def message(text: str = "hello", *, number: int = 1, **fields: Any) -> dict[str, Any]:
    """An update with a message; `fields` are the message's own, None leaves one out."""
    made = {"message_id": number, "date": SENT_AT, "chat": DIRECT, "from": ADA, "text": text, **fields}
    return {
        "update_id": 812345000 + number,
        "message": {key: value for key, value in made.items() if value is not None},
    }


def press(data: str = "ap:7Q4K2M9X:once", **fields: Any) -> dict[str, Any]:
    """An update with a button press; None leaves a field out."""
    prompt = {"message_id": 43, "date": SENT_AT, "chat": DIRECT}
    made = {"id": "4382001122334455", "from": ADA, "message": prompt, "chat_instance": "-3", "data": data, **fields}
    return {"update_id": 812345999, "callback_query": {key: value for key, value in made.items() if value is not None}}


def entry(payload: dict[str, Any], chat: str = "111222333", **fields: Any) -> OutboundEntry:
    """A part to send."""
    return OutboundEntry("e1", None, "telegram", "123456", chat, "answer", payload, **{"attempts": 1, **fields})


def settings(base: str, **fields: Any) -> TelegramSettings:
    """Settings of an enabled channel, by their names in the settings file."""
    secret = {"$env": "WEBHOOK_SECRET"}
    return TelegramSettings.model_validate({"Enabled": True, "ApiBase": base, "WebhookSecret": secret, **fields})


class Box:
    """An inbox that can be told to fail."""

    def __init__(self) -> None:
        self.arrivals: list[InboundEvent] = []
        self.failures: list[Exception] = []
        self._changed = asyncio.Condition()

    async def receive(self, events: Sequence[InboundEvent]) -> None:
        if self.failures:
            raise self.failures.pop(0)
        async with self._changed:
            self.arrivals.extend(events)
            self._changed.notify_all()

    async def holding(self, number: int) -> list[InboundEvent]:
        """The arrivals, once there are so many."""
        async with self._changed:
            await self._changed.wait_for(lambda: len(self.arrivals) >= number)
        return self.arrivals


def broken_store() -> StoreError:
    return StoreError("sqlite:///x", "disk full")


def at(seconds: int) -> datetime:
    return datetime.fromtimestamp(SENT_AT + seconds).astimezone()

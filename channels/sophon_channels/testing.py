"""A platform that exists in memory only: `from sophon.testing import SyntheticChannel`."""

import asyncio
import itertools
from collections import deque
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from aiohttp import web

from sophon.stores.outbound_contracts import OutboundEntry
from sophon_channels.contract import (
    Arrival,
    Attachment,
    Finding,
    Health,
    Inbox,
    Outgoing,
    Person,
    Place,
    Pressed,
    Receipt,
    Sent,
    Undeliverable,
    Written,
)
from sophon_channels.disk import FileToSend, with_file
from sophon_channels.errors import ChannelError
from sophon_channels.text.runs import Run, cut, plain
from sophon_channels.text.splitting import split

PATIENCE_SECONDS = 30.0
CAPTION_LIMIT = 1024
MOST_BYTES = 1_000_000
"""Of a file that is sent."""

ADA = Person("1", "Ada")
HERE = Place("10")


class SyntheticChannel:
    """Implements `Channel`; a test writes and presses, and reads what was sent, files (name, content) in `given`.

    `limit` is the length of a message, in UTF-16 units. `files` are what attachments hold, by their ids. `receipts` are
    what sending comes to, in order; when there are none left everything is sent. `refusal` is why it does not
    start. Without `notes_presses` nothing can be shown at a button.
    """

    def __init__(
        self,
        name: str = "synthetic",
        *,
        account: str = "bot",
        limit: int = 4096,
        files: dict[str, bytes] | None = None,
        refusal: str = "",
        notes_presses: bool = True,
    ) -> None:
        self.notes_presses = notes_presses
        self.name, self.account, self.largest_file = name, account, MOST_BYTES
        self.health = Health()
        self.receipts: deque[Receipt] = deque()
        self.sent: list[OutboundEntry] = []
        self.given: list[tuple[str, bytes]] = []
        self.acknowledged: list[tuple[str, str]] = []
        self.shown: list[tuple[str, str]] = []
        self.busy_in: list[str] = []
        self._limit, self._files, self._refusal = limit, files or {}, refusal
        self._inbox: Inbox | None = None
        self._news = asyncio.Event()
        self._numbers = itertools.count(1)

    async def start(self, inbox: Inbox) -> None:
        """See `Channel.start`."""
        if self._refusal:
            raise ChannelError(self._refusal)
        self._inbox = inbox
        self.health.state = "running"
        self._tell()

    async def stop(self) -> None:
        """See `Channel.stop`."""
        self._inbox = None
        if self.health.state == "running":
            self.health.state = "stopped"

    def routes(self) -> Sequence[web.RouteDef]:
        """None: nobody calls it from outside."""
        return ()

    def parts(self, outgoing: Outgoing) -> list[dict[str, Any]]:
        """The text as it is, and with the last part the buttons; a file is the first, with a caption."""
        payloads: list[dict[str, Any]] = [{"text": text} for text in self._texts(outgoing)]
        if outgoing.file:
            file = with_file(outgoing.file, outgoing.file_name, outgoing.media_type)
            payloads[:1] = [{**(payloads[0] if payloads else {"text": ""}), **file}]
        if payloads:
            payloads[0] |= {"reply_to": outgoing.reply_to, "replaces": outgoing.replaces}
            payloads[-1] |= {"buttons": [button.data for button in outgoing.buttons]}
        return payloads

    async def send(self, entry: OutboundEntry) -> Receipt:
        """See `Channel.send`."""
        try:
            content = await asyncio.to_thread(_content, entry)
        except ChannelError as error:
            return Undeliverable(str(error))
        receipt = self.receipts.popleft() if self.receipts else Sent(f"m{next(self._numbers)}")
        if isinstance(receipt, Sent):
            self.sent.append(entry)
            self.given += content
        self._tell()
        return receipt

    async def acknowledge(self, press: Pressed, note: str) -> None:
        """See `Channel.acknowledge`."""
        self.acknowledged.append((press.press_id, note))
        self._tell()

    async def busy(self, place: Place, message_id: str) -> None:
        """See `Channel.busy`."""
        self.busy_in.append(place.key)
        self._tell()

    async def progress(self, place: Place, text: str, shown: str | None, reply_to: str | None) -> str | None:
        """See `Channel.progress`."""
        self.shown.append((place.key, text))
        self._tell()
        return shown or f"m{next(self._numbers)}"

    async def fetch(self, attachment: Attachment, target: str, *, limit: int) -> int:
        """See `Channel.fetch`."""
        content = self._files.get(attachment.id)
        if content is None:
            raise ChannelError("the file is gone")
        if len(content) > limit:
            raise ChannelError("the file is too large")
        return await asyncio.to_thread(Path(target).write_bytes, content)

    async def test(self) -> list[Finding]:
        """See `Channel.test`."""
        return [Finding(not self._refusal, self._refusal or "it is set up")]

    async def receive(self, *arrivals: Arrival) -> None:
        """Deliver to the host, as the platform does."""
        await self.until(lambda: self._inbox is not None)
        assert self._inbox is not None
        await self._inbox.receive(arrivals)

    async def write(
        self, text: str, *, person: Person = ADA, place: Place = HERE, external_id: str = "", **more: Any
    ) -> Written:
        """Somebody writes; gives the message, to deliver it again."""
        number = str(next(self._numbers))
        at = datetime(2026, 1, 1, tzinfo=UTC)
        message = Written(external_id or f"w{number}", person, place, text, number, at, **more)
        await self.receive(message)
        return message

    async def press(self, data: str, *, person: Person = ADA, place: Place = HERE, press_id: str = "") -> str:
        """Somebody presses a button; gives what they are told."""
        press = Pressed(f"p{next(self._numbers)}", person, place, data, press_id or f"press{next(self._numbers)}")
        await self.receive(press)
        return next(note for known, note in reversed(self.acknowledged) if known == press.press_id)

    def texts(self, place: Place = HERE) -> list[str]:
        """What was sent into a chat, in order."""
        return [str(entry.payload["text"]) for entry in self.sent if entry.chat == place.key]

    async def hears(self, part: str, place: Place = HERE) -> str:
        """Wait for a text in a chat that has a part; gives it."""
        await self.until(lambda: any(part in text for text in self.texts(place)))
        return next(text for text in self.texts(place) if part in text)

    async def until(self, condition: Callable[[], bool]) -> None:
        """Wait until something is so; AssertionError when it does not come."""
        try:
            async with asyncio.timeout(PATIENCE_SECONDS):
                while not condition():
                    self._news.clear()
                    await self._news.wait()
        except TimeoutError:
            raise AssertionError(f"it never came; sent were {[entry.payload for entry in self.sent]}") from None

    def _texts(self, outgoing: Outgoing) -> list[str]:
        if not outgoing.text.strip():
            return []
        if not outgoing.file:
            return split(outgoing.text, self._limit)
        first = min(self._limit, CAPTION_LIMIT)
        return [plain(part) for part in cut([Run(outgoing.text)], self._limit, first=first)]

    def _tell(self) -> None:
        self._news.set()


def _content(entry: OutboundEntry) -> list[tuple[str, bytes]]:
    file = FileToSend.of(entry.payload)
    if file is None:
        return []
    with file.open(MOST_BYTES) as stream:
        return [(file.name, stream.read())]

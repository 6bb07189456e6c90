"""In-memory channel for tests: `from sophon.testing import SyntheticChannel`."""

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
"""How long `until` waits, in real time."""
CAPTION_LIMIT = 1024
"""Length of a file's caption, in UTF-16 units."""
MOST_BYTES = 1_000_000
"""Maximum size of a file that is sent."""

ADA = Person("1", "Ada")
"""The person who writes and presses unless a test names another."""
HERE = Place("10")
"""The chat that is used unless a test names another."""


class SyntheticChannel:
    """In-memory implementation of `Channel`. A test simulates messages and button presses, and inspects what was sent:
    entries in `sent`, files (name, content) in `given`.

    `limit` is the maximum length of a message, in UTF-16 units. `files` maps attachment ids to their contents.
    `receipts` are the results of the next sends, in order; when none is left every send succeeds. `refusal` is the
    error that `start` raises. Without `notes_presses` the channel reports that it cannot show a note for a button
    press.
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
        self._max_length, self._contents, self._start_error = limit, files or {}, refusal
        self._inbox: Inbox | None = None
        self._changed = asyncio.Event()
        self._ids = itertools.count(1)

    async def start(self, inbox: Inbox) -> None:
        """See `Channel.start`."""
        if self._start_error:
            raise ChannelError(self._start_error)
        self._inbox = inbox
        self.health.state = "running"
        self._notify()

    async def stop(self) -> None:
        """See `Channel.stop`."""
        self._inbox = None
        if self.health.state == "running":
            self.health.state = "stopped"

    def routes(self) -> Sequence[web.RouteDef]:
        """Return no routes: the channel has no webhook."""
        return ()

    def parts(self, outgoing: Outgoing) -> list[dict[str, Any]]:
        """Return the text unrendered; the last payload has the buttons, the first has the file with a caption."""
        payloads: list[dict[str, Any]] = [{"text": text} for text in self._split(outgoing)]
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
            content = await asyncio.to_thread(_read_file, entry)
        except ChannelError as error:
            return Undeliverable(str(error))
        receipt = self.receipts.popleft() if self.receipts else Sent(f"m{next(self._ids)}")
        if isinstance(receipt, Sent):
            self.sent.append(entry)
            self.given += content
        self._notify()
        return receipt

    async def acknowledge(self, press: Pressed, note: str) -> None:
        """See `Channel.acknowledge`."""
        self.acknowledged.append((press.press_id, note))
        self._notify()

    async def busy(self, place: Place, message_id: str) -> None:
        """See `Channel.busy`."""
        self.busy_in.append(place.key)
        self._notify()

    async def progress(self, place: Place, text: str, shown: str | None, reply_to: str | None) -> str | None:
        """See `Channel.progress`."""
        self.shown.append((place.key, text))
        self._notify()
        return shown or f"m{next(self._ids)}"

    async def fetch(self, attachment: Attachment, target: str, *, limit: int) -> int:
        """See `Channel.fetch`."""
        content = self._contents.get(attachment.id)
        if content is None:
            raise ChannelError("the file no longer exists")
        if len(content) > limit:
            raise ChannelError("the file is too large")
        return await asyncio.to_thread(Path(target).write_bytes, content)

    async def test(self) -> list[Finding]:
        """See `Channel.test`."""
        return [Finding(not self._start_error, self._start_error or "it is set up")]

    async def receive(self, *arrivals: Arrival) -> None:
        """Deliver events to the host, as the platform does."""
        await self.until(lambda: self._inbox is not None)
        assert self._inbox is not None
        await self._inbox.receive(arrivals)

    async def write(
        self, text: str, *, person: Person = ADA, place: Place = HERE, external_id: str = "", **more: Any
    ) -> Written:
        """Deliver a message; return it, so that it can be delivered again."""
        number = str(next(self._ids))
        at = datetime(2026, 1, 1, tzinfo=UTC)
        message = Written(external_id or f"w{number}", person, place, text, number, at, **more)
        await self.receive(message)
        return message

    async def press(self, data: str, *, person: Person = ADA, place: Place = HERE, press_id: str = "") -> str:
        """Deliver a button press; return the note that it was acknowledged with."""
        press = Pressed(f"p{next(self._ids)}", person, place, data, press_id or f"press{next(self._ids)}")
        await self.receive(press)
        return next(note for known, note in reversed(self.acknowledged) if known == press.press_id)

    def texts(self, place: Place = HERE) -> list[str]:
        """Return the texts that were sent to a chat, in order."""
        return [str(entry.payload["text"]) for entry in self.sent if entry.chat == place.key]

    async def hears(self, part: str, place: Place = HERE) -> str:
        """Wait for a text in a chat that contains `part`; return it."""
        await self.until(lambda: any(part in text for text in self.texts(place)))
        return next(text for text in self.texts(place) if part in text)

    async def until(self, condition: Callable[[], bool]) -> None:
        """Wait until the condition holds; raises AssertionError after `PATIENCE_SECONDS`."""
        try:
            async with asyncio.timeout(PATIENCE_SECONDS):
                while not condition():
                    self._changed.clear()
                    await self._changed.wait()
        except TimeoutError:
            raise AssertionError(f"the condition was not met; sent: {[entry.payload for entry in self.sent]}") from None

    def _split(self, outgoing: Outgoing) -> list[str]:
        if not outgoing.text.strip():
            return []
        if not outgoing.file:
            return split(outgoing.text, self._max_length)
        first = min(self._max_length, CAPTION_LIMIT)
        return [plain(part) for part in cut([Run(outgoing.text)], self._max_length, first=first)]

    def _notify(self) -> None:
        self._changed.set()


def _read_file(entry: OutboundEntry) -> list[tuple[str, bytes]]:
    file = FileToSend.of(entry.payload)
    if file is None:
        return []
    with file.open(MOST_BYTES) as stream:
        return [(file.name, stream.read())]

"""In-memory channel for tests: `from sophon.testing import SyntheticChannel`."""

import asyncio
import itertools
from collections import deque
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from aiohttp import web

from sophon.invisible_characters import is_blank
from sophon_channels.contract import (
    BeforeRequest,
    ButtonPress,
    ChannelAttachment,
    ChannelHealth,
    ChatLocation,
    InboundEvent,
    InboundMessage,
    Inbox,
    OutboundMessage,
    Person,
    SelfTestResult,
    SendPostponed,
    SendResult,
    SendSucceeded,
    SendUndeliverable,
    before_no_request,
)
from sophon_channels.errors import ChannelError
from sophon_channels.outbound_entry import OutboundEntry
from sophon_channels.outbound_file import OutboundFile, build_file_fields, find_size_problem
from sophon_channels.text.message_splitting import split_runs
from sophon_channels.text.raw_markdown_splitting import split_text
from sophon_channels.text.styled_text import StyledRun, to_plain_text

WAIT_TIMEOUT_SECONDS = 30.0
"""How long `wait_until` waits, in real time."""
CAPTION_LIMIT = 1024
"""Length of a file's caption, in UTF-16 units."""
MAX_FILE_BYTES = 1_000_000
"""Maximum size of a file that is sent."""

DEFAULT_PERSON = Person("1", "Ada")
"""The person who writes and presses unless a test names another."""
DEFAULT_LOCATION = ChatLocation("10")
"""The chat that is used unless a test names another."""


class _ObservedCounts(dict[str, int]):
    """Counts of a channel's health; each change sets an event."""

    def __init__(self, changed: asyncio.Event) -> None:
        super().__init__()
        self._changed = changed

    def __setitem__(self, name: str, count: int) -> None:
        super().__setitem__(name, count)
        self._changed.set()


class SyntheticChannel:
    """In-memory implementation of `Channel`. A test simulates messages and button presses, and inspects what was sent:
    entries in `sent`, files (name, content) in `sent_files`.

    `limit` is the maximum length of a message, in UTF-16 units. `attachment_contents` maps attachment ids to their
    contents. `send_results` are the results of the next sends, in order; when none is left every send succeeds.
    `start_error` is the error that `start` raises. Without `supports_press_notes` the channel reports that it cannot
    show a note for a button press; with `reports_delivery` a test delivers receipts of what was sent.
    """

    def __init__(
        self,
        name: str = "synthetic",
        *,
        account: str = "bot",
        max_message_length: int = 4096,
        attachment_contents: dict[str, bytes] | None = None,
        start_error: str = "",
        supports_press_notes: bool = True,
        reports_delivery: bool = False,
    ) -> None:
        self.supports_press_notes, self.reports_delivery = supports_press_notes, reports_delivery
        self.name, self.account, self.max_file_bytes = name, account, MAX_FILE_BYTES
        self._changed = asyncio.Event()
        self.health = ChannelHealth(counts=_ObservedCounts(self._changed))
        self.send_results: deque[SendResult] = deque()
        self.sent: list[OutboundEntry] = []
        self.sent_files: list[tuple[str, bytes]] = []
        self.press_notes: list[tuple[str, str]] = []
        self.previews: list[tuple[str, str]] = []
        self.typing_chats: list[str] = []
        self.deleted: list[tuple[str, str]] = []
        self._max_length, self._contents, self._start_error = max_message_length, attachment_contents or {}, start_error
        self._inbox: Inbox | None = None
        self._was_stopped = False
        self._ids = itertools.count(1)

    async def start(self, inbox: Inbox) -> None:
        """See `Channel.start`."""
        if self._start_error:
            raise ChannelError(self._start_error)
        self._inbox, self._was_stopped = inbox, False
        self.health.state, self.health.is_credential_rejected = "running", False
        self._notify()

    async def stop(self) -> None:
        """See `Channel.stop`."""
        self._inbox, self._was_stopped = None, True
        if self.health.state == "running":
            self.health.state = "stopped"

    def routes(self) -> Sequence[web.RouteDef]:
        """Return no routes: the channel has no webhook."""
        return ()

    def render_payloads(self, message: OutboundMessage) -> list[dict[str, Any]]:
        """Return the text unrendered; the last payload has the buttons, the first has the file with a caption."""
        payloads: list[dict[str, Any]] = [{"text": text} for text in self._split(message)]
        if message.file_path:
            file = build_file_fields(message.file_path, message.file_name, message.media_type)
            payloads[:1] = [{**(payloads[0] if payloads else {"text": ""}), **file}]
            if message.is_voice:
                payloads[0]["is_voice"] = True
            if message.more_files:
                more = [build_file_fields(each.path, each.name, each.media_type) for each in message.more_files]
                payloads[0]["more_files"] = more
        if payloads:
            payloads[0] |= {"reply_to": message.reply_to_message_id, "replaces": message.replaces_message_id}
            payloads[-1] |= {"buttons": [button.data for button in message.buttons]}
        return payloads

    def find_file_problem(self, media_type: str, size: int) -> str:
        """See `Channel.find_file_problem`."""
        return find_size_problem(size, MAX_FILE_BYTES)

    async def send(self, entry: OutboundEntry, before_request: BeforeRequest = before_no_request) -> SendResult:
        """See `Channel.send`."""
        if self._was_stopped:
            return SendPostponed(timedelta(seconds=1), is_account_wide=True)
        try:
            content = await asyncio.to_thread(_read_file, entry)
        except ChannelError as error:
            return SendUndeliverable(str(error))
        if not (self.send_results and isinstance(self.send_results[0], SendPostponed)):
            await before_request()
        receipt = self.send_results.popleft() if self.send_results else SendSucceeded(f"m{next(self._ids)}")
        if isinstance(receipt, SendSucceeded):
            self.sent.append(entry)
            self.sent_files += content
        self._notify()
        return receipt

    async def acknowledge_press(self, press: ButtonPress, note: str) -> None:
        """See `Channel.acknowledge_press`."""
        self.press_notes.append((press.press_id, note))
        self._notify()

    async def send_typing(self, location: ChatLocation, message_id: str) -> None:
        """See `Channel.send_typing`."""
        self.typing_chats.append(location.key)
        self._notify()

    async def update_preview(
        self, location: ChatLocation, text: str, preview_message_id: str | None, reply_to_message_id: str | None
    ) -> str | None:
        """See `Channel.update_preview`."""
        self.previews.append((location.key, text))
        self._notify()
        return preview_message_id or f"m{next(self._ids)}"

    async def delete_message(self, location: ChatLocation, message_id: str) -> None:
        """See `DeletingChannel.delete_message`."""
        self.deleted.append((location.key, message_id))
        self._notify()

    async def download_attachment(self, attachment: ChannelAttachment, target: str, *, max_bytes: int) -> int:
        """See `Channel.download_attachment`."""
        content = self._contents.get(attachment.id)
        if content is None:
            raise ChannelError("the file no longer exists")
        if len(content) > max_bytes:
            raise ChannelError("the file is too large")
        return await asyncio.to_thread(Path(target).write_bytes, content)

    async def run_self_test(self) -> list[SelfTestResult]:
        """See `Channel.run_self_test`."""
        return [SelfTestResult(not self._start_error, self._start_error or "it is set up")]

    async def deliver(self, *events: InboundEvent) -> None:
        """Deliver events to the host, as the platform does."""
        await self.wait_until(lambda: self._inbox is not None)
        assert self._inbox is not None
        await self._inbox.receive(events)

    async def deliver_message(
        self,
        text: str,
        *,
        person: Person = DEFAULT_PERSON,
        location: ChatLocation = DEFAULT_LOCATION,
        external_id: str = "",
        sent_at: datetime | None = None,
        **fields: Any,
    ) -> InboundMessage:
        """Deliver a message; return it, so that it can be delivered again. `sent_at` is by default long ago."""
        number = str(next(self._ids))
        at = sent_at or datetime(2026, 1, 1, tzinfo=UTC)
        message = InboundMessage(external_id or f"w{number}", person, location, text, number, at, **fields)
        await self.deliver(message)
        return message

    async def deliver_press(
        self,
        data: str,
        *,
        person: Person = DEFAULT_PERSON,
        location: ChatLocation = DEFAULT_LOCATION,
        press_id: str = "",
    ) -> str:
        """Deliver a button press; return the note that it was acknowledged with."""
        press = ButtonPress(f"p{next(self._ids)}", person, location, data, press_id or f"press{next(self._ids)}")
        await self.deliver(press)
        return next(note for known, note in reversed(self.press_notes) if known == press.press_id)

    def sent_texts(self, location: ChatLocation = DEFAULT_LOCATION) -> list[str]:
        """Return the texts that were sent to a chat, in order."""
        return [str(entry.payload["text"]) for entry in self.sent if entry.chat == location.key]

    async def wait_for_text(self, part: str, location: ChatLocation = DEFAULT_LOCATION) -> str:
        """Wait for a text in a chat that contains `part`; return it."""
        await self.wait_until(lambda: any(part in text for text in self.sent_texts(location)))
        return next(text for text in self.sent_texts(location) if part in text)

    async def wait_until(self, condition: Callable[[], bool]) -> None:
        """Wait until the condition on what was sent, shown or counted holds.

        Raises AssertionError after `WAIT_TIMEOUT_SECONDS`.
        """
        try:
            async with asyncio.timeout(WAIT_TIMEOUT_SECONDS):
                while not condition():
                    self._changed.clear()
                    await self._changed.wait()
        except TimeoutError:
            raise AssertionError(f"the condition was not met; sent: {[entry.payload for entry in self.sent]}") from None

    def _split(self, outgoing: OutboundMessage) -> list[str]:
        if is_blank(outgoing.text):
            return []
        if not outgoing.file_path:
            return [part for part in split_text(outgoing.text, self._max_length) if not is_blank(part)]
        first = min(self._max_length, CAPTION_LIMIT)
        return [
            to_plain_text(part) for part in split_runs([StyledRun(outgoing.text)], self._max_length, first_limit=first)
        ]

    def _notify(self) -> None:
        self._changed.set()


def _read_file(entry: OutboundEntry) -> list[tuple[str, bytes]]:
    file, album = OutboundFile.from_payload(entry.payload), OutboundFile.album_from_payload(entry.payload)
    contents: list[tuple[str, bytes]] = []
    for each in album or ([] if file is None else [file]):
        with each.open(MAX_FILE_BYTES) as stream:
            contents.append((each.name, stream.read()))
    return contents

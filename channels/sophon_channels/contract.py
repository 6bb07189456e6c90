"""The channel contract: inbound events, outbound messages, send results, and the `Channel` and `Inbox` protocols."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, Literal, Protocol, TypeAlias

from aiohttp import web

from sophon.stores.outbox.contract import OutboundEntry

ChatKind: TypeAlias = Literal["direct", "group"]
"""A direct chat with one person, or a group."""


@dataclass(frozen=True, slots=True)
class Person:
    """A user of the platform. `id` is the platform's stable id, never a name that the user can choose.

    A platform on which a person has several ids states those of this event: `user_id` is never given to anybody else,
    `number` may be. The host links them, and then `id` is the one under which it knows the person, and `listed_ids` are
    those under which the settings may name the person; none means `id`.
    """

    id: str
    name: str = ""
    user_id: str = ""
    number: str = ""
    listed_ids: tuple[str, ...] = ()

    @property
    def known_ids(self) -> frozenset[str]:
        """The ids under which the settings may name the person."""
        return frozenset(self.listed_ids) or frozenset((self.id,))


@dataclass(frozen=True, slots=True)
class ChatLocation:
    """A chat on the platform, with its thread in a forum."""

    chat: str
    kind: ChatKind = "direct"
    thread: str | None = None
    title: str = ""

    @property
    def key(self) -> str:
        """The key under which the store knows this chat: `chat`, or `chat/thread`."""
        return self.chat if self.thread is None else f"{self.chat}/{self.thread}"


@dataclass(frozen=True, slots=True)
class Attachment:
    """A file that came with a message and is not downloaded yet. `id` is the platform's download id; `size` is in
    bytes, None if the platform does not state it.
    """

    id: str
    kind: Literal["image", "audio", "video", "document", "other"]
    name: str = ""
    media_type: str = ""
    size: int | None = None
    digest: str = ""


@dataclass(frozen=True, slots=True)
class InboundMessage:
    """An inbound message. `external_id` is the same whenever the platform delivers the message again.

    `is_mention`: the message mentions the bot, replies to it, or is a command to it. `quoted_text` is the text of the
    message that it replies to. `media_group_id` is the platform's id of a media group whose parts arrive as separate
    messages. `is_late`: the message was delivered long after it was written. `is_forwarded`: somebody else wrote it.
    """

    external_id: str
    person: Person
    location: ChatLocation
    text: str
    message_id: str
    sent_at: datetime
    is_mention: bool = False
    quoted_text: str = ""
    media_group_id: str | None = None
    attachments: tuple[Attachment, ...] = ()
    is_late: bool = False
    is_forwarded: bool = False


@dataclass(frozen=True, slots=True)
class ButtonPress:
    """A press of a button. `data` is the callback data of the button, `press_id` the id that an acknowledgement refers
    to. `prompt_message_id` is the platform's id of the message with the button, None if the platform does not state it.
    """

    external_id: str
    person: Person
    location: ChatLocation
    data: str
    press_id: str
    prompt_message_id: str | None = None


@dataclass(frozen=True, slots=True)
class ChatMigrated:
    """The platform has given a chat a new id."""

    external_id: str
    old_chat: str
    new_chat: str


@dataclass(frozen=True, slots=True)
class IdentityChanged:
    """The platform states that a person has other ids now. An id that is not stated, or has not changed, is empty."""

    external_id: str
    old_user_id: str = ""
    old_number: str = ""
    new_user_id: str = ""
    new_number: str = ""


@dataclass(frozen=True, slots=True)
class DeliveryReceipt:
    """The delivery status of a sent message. Statuses arrive in any order; the furthest one counts."""

    external_id: str
    message_id: str
    status: Literal["sent", "delivered", "read", "failed"]
    code: int | None = None
    reason: str = ""


InboundEvent: TypeAlias = InboundMessage | ButtonPress | ChatMigrated | IdentityChanged | DeliveryReceipt
"""Everything that a channel reports to the host."""


class Inbox(Protocol):
    """Receiver of a channel's inbound events; the host provides one per channel."""

    async def receive(self, events: Sequence[InboundEvent]) -> None:
        """Store the events. After the return the channel may confirm them to the platform.

        Events that were received before are ignored. Raises StoreError if the events could not be stored.
        """
        ...


@dataclass(frozen=True, slots=True)
class SendSucceeded:
    """The platform accepted the message. `message_id` is its id there, None if the platform states none."""

    message_id: str | None


@dataclass(frozen=True, slots=True)
class SendDeferred:
    """The platform did not accept the message; it may be sent again after `retry_after`. `is_account_wide`: the limit
    applies to the whole account, not only to this chat.
    """

    error: str
    retry_after: timedelta
    is_account_wide: bool = False


@dataclass(frozen=True, slots=True)
class SendAmbiguous:
    """It is unknown whether the message arrived."""

    error: str


@dataclass(frozen=True, slots=True)
class SendUndeliverable:
    """The message can never be delivered. `is_chat_gone`: nothing else can be delivered to that chat either."""

    error: str
    is_chat_gone: bool = False


@dataclass(frozen=True, slots=True)
class SendChatMigrated:
    """The message was not delivered because the chat has a new id; it can be sent to that id."""

    new_chat: str


SendResult: TypeAlias = SendSucceeded | SendDeferred | SendAmbiguous | SendUndeliverable | SendChatMigrated
"""The result of one `Channel.send`."""


@dataclass(frozen=True, slots=True)
class Button:
    """A button below a message. `data` comes back as `ButtonPress.data`: at most 64 bytes of ASCII."""

    label: str
    data: str
    is_dangerous: bool = False


@dataclass(frozen=True, slots=True)
class OutboundMessage:
    """A message to send, before a channel renders it for its platform.

    `text` is markdown from a model, or plain text from the host (`is_markdown` False). `replaces_message_id` is the
    platform's id of an earlier message that this one replaces, if the platform supports edits; `reply_to_message_id` is
    the id of the message that it replies to. `file_path` is the absolute path of a file, without symbolic links, that
    is sent with the text as its caption. Its name is `file_name` (default: the name on disk), its media type
    `media_type`; a message with a file replaces nothing.
    """

    text: str
    is_markdown: bool = True
    buttons: tuple[Button, ...] = ()
    reply_to_message_id: str | None = None
    replaces_message_id: str | None = None
    file_path: str | None = None
    file_name: str = ""
    media_type: str = ""


@dataclass(frozen=True, slots=True)
class SelfTestResult:
    """One result of a channel's self-test, shown by `sophon doctor`. `fix` is the remedy, empty if none is needed."""

    ok: bool
    summary: str
    fix: str = ""


@dataclass(slots=True)
class ChannelHealth:
    """State of a channel. `state`: stopped, starting, running, failing (the channel retries), refused (it does not).
    `counts` holds the number of events by kind.
    """

    state: Literal["stopped", "starting", "running", "failing", "refused"] = "stopped"
    detail: str = ""
    last_received_at: datetime | None = None
    counts: dict[str, int] = field(default_factory=lambda: {})


class Channel(Protocol):
    """One account on one messaging platform. Parsing and rendering must be pure; only the API client does I/O."""

    @property
    def name(self) -> str:
        """The name of the platform, as stored with entries and runs: `telegram`."""
        ...

    @property
    def account(self) -> str:
        """The id of the bot or phone number; empty before `start` if only the platform knows it."""
        ...

    @property
    def health(self) -> ChannelHealth:
        """The current state; the channel keeps it up to date."""
        ...

    @property
    def max_file_bytes(self) -> int:
        """Maximum size of a file that the channel sends, in bytes."""
        ...

    @property
    def supports_press_notes(self) -> bool:
        """Whether `acknowledge_press` shows its note; if not, the host sends a message instead."""
        ...

    async def start(self, inbox: Inbox) -> None:
        """Start to receive. Raises ChannelError if a retry is pointless: token or secret missing or wrong."""
        ...

    async def stop(self) -> None:
        """Stop to receive and close the connections. May be called twice, and without `start`."""
        ...

    def routes(self) -> Sequence[web.RouteDef]:
        """Return the webhook routes, below `/webhooks/`; none for a channel that polls."""
        ...

    def render_payloads(self, message: OutboundMessage) -> list[dict[str, Any]]:
        """Return the payloads to send, in order: plain JSON, split where the platform requires it. Pure.

        A file is one payload, the first, with as much of the text as fits into a caption.
        """
        ...

    async def send(self, entry: OutboundEntry) -> SendResult:
        """Send one payload to `entry.new_chat` (a `ChatLocation.key`). Never raises for errors of the platform or the
        network and never waits for a rate limit. A file that is missing, or larger than the platform allows, is
        `SendUndeliverable`.
        """
        ...

    async def acknowledge_press(self, press: ButtonPress, note: str) -> None:
        """Confirm a button press to the person who pressed; errors are logged and not raised."""
        ...

    async def send_typing(self, location: ChatLocation, message_id: str) -> None:
        """Show the typing indicator for a few seconds; errors are not raised."""
        ...

    async def update_preview(
        self, location: ChatLocation, text: str, preview_message_id: str | None, reply_to_message_id: str | None
    ) -> str | None:
        """Show the unfinished reply, replacing the message `preview_message_id`, as far as the rate limits allow now.
        Return the id of the message that is shown, None if there is none.

        A platform that cannot edit messages shows nothing and returns None.
        """
        ...

    async def download_attachment(self, attachment: Attachment, target: str, *, max_bytes: int) -> int:
        """Download an attachment to the path `target`; return its size in bytes. Raises ChannelError if it is too
        large, gone or damaged.
        """
        ...

    async def run_self_test(self) -> list[SelfTestResult]:
        """Check the configuration against the platform's API; used by `sophon doctor`."""
        ...

"""The channel contract: the `Channel` protocol, outbound messages and send results; `inbound_events` has the other way.

Whoever writes a channel imports all of it from here.
"""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import field
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeAlias, runtime_checkable

from sophon._python.lazy_dataclass import dataclass, new_dict
from sophon_channels.inbound_events import ButtonPress as ButtonPress
from sophon_channels.inbound_events import ChannelAttachment as ChannelAttachment
from sophon_channels.inbound_events import ChatKind as ChatKind
from sophon_channels.inbound_events import ChatLocation as ChatLocation
from sophon_channels.inbound_events import ChatMigrated as ChatMigrated
from sophon_channels.inbound_events import DeliveryReceipt as DeliveryReceipt
from sophon_channels.inbound_events import IdentityChanged as IdentityChanged
from sophon_channels.inbound_events import InboundEvent as InboundEvent
from sophon_channels.inbound_events import InboundMessage as InboundMessage
from sophon_channels.inbound_events import Inbox as Inbox
from sophon_channels.inbound_events import MessageEdited as MessageEdited
from sophon_channels.inbound_events import MessageReaction as MessageReaction
from sophon_channels.inbound_events import Person as Person
from sophon_channels.inbound_events import SharedText as SharedText
from sophon_channels.outbound_entry import OutboundEntry

if TYPE_CHECKING:
    from aiohttp import web  # lazy: a chat in the terminal, whose features name channels, loads no server


@dataclass(frozen=True, slots=True)
class SendSucceeded:
    """The platform accepted the message. `message_id` is its id there, None if the platform states none."""

    message_id: str | None


@dataclass(frozen=True, slots=True)
class SendPostponed:
    """The channel's own rate limit holds the message back for `retry_after`; no request left. `is_account_wide`: the
    limit applies to the whole account, not only to this chat.
    """

    retry_after: timedelta
    is_account_wide: bool = False


@dataclass(frozen=True, slots=True)
class SendDeferred:
    """The platform definitely did not take the message; it may be sent again after `retry_after`. `is_account_wide`:
    the refusal applies to the whole account, not only to this chat.
    """

    error: str
    retry_after: timedelta
    is_account_wide: bool = False


@dataclass(frozen=True, slots=True)
class SendUnauthorized:
    """The platform rejected the credential and did not take the message; nothing can be sent until the channel was
    started with a credential that the platform accepts.
    """

    error: str


@dataclass(frozen=True, slots=True)
class SendAmbiguous:
    """It is unknown whether the message arrived: the request may have left, and no definite answer came."""

    error: str


@dataclass(frozen=True, slots=True)
class SendUndeliverable:
    """The message can never be delivered. `is_chat_gone`: nothing else can be delivered to that chat either;
    `is_window_closed`: until the person writes again, because too much time has passed since they last did.
    """

    error: str
    is_chat_gone: bool = False
    is_window_closed: bool = False


@dataclass(frozen=True, slots=True)
class SendChatMigrated:
    """The message was not delivered because the chat has a new id; it can be sent to that id."""

    new_chat: str


SendResult: TypeAlias = (
    SendSucceeded
    | SendPostponed
    | SendDeferred
    | SendUnauthorized
    | SendAmbiguous
    | SendUndeliverable
    | SendChatMigrated
)
"""The result of one `Channel.send`."""

BeforeRequest: TypeAlias = Callable[[], Awaitable[None]]
"""Awaited immediately before the request that delivers a message leaves; if it raises, the request must not leave."""


async def before_no_request() -> None:
    """Do nothing: the `BeforeRequest` of a caller that stores no status."""


@dataclass(frozen=True, slots=True)
class Button:
    """A button below a message. `data` comes back as `ButtonPress.data`: at most 64 bytes of ASCII.

    `is_optional`: a command does the same, so that a platform may leave it out that has no room for all buttons.
    """

    label: str
    data: str
    is_dangerous: bool = False
    is_optional: bool = False


@dataclass(frozen=True, slots=True)
class FileReference:
    """A file on disk that is to be sent. `path` is absolute and without symbolic links; `size` is in bytes."""

    path: str
    name: str
    media_type: str
    size: int


@dataclass(frozen=True, slots=True)
class OutboundMessage:
    """A message to send, before a channel renders it for its platform.

    `text` is markdown from a model, or plain text from the host (`is_markdown` False). `replaces_message_id` is the
    platform's id of an earlier message that this one replaces, if the platform supports edits; `reply_to_message_id` is
    the id of the message that it replies to. `file_path` is the absolute path of a file, without symbolic links, that
    is sent with the text as its caption. Its name is `file_name` (default: the name on disk), its media type
    `media_type`; a message with a file replaces nothing. `more_files` are sent with that file as one album, which
    `AlbumChannel.group_files` has formed. `is_voice`: the file is speech, Opus in Ogg, to be shown as a voice message.
    """

    text: str
    is_markdown: bool = True
    buttons: tuple[Button, ...] = ()
    reply_to_message_id: str | None = None
    replaces_message_id: str | None = None
    file_path: str | None = None
    file_name: str = ""
    media_type: str = ""
    more_files: tuple[FileReference, ...] = ()
    is_voice: bool = False


@dataclass(frozen=True, slots=True)
class SelfTestResult:
    """One result of a channel's self-test, shown by `sophon doctor`. `fix` is the remedy, empty if none is needed."""

    ok: bool
    summary: str
    fix: str = ""


ChannelState: TypeAlias = Literal["stopped", "starting", "running", "failing", "refused", "detached"]


@dataclass(slots=True)
class ChannelHealth:
    """State of a channel. `state`: stopped, starting, running, failing (the channel retries), refused (it does not; the
    host starts it again from time to time), detached (set by the host after several refused starts).
    `is_credential_rejected`: the platform rejected the credential, and nothing can be sent. `counts` holds the number
    of events by kind.
    """

    state: ChannelState = "stopped"
    detail: str = ""
    last_received_at: datetime | None = None
    is_credential_rejected: bool = False
    counts: dict[str, int] = field(default_factory=new_dict)


@runtime_checkable
class ReactingChannel(Protocol):
    """A channel that can react to a message with an emoji; other channels lack the method."""

    async def send_reaction(self, location: ChatLocation, message_id: str, emoji: str) -> None:
        """React to a message, as far as the rate limits allow now; errors of the platform are not raised."""
        ...


@runtime_checkable
class DeletingChannel(Protocol):
    """A channel that can delete a message that it has sent; other channels lack the method."""

    async def delete_message(self, location: ChatLocation, message_id: str) -> None:
        """Delete a message; errors of the platform are not raised."""
        ...


@runtime_checkable
class WindowReopeningChannel(Protocol):
    """A channel that may tell a person of an answer when its platform takes no free text until they write again."""

    def render_reopening(self, beginning: str) -> dict[str, Any] | None:
        """Return the payload of that message, with the beginning of the answer; None if none is set. Pure."""
        ...


@runtime_checkable
class HoldingChannel(Protocol):
    """A channel that cannot send without a sound: in its quiet hours the host holds back what answers nobody."""

    def find_quiet_end(self, now: datetime) -> datetime | None:
        """Return the end of the quiet hours that a time is in, in UTC; None if it is in none. Pure."""
        ...


@runtime_checkable
class AlbumChannel(Protocol):
    """A channel that sends several files as one message; other channels lack the method, and send one by one."""

    def group_files(self, files: Sequence[FileReference]) -> list[list[FileReference]]:
        """Return the files in groups, each of which is one message: an album, or a single file. Pure."""
        ...


class EntrySender(Protocol):
    """The part of a channel that sends stored entries; an outbox worker needs no more."""

    @property
    def name(self) -> str:
        """The name of the platform, as stored with entries and runs: `telegram`."""
        ...

    @property
    def health(self) -> ChannelHealth:
        """The current state; the channel keeps it up to date."""
        ...

    @property
    def reports_delivery(self) -> bool:
        """Whether the platform reports later (`DeliveryReceipt`) that a sent message has arrived, or could not be
        delivered. The host keeps the payload until then, so that it can be sent again.
        """
        ...

    async def send(self, entry: OutboundEntry, before_request: BeforeRequest = before_no_request) -> SendResult:
        """Send one payload to `entry.chat` (a `ChatLocation.key`). Never raises for errors of the platform or the
        network and never waits for a rate limit. A file that is missing, or larger than the platform allows, is
        `SendUndeliverable`.

        `before_request` is awaited once, after the rate limit and all preparation, and immediately before the request
        leaves that delivers the message; what it raises is raised unchanged. `SendAmbiguous` is for a request that left
        and got no definite answer.
        """
        ...


class Channel(EntrySender, Protocol):
    """One account on one messaging platform. Parsing and rendering must be pure; only the API client does I/O."""

    @property
    def account(self) -> str:
        """The id of the bot or phone number; empty before `start` if only the platform knows it."""
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
        """Start to receive, with credentials that are read now. Raises ChannelError if nothing but another credential
        or setting helps: token or secret missing or wrong. May be called again after `stop`.
        """
        ...

    async def stop(self) -> None:
        """Stop to receive and close the connections. May be called twice, and without `start`."""
        ...

    def routes(self) -> "Sequence[web.RouteDef]":
        """Return the webhook routes, below `/webhooks/`; none for a channel that polls."""
        ...

    def render_payloads(self, message: OutboundMessage) -> list[dict[str, Any]]:
        """Return the payloads to send, in order: plain JSON, split where the platform requires it. Pure.

        A file is one payload, the first, with as much of the text as fits into a caption. There is no payload in which
        nothing is visible: none at all for a text of white space and invisible characters, without a file.

        Raises ValueError for buttons that the platform would reject: too many, or with labels that are too long.
        """
        ...

    def find_file_problem(self, media_type: str, size: int) -> str:
        """Return why the platform would refuse a file of that type and size in bytes, as a clause; "" if no reason is
        known. Pure.
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

        A platform that cannot edit messages shows nothing and returns None. Raises PreviewInDoubt if a new message may
        have been shown whose id is unknown: then the turn shows no other one.
        """
        ...

    async def download_attachment(self, attachment: ChannelAttachment, target: str, *, max_bytes: int) -> int:
        """Download an attachment to the path `target`; return its size in bytes. Raises ChannelError if it is too
        large, gone or damaged.

        Also while the channel is stopped: the process that runs a turn need not be the one that receives its messages.
        """
        ...

    async def run_self_test(self) -> list[SelfTestResult]:
        """Check the configuration against the platform's API; used by `sophon doctor`."""
        ...

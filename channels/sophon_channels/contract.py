"""What a platform is to a host, and what it tells: the contract of every channel."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, Literal, Protocol, TypeAlias

from aiohttp import web

from sophon.stores.outbound_contracts import OutboundEntry

PlaceKind: TypeAlias = Literal["direct", "group"]


@dataclass(frozen=True, slots=True)
class Person:
    """Who wrote or pressed. `id` is the platform's stable id of them, never a name that they can choose."""

    id: str
    name: str = ""


@dataclass(frozen=True, slots=True)
class Place:
    """Where it was said. `key` is the chat as the ledger names it: chat and, in a forum, thread."""

    chat: str
    kind: PlaceKind = "direct"
    thread: str | None = None
    title: str = ""

    @property
    def key(self) -> str:
        return self.chat if self.thread is None else f"{self.chat}/{self.thread}"


@dataclass(frozen=True, slots=True)
class Attachment:
    """A file that came with a message: not fetched yet. `id` is what the platform gives it out for; `size` in bytes,
    None where the platform does not tell.
    """

    id: str
    kind: Literal["image", "audio", "video", "document", "other"]
    name: str = ""
    media_type: str = ""
    size: int | None = None
    digest: str = ""


@dataclass(frozen=True, slots=True)
class Written:
    """A message. `external_id` is the same whenever the platform delivers it again.

    `mentioned`: it names the bot, answers it, or is a command to it. `quoted` is the text that it answers; `album` ties
    together what the platform delivers in pieces. `late`: it was written long before it came.
    """

    external_id: str
    person: Person
    place: Place
    text: str
    message_id: str
    at: datetime
    mentioned: bool = False
    quoted: str = ""
    album: str | None = None
    attachments: tuple[Attachment, ...] = ()
    late: bool = False


@dataclass(frozen=True, slots=True)
class Pressed:
    """A button. `data` is what it was given, `press_id` what an acknowledgement names; `prompt_id` is the platform's id
    of the message that has the button, None where the platform does not tell.
    """

    external_id: str
    person: Person
    place: Place
    data: str
    press_id: str
    prompt_id: str | None = None


@dataclass(frozen=True, slots=True)
class Moved:
    """A chat has a new id."""

    external_id: str
    old: str
    new: str


@dataclass(frozen=True, slots=True)
class Delivery:
    """What became of a message that was sent. Statuses come in any order: the furthest counts."""

    external_id: str
    platform_id: str
    status: Literal["sent", "delivered", "read", "failed"]
    code: int | None = None
    reason: str = ""


Arrival: TypeAlias = Written | Pressed | Moved | Delivery


class Inbox(Protocol):
    """Where a channel puts what arrives; the host has one per channel."""

    async def receive(self, arrivals: Sequence[Arrival]) -> None:
        """Keep them. Once this returns the platform may be told that it need not deliver them again.

        Whatever was received before changes nothing. Raises StoreError when they could not be kept.
        """
        ...


@dataclass(frozen=True, slots=True)
class Sent:
    """It is at the platform."""

    platform_id: str | None


@dataclass(frozen=True, slots=True)
class Refused:
    """The platform did not take it, and may after `retry_after`. `everywhere`: no chat is served before that."""

    error: str
    retry_after: timedelta
    everywhere: bool = False


@dataclass(frozen=True, slots=True)
class Doubtful:
    """Nobody knows whether it arrived."""

    error: str


@dataclass(frozen=True, slots=True)
class Undeliverable:
    """It will never arrive. `chat_is_gone`: neither will anything else in that chat."""

    error: str
    chat_is_gone: bool = False


@dataclass(frozen=True, slots=True)
class Migrated:
    """It did not arrive because the chat has a new id; sent there once more, it will."""

    chat: str


Receipt: TypeAlias = Sent | Refused | Doubtful | Undeliverable | Migrated


@dataclass(frozen=True, slots=True)
class Button:
    """`data` comes back in `Pressed.data`: at most 64 bytes of ASCII."""

    label: str
    data: str
    danger: bool = False


@dataclass(frozen=True, slots=True)
class Outgoing:
    """What a person is to read, before a platform makes it its own.

    `text` is markdown of a model, or plain text of the host (`markdown` False). `replaces` is the platform's id of an
    earlier message that this one takes the place of, where the platform can do that; `reply_to` the message that it
    answers. `file` is the absolute path of a file, without links on the way, that is sent with the text as its caption;
    it is called `file_name` (by default as on the disk), is of `media_type`, and takes the place of nothing.
    """

    text: str
    markdown: bool = True
    buttons: tuple[Button, ...] = ()
    reply_to: str | None = None
    replaces: str | None = None
    file: str | None = None
    file_name: str = ""
    media_type: str = ""


@dataclass(frozen=True, slots=True)
class Finding:
    """One line of a self-test, for `sophon doctor`. `fix` says what to do."""

    ok: bool
    what: str
    fix: str = ""


@dataclass(slots=True)
class Health:
    """How a channel is. `state`: stopped, starting, running, failing (it tries again), refused (it does not)."""

    state: Literal["stopped", "starting", "running", "failing", "refused"] = "stopped"
    detail: str = ""
    last_arrival: datetime | None = None
    counts: dict[str, int] = field(default_factory=lambda: {})


class Channel(Protocol):
    """One platform, with one account of it. Parsing and rendering are pure; only a client of the platform does I/O."""

    @property
    def name(self) -> str:
        """As the ledger names it: `telegram`."""
        ...

    @property
    def account(self) -> str:
        """Which bot or number it is; empty until `start`, where only the platform knows it."""
        ...

    @property
    def health(self) -> Health:
        """Kept up to date by the channel."""
        ...

    @property
    def largest_file(self) -> int:
        """Bytes of a file that it sends."""
        ...

    @property
    def notes_presses(self) -> bool:
        """Whether `acknowledge` shows its note; where it cannot, the host writes a message."""
        ...

    async def start(self, inbox: Inbox) -> None:
        """Begin to hear. Raises ChannelError where that makes no sense: no token, a wrong one, no secret."""
        ...

    async def stop(self) -> None:
        """Hear no more, let go of connections; may be called twice, and without `start`."""
        ...

    def routes(self) -> Sequence[web.RouteDef]:
        """Its webhooks, below `/webhooks/`; none for one that fetches."""
        ...

    def parts(self, outgoing: Outgoing) -> list[dict[str, Any]]:
        """The payloads that it is sent as, in order: split where the platform needs it, plain JSON. Pure.

        A file is one, the first: with as much of the text as fits into a caption.
        """
        ...

    async def send(self, entry: OutboundEntry) -> Receipt:
        """Send one part to `entry.chat` (a `Place.key`). Never raises for what the platform or the network does, never
        waits out a limit. A file that is gone by now, or larger than the platform takes, is Undeliverable.
        """
        ...

    async def acknowledge(self, press: Pressed, note: str) -> None:
        """Tell the person that their press came; what fails here is logged and forgotten."""
        ...

    async def busy(self, place: Place, message_id: str) -> None:
        """Show for a few seconds that an answer is being made; what fails is forgotten."""
        ...

    async def progress(self, place: Place, text: str, shown: str | None, reply_to: str | None) -> str | None:
        """Show how far it is, in place of `shown`, as far as the limits allow now; the id of what is shown, if any.

        A platform that cannot change messages shows nothing and gives None.
        """
        ...

    async def fetch(self, attachment: Attachment, target: str, *, limit: int) -> int:
        """Stream a file to a path; its bytes. Raises ChannelError: too large, gone, damaged."""
        ...

    async def test(self) -> list[Finding]:
        """Whether it is set up as it must be, asked of the platform itself; for `sophon doctor`."""
        ...

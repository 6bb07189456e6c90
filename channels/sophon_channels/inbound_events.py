"""Inbound events of a channel: messages, edits, presses, reactions and receipts, and the `Inbox` that receives them."""

from collections.abc import Sequence
from datetime import datetime
from typing import Literal, Protocol, TypeAlias

from sophon._python.lazy_dataclass import dataclass

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
class ChannelAttachment:
    """A file that came with a message and is not downloaded yet. `id` is the platform's download id; `size` is in
    bytes, None if the platform does not state it. `is_voice`: a voice message, which the sender has spoken.
    """

    id: str
    kind: Literal["image", "audio", "video", "document", "other"]
    name: str = ""
    media_type: str = ""
    size: int | None = None
    digest: str = ""
    is_voice: bool = False


@dataclass(frozen=True, slots=True)
class SharedText:
    """Text in a message that need not be its sender's own words: a contact, a poll, a place. `kind` names what it is,
    in lower case; `author` is who wrote it, as the platform states it, "" if unknown.
    """

    kind: str
    text: str
    author: str = ""


@dataclass(frozen=True, slots=True)
class InboundMessage:
    """An inbound message. `external_id` is the same whenever the platform delivers the message again.

    `is_mention`: the message mentions the bot, replies to it, or is a command to it. `quoted_text` is the text of the
    message that it replies to, `quoted_author` who wrote that; `is_quote_foreign` is False only for a quotation of the
    sender or of the bot. `quoted_message_id` is the platform's id of that message, if the platform states no text.
    `reply_to_message_id` is that id whether or not it states the text.
    `media_group_id` is the platform's id of a media group whose parts arrive as separate messages. `is_late`: the
    message was delivered long after it was written. `is_forwarded`: somebody else wrote it, `forwarded_from` states
    who. `shared` is text that came with it. `unreadable` names content that cannot be read ("stories"), "" if there is
    none. `is_edited`: it is the new version of a message that was read before; the host sets it.
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
    attachments: tuple[ChannelAttachment, ...] = ()
    is_late: bool = False
    is_forwarded: bool = False
    quoted_author: str = ""
    is_quote_foreign: bool = True
    quoted_message_id: str = ""
    forwarded_from: str = ""
    shared: tuple[SharedText, ...] = ()
    unreadable: str = ""
    is_edited: bool = False
    reply_to_message_id: str = ""


@dataclass(frozen=True, slots=True)
class MessageEdited:
    """The sender has edited a message. `message` is what it is now, with the `external_id` of the message;
    `external_id` is that of this edit.
    """

    external_id: str
    message: InboundMessage


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
class MessageReaction:
    """The reactions of a person to a message, `emojis`, have changed; none: they were taken back.

    `message_id` is the platform's id of the message, `chat` the chat within which it is unique, "" if it is everywhere.
    """

    external_id: str
    person: Person
    location: ChatLocation
    message_id: str
    emojis: tuple[str, ...] = ()
    chat: str = ""


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
    """The delivery status of a sent message. Statuses arrive in any order; the furthest one counts. `chat` is the chat
    that it was sent to, "" if the platform does not state it; `is_chat_unreachable`: a further message would fail too;
    `is_window_closed`: until the person writes again.
    """

    external_id: str
    message_id: str
    status: Literal["sent", "delivered", "read", "failed"]
    code: int | None = None
    reason: str = ""
    chat: str = ""
    is_chat_unreachable: bool = False
    is_window_closed: bool = False


InboundEvent: TypeAlias = (
    InboundMessage | MessageEdited | ButtonPress | MessageReaction | ChatMigrated | IdentityChanged | DeliveryReceipt
)
"""Everything that a channel reports to the host."""


class Inbox(Protocol):
    """Receiver of a channel's inbound events; the host provides one per channel."""

    async def receive(self, events: Sequence[InboundEvent]) -> None:
        """Store the events. After the return the channel may confirm them to the platform.

        Events that were received before are ignored. Raises StoreError if the events could not be stored.
        """
        ...

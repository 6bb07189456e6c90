"""Content of a WhatsApp message: its own text, its file, and the text that it shares (contacts, a place, an order)."""

import json
from collections.abc import Iterator
from typing import Literal, TypeAlias

from sophon._python.lazy_dataclass import dataclass
from sophon_channels.contract import ChannelAttachment, SharedText
from sophon_channels.json_fields import (
    JsonObject,
    get_int,
    get_object,
    get_objects,
    get_text,
    object_from_json,
    sanitize_text,
)
from sophon_channels.message_kind_treatments import UNKNOWN_KIND, MessageKind, build_kinds
from sophon_channels.text.single_line import to_single_line

InboundMediaKind: TypeAlias = Literal["image", "audio", "video", "document", "other"]
"""Kind of an attachment."""

MEDIA_KINDS: dict[str, InboundMediaKind] = {
    "image": "image",
    "audio": "audio",
    "voice": "audio",
    "video": "video",
    "document": "document",
    "sticker": "image",
}
"""Kind of the attachment by message type."""

WELCOME_COMMAND = "/start"
"""Text of a `request_welcome`."""

MESSAGE_KINDS = build_kinds(
    ("read", "the text of the message", "text"),
    ("read", "a file of the message, with its caption", "image audio voice video document sticker"),
    ("read", "a press of a button", "button interactive/button_reply interactive/list_reply"),
    ("read", "as `/start`: the person has opened the chat for the first time", "request_welcome"),
    ("described", "coordinates, name and address", "location"),
    ("described", "names and phone numbers", "contacts"),
    ("described", "the answers of the form", "interactive/nfm_reply"),
    ("described", "products, amounts, prices and the note", "order"),
    ("described", "beside a message: headline, text and address of the advertisement", "referral"),
    ("described", "beside a message: the product that it is about", "context/referred_product"),
    ("described", "a quotation, if the store knows the message", "context/id"),
    ("described", "the text is marked as forwarded", "context/forwarded context/frequently_forwarded"),
    ("answered", "messages that disappear", "ephemeral"),
    ("answered", "polls", "poll poll_creation"),
    ("answered", "events", "event"),
    ("answered", "group invitations", "group_invite"),
    ("answered", UNKNOWN_KIND, "unsupported unknown errors"),
    ("read", "feedback on an answer, by its emoji", "reaction"),
    ("ignored", "no message to the bot", "poll_update interactive/call_permission_reply"),
    ("read", "an edit of a text: replaces it while it waits, else a turn of its own", "edit"),
    ("ignored", "the removal of a message that was read before", "revoke"),
    ("ignored", "a new number or user id is recorded", "system"),
)
"""Treatment by type."""


@dataclass(frozen=True, slots=True)
class MessageContent:
    """Content of a message; see the fields of `InboundMessage`."""

    text: str = ""
    attachments: tuple[ChannelAttachment, ...] = ()
    shared: tuple[SharedText, ...] = ()
    unreadable: str = ""

    @property
    def is_empty(self) -> bool:
        """Whether the message is none to the bot."""
        return not (self.text or self.attachments or self.shared or self.unreadable)


def parse_content(message: JsonObject) -> MessageContent:
    """Return the content of a message that is no press of a button; empty if it is no message to the bot. Pure."""
    name = kind_name(message)
    kind = find_kind(name)
    if kind.treatment == "ignored":
        return MessageContent()
    beside = tuple(SharedText(each, text) for each, text in _beside(message) if text)
    if kind.treatment == "answered":
        return MessageContent(shared=beside, unreadable=kind.label)
    if name == "text":
        return MessageContent(get_text(get_object(message, "text"), "body"), shared=beside)
    if name == "request_welcome":
        return MessageContent(WELCOME_COMMAND)
    if name in MEDIA_KINDS:
        return _media_content(get_object(message, name), MEDIA_KINDS[name], beside)
    shared = SharedText(*_describe(name, message))
    return MessageContent(shared=((shared, *beside) if shared.text else beside))


def kind_name(message: JsonObject) -> str:
    """Return the name of a message's kind, as in the table of kinds."""
    name = get_text(message, "type")
    return f"{name}/{get_text(get_object(message, name), 'type')}" if name == "interactive" else name


def _media_content(media: JsonObject, kind: InboundMediaKind, shared: tuple[SharedText, ...]) -> MessageContent:
    media_id = get_text(media, "id")
    file = ChannelAttachment(
        media_id,
        kind,
        get_text(media, "filename"),
        get_text(media, "mime_type"),
        digest=get_text(media, "sha256"),
        is_voice=media.get("voice") is True,
    )
    return MessageContent(get_text(media, "caption"), (file,) if media_id else (), shared)


def _describe(name: str, message: JsonObject) -> tuple[str, str]:
    if name == "location":
        return "location", _describe_location(get_object(message, "location"))
    if name == "contacts":
        lines = [_describe_contact(contact) for contact in get_objects(message, "contacts")]
        return "contact", "\n".join(lines) or "(no contact)"
    if name == "order":
        return "order", "\n".join(_describe_order(get_object(message, "order"))) or "(an order)"
    if name == "interactive/nfm_reply":
        return "form", _describe_form(get_object(get_object(message, "interactive"), "nfm_reply"))
    return "", ""


def _beside(message: JsonObject) -> Iterator[tuple[str, str]]:
    """Yield what comes beside the content of any message: advertisement, product."""
    referral = get_object(message, "referral")
    yield "advertisement", _join(referral, "headline", "body", "source_url")
    yield (
        "product",
        _join(get_object(get_object(message, "context"), "referred_product"), "catalog_id", "product_retailer_id"),
    )


def _describe_location(place: JsonObject) -> str:
    label = ", ".join(part for part in (get_text(place, "name"), get_text(place, "address")) if part)
    coordinates = ", ".join(
        str(degrees) for key in ("latitude", "longitude") if (degrees := _number(place, key)) is not None
    )
    return ", ".join(part for part in (label, coordinates) if part) or "without a place"


def _number(data: JsonObject, key: str) -> float | None:
    value = data.get(key)
    return value if isinstance(value, float) else get_int(data, key)


def _describe_contact(contact: JsonObject) -> str:
    name = to_single_line(get_text(get_object(contact, "name"), "formatted_name")) or "(no name)"
    numbers = [
        to_single_line(get_text(phone, "phone") or get_text(phone, "wa_id")) for phone in get_objects(contact, "phones")
    ]
    return ", ".join([name, *(number for number in numbers if number)] if any(numbers) else [name, "(no number)"])


def _describe_order(order: JsonObject) -> Iterator[str]:
    if note := get_text(order, "text"):
        yield note
    for item in get_objects(order, "product_items"):
        price, count = _number(item, "item_price"), get_int(item, "quantity")
        parts = [
            f"{count} x" if count is not None else "",
            to_single_line(get_text(item, "product_retailer_id")) or "(a product)",
            f"at {price} {to_single_line(get_text(item, 'currency'))}" if price is not None else "",
        ]
        yield f"- {' '.join(part for part in parts if part).strip()}"
    if catalog := to_single_line(get_text(order, "catalog_id")):
        yield f"catalog {catalog}"


def _describe_form(reply: JsonObject) -> str:
    """Return the answers of a flow, one per line; `flow_token` is the flow's own."""
    try:
        answers = object_from_json(json.loads(get_text(reply, "response_json")))
    except (ValueError, RecursionError):
        return get_text(reply, "body") or "(a form without answers)"
    lines = [
        f"{to_single_line(key)}: {value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)}"
        for key, value in answers.items()
        if key != "flow_token"
    ]
    return sanitize_text("\n".join(lines)) or get_text(reply, "body") or "(a form without answers)"


def _join(data: JsonObject, *keys: str) -> str:
    return "\n".join(text for key in keys if (text := get_text(data, key).strip()))


def find_kind(name: str) -> MessageKind:
    """Return the treatment of a type. Pure.

    Source: "messages webhook reference" of Meta's documentation.
    """
    return MESSAGE_KINDS.get(name, MESSAGE_KINDS["unknown"])

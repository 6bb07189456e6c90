"""Parsing of Cloud API webhooks into inbound events: all entries, changes, messages, statuses; malformed parts are
skipped.

Source: "messages webhook reference" and "Business-scoped user IDs" of Meta's documentation.
"""

import logging
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime, timedelta
from typing import Literal

from sophon_channels.contract import (
    ButtonPress,
    ChatLocation,
    DeliveryReceipt,
    IdentityChanged,
    InboundEvent,
    InboundMessage,
    MessageEdited,
    MessageReaction,
    Person,
)
from sophon_channels.json_fields import (
    EMPTY_OBJECT,
    JsonObject,
    get_int,
    get_object,
    get_objects,
    get_text,
    object_from_json,
)
from sophon_channels.text.single_line import to_single_line
from sophon_channels.whatsapp.api.errors import UNREACHABLE_CODES, WINDOW_CLOSED_CODE
from sophon_channels.whatsapp.message_content import parse_content

log = logging.getLogger("sophon")

LATE_THRESHOLD = timedelta(hours=1)
"""A message delivered later than this is marked as late."""

DELIVERY_STATUSES: dict[str, Literal["sent", "delivered", "read", "failed"]] = {
    "sent": "sent",
    "delivered": "delivered",
    "read": "read",
    "failed": "failed",
}
"""The statuses that are handled."""


def parse_webhook(body: object, number_id: str, now: datetime) -> list[InboundEvent]:
    """Parse the body of a webhook; return the events of our number. Pure, apart from a log line for what is skipped."""
    events: list[InboundEvent] = []
    for entry in get_objects(object_from_json(body), "entry"):
        for change in get_objects(entry, "changes"):
            value = get_object(change, "value")
            if (
                get_text(change, "field") == "messages"
                and get_text(get_object(value, "metadata"), "phone_number_id") == number_id
            ):
                events += _parse_messages(value, now)
                events += _parse_statuses(value)
    return events


def _parse_messages(value: JsonObject, now: datetime) -> Iterator[InboundEvent]:
    contacts = _contacts_by_id(value)
    for message in get_objects(value, "messages"):
        if get_text(message, "group_id") or get_text(get_object(message, "context"), "group_id"):
            log.info("WhatsApp: skipped a message from a group; groups are not supported")
            continue
        event = _parse_message(message, contacts, now)
        if event is not None:
            yield event


def _parse_message(message: JsonObject, contacts: Mapping[str, JsonObject], now: datetime) -> InboundEvent | None:
    external_id, kind = get_text(message, "id"), get_text(message, "type")
    if kind == "system" and external_id:
        return _parse_identity_change(message, external_id)
    person, chat = _sender_and_chat(message, contacts)
    if not (person.id and chat and external_id):
        return None
    if kind == "edit":
        return _parse_edit(message, contacts, now)
    if kind == "reaction":
        return _parse_reaction(get_object(message, "reaction"), external_id, person, chat)
    callback_data = _parse_callback_data(message, kind)
    if callback_data is not None:
        prompt_id = get_text(get_object(message, "context"), "id") or None
        return ButtonPress(external_id, person, ChatLocation(chat), callback_data, external_id, prompt_id)
    content = parse_content(message)
    if content.is_empty:
        log.info("WhatsApp: skipped a message of the type %r", kind[:40])
        return None
    context = get_object(message, "context")
    sent_at = _parse_time(get_text(message, "timestamp"), now)
    return InboundMessage(
        external_id,
        person,
        ChatLocation(chat),
        content.text,
        external_id,
        sent_at,
        is_mention=True,
        attachments=content.attachments,
        is_late=now - sent_at > LATE_THRESHOLD,
        is_forwarded=_is_forwarded(context),
        quoted_message_id=get_text(context, "id"),
        reply_to_message_id=get_text(context, "id"),
        shared=content.shared,
        unreadable=content.unreadable,
    )


def _parse_edit(message: JsonObject, contacts: Mapping[str, JsonObject], now: datetime) -> MessageEdited | None:
    """Return an edit: the message inside has no id and no sender of its own.

    Source: "Edit messages webhook reference" of Meta's documentation.
    """
    edit = get_object(message, "edit")
    envelope = {key: value for key, value in message.items() if key not in ("type", "edit", "context")}
    inner = {**envelope, **get_object(edit, "message"), "id": get_text(edit, "original_message_id")}
    if get_text(inner, "type") in ("edit", "system", "reaction"):
        return None
    edited = _parse_message(inner, contacts, now)
    return MessageEdited(get_text(message, "id"), edited) if isinstance(edited, InboundMessage) else None


def _parse_reaction(reaction: JsonObject, external_id: str, person: Person, chat: str) -> MessageReaction | None:
    """Return a reaction; one that was taken back has no emoji."""
    message_id, emoji = get_text(reaction, "message_id"), get_text(reaction, "emoji")
    if not message_id:
        return None
    return MessageReaction(external_id, person, ChatLocation(chat), message_id, (emoji,) if emoji else ())


def _is_forwarded(context: JsonObject) -> bool:
    return context.get("forwarded") is True or context.get("frequently_forwarded") is True


def _sender_and_chat(message: JsonObject, contacts: Mapping[str, JsonObject]) -> tuple[Person, str]:
    """Return the sender and the chat that a reply is sent to.

    The sender's id is the user id, which survives a change of number or name, else the number. The chat is the number,
    or the user id of a person who hides the number. Ids that the message lacks are taken from its contact.
    """
    number, user = get_text(message, "from"), get_text(message, "from_user_id")
    contact = contacts.get(user) or contacts.get(number) or EMPTY_OBJECT
    number, user = number or get_text(contact, "wa_id"), user or get_text(contact, "user_id")
    name = to_single_line(get_text(get_object(contact, "profile"), "name"))
    return Person(user or number, name, user_id=user, number=number), number or user


def _contacts_by_id(value: JsonObject) -> dict[str, JsonObject]:
    """Return the contacts by each of their ids."""
    contacts = get_objects(value, "contacts")
    return {
        contact_id: contact
        for contact in contacts
        for key in ("user_id", "wa_id")
        if (contact_id := get_text(contact, key))
    }


def _parse_callback_data(message: JsonObject, kind: str) -> str | None:
    """Return the data of a reply button, a list row, or a template's quick reply; None for other messages."""
    if kind == "button":
        return get_text(get_object(message, "button"), "payload") or None
    if kind == "interactive":
        interactive = get_object(message, "interactive")
        return (
            get_text(get_object(interactive, "button_reply"), "id")
            or get_text(get_object(interactive, "list_reply"), "id")
            or None
        )
    return None


def _parse_identity_change(message: JsonObject, external_id: str) -> IdentityChanged | None:
    """Return the change when a person has a new number or user id; a new number comes with a new user id.

    Source: "System messages webhook reference" of Meta's documentation. A person who hides the number has no `from`.
    """
    system = get_object(message, "system")
    if get_text(system, "type") not in ("user_changed_user_id", "user_changed_number"):
        return None
    new_user, new_number = get_text(system, "user_id"), get_text(system, "wa_id") or get_text(system, "new_wa_id")
    sender, old_number = get_text(message, "from_user_id"), get_text(message, "from")
    old_user = get_text(system, "previous_user_id") or ("" if sender == new_user else sender)
    new_user = "" if new_user == old_user else new_user
    new_number = "" if new_number == old_number else new_number
    if not (old_user or old_number) or not (new_user or new_number):
        return None
    return IdentityChanged(external_id, old_user, old_number, new_user, new_number)


def _parse_statuses(value: JsonObject) -> Iterator[DeliveryReceipt]:
    for status in get_objects(value, "statuses"):
        known_status, platform_id = DELIVERY_STATUSES.get(get_text(status, "status")), get_text(status, "id")
        if known_status is None or not platform_id:
            continue
        errors = get_objects(status, "errors")
        error = errors[0] if errors else EMPTY_OBJECT
        reason = get_text(get_object(error, "error_data"), "details") or get_text(error, "title")
        code = get_int(error, "code")
        yield DeliveryReceipt(
            f"{platform_id}:{known_status}",
            platform_id,
            known_status,
            code,
            to_single_line(reason),
            chat=get_text(status, "recipient_id") or get_text(status, "recipient_user_id"),
            is_chat_unreachable=code in UNREACHABLE_CODES,
            is_window_closed=code == WINDOW_CLOSED_CODE,
        )


def _parse_time(stamp: str, now: datetime) -> datetime:
    try:
        return datetime.fromtimestamp(int(stamp), UTC)
    except (ValueError, OverflowError, OSError):
        return now

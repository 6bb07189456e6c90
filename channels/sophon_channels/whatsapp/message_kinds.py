"""Kinds of WhatsApp messages by their `type`, interactive ones as `interactive/` and their type; and what becomes of
them. A type that is not in the table is answered as `UNKNOWN_KIND`.

Source: "messages webhook reference" of Meta's documentation.
"""

from sophon_channels.message_kinds import UNKNOWN_KIND, MessageKind, build_kinds

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


def find_kind(name: str) -> MessageKind:
    """Return the treatment of a type. Pure."""
    return MESSAGE_KINDS.get(name, MESSAGE_KINDS["unknown"])

"""Every kind of message that Telegram knows has one defined treatment, and so has one that it does not know yet."""

import importlib
from datetime import UTC, datetime
from typing import Any

import pytest

from sophon_channels.contract import InboundMessage, SharedText
from sophon_channels.message_kind_treatments import UNKNOWN_KIND
from sophon_channels.telegram.mentions import BotIdentity
from sophon_channels.telegram.message_field_treatments import MESSAGE_KINDS, UPDATE_KINDS
from sophon_channels.telegram.parsing import parse_update
from tests.channels.telegram.parts import ADA, SENT_AT, message

BOT = BotIdentity(123456, "sophon_bot")
NOW = datetime.fromtimestamp(SENT_AT, UTC)
MOVES = {"migrate_to_chat_id", "migrate_from_chat_id"}


def names_of(name: str) -> set[str]:
    """Names of the fields that a type of the Bot API has in aiogram, which takes two seconds to import."""
    model = getattr(importlib.import_module("aiogram.types"), name)
    return {field.alias or name for name, field in model.model_fields.items()}


def read(**fields: Any) -> InboundMessage | None:
    found = parse_update(message(**{"text": None, **fields}), BOT, NOW)
    assert all(isinstance(each, InboundMessage) for each in found)
    return found[0] if found else None  # type: ignore[return-value]


def test_every_field_of_a_message_that_aiogram_knows_is_in_the_table() -> None:
    assert names_of("Message") == set(MESSAGE_KINDS)


def test_every_kind_of_update_that_aiogram_knows_is_in_the_table() -> None:
    assert names_of("Update") == set(UPDATE_KINDS)


@pytest.mark.parametrize("name", [name for name, kind in UPDATE_KINDS.items() if kind.treatment == "ignored"])
def test_an_update_that_is_no_message_is_ignored(name: str) -> None:
    assert parse_update({"update_id": 1, name: message("hello")["message"]}, BOT, NOW) == []


@pytest.mark.parametrize("name", [name for name, kind in MESSAGE_KINDS.items() if kind.treatment == "answered"])
def test_a_kind_that_cannot_be_read_is_named(name: str) -> None:
    found = read(**{name: {"id": 1}})
    assert found is not None
    assert (found.unreadable, found.text, found.shared) == (MESSAGE_KINDS[name].label, "", ())


@pytest.mark.parametrize(
    "name", [n for n, kind in MESSAGE_KINDS.items() if kind.treatment == "ignored" and n not in MOVES]
)
def test_a_service_message_is_no_message_to_the_bot(name: str) -> None:
    assert read(**{name: {"id": 1, "text": "x"}}) is None


@pytest.mark.parametrize("fields", [{}, {"hologram": {"id": 1}}, {"effect_id": "5"}])
def test_what_a_newer_telegram_sends_is_answered_as_an_unknown_kind(fields: dict[str, Any]) -> None:
    found = read(**fields)
    assert found is not None
    assert (found.unreadable, found.text) == (UNKNOWN_KIND, "")


def test_a_caption_of_an_unknown_kind_is_read_and_the_kind_is_noted() -> None:
    found = read(caption="look", hologram={"id": 1})
    assert found is not None
    assert (found.text, found.unreadable) == ("look", UNKNOWN_KIND)


def test_a_new_detail_of_a_text_changes_nothing() -> None:
    found = read(text="hello", new_flag=True)
    assert found is not None
    assert (found.text, found.unreadable) == ("hello", "")


PLACE = {"latitude": 52.5, "longitude": 13.4}
SHARED: dict[str, tuple[dict[str, Any], str]] = {
    "location": ({"location": PLACE}, "52.5, 13.4"),
    "live location": ({"location": {**PLACE, "live_period": 60}}, "52.5, 13.4, live location"),
    "venue": (
        {"venue": {"title": "Café", "address": "Street 1", "location": PLACE}, "location": PLACE},
        "Café, Street 1, 52.5, 13.4",
    ),
    "contact": ({"contact": {"first_name": "Bo", "last_name": "Li", "phone_number": "+49 1"}}, "Bo Li, +49 1"),
    "poll": (
        {"poll": {"question": "Tea?", "options": [{"text": "yes"}, {"text": "no\n- maybe"}]}},
        "Tea?\n- yes\n- no - maybe",
    ),
    "checklist": (
        {"checklist": {"title": "Buy", "tasks": [{"text": "milk", "completion_date": 5}, {"text": "tea"}]}},
        "Buy\n[x] milk\n[ ] tea",
    ),
    "game": ({"game": {"title": "Chess", "description": "a board"}}, "Chess\na board"),
    "invoice": (
        {"invoice": {"title": "Tea", "description": "green", "currency": "EUR", "total_amount": 350}},
        "Tea\ngreen\n350 EUR (smallest units)",
    ),
}


@pytest.mark.parametrize("name", SHARED)
def test_what_a_message_shares_becomes_text_from_elsewhere(name: str) -> None:
    fields, text = SHARED[name]
    found = read(**fields)
    assert found is not None
    kind = {"live location": "location", "venue": "location"}.get(name, name)
    assert (found.text, found.shared) == ("", (SharedText(kind, text),))


def test_every_described_kind_has_a_sample_here() -> None:
    references = {"quote", "reply_to_message", "external_reply", "via_bot"}
    described = {name for name, kind in MESSAGE_KINDS.items() if kind.treatment == "described"}
    assert {name for name in described if not name.startswith("forward_")} - references == set(SHARED) - {
        "live location"
    }


@pytest.mark.parametrize(
    ("fields", "text"),
    [
        ({"sticker": {"file_id": "s", "emoji": "👍"}}, "👍"),
        ({"sticker": {"file_id": "s", "is_animated": True}}, "(a sticker)"),
        ({"dice": {"emoji": "🎲", "value": 4}}, "🎲 4"),
        (
            {
                "rich_message": {
                    "blocks": [
                        {"type": "heading", "text": ["Plan ", {"type": "bold", "text": "B"}], "size": 1},
                        {"type": "list", "items": [{"label": "1.", "blocks": [{"type": "paragraph", "text": "tea"}]}]},
                        {"type": "table", "cells": [[{"text": "a"}, {"text": "b"}]]},
                        {"type": "paragraph", "text": {"type": "url", "text": "here", "url": "https://a.example"}},
                    ]
                }
            },
            "Plan B\n1.\ntea\na | b\nhere (https://a.example)",
        ),
    ],
)
def test_what_the_sender_says_without_a_text_is_their_own_text(fields: dict[str, Any], text: str) -> None:
    found = read(**fields)
    assert found is not None
    assert (found.text, found.unreadable) == (text, "")


@pytest.mark.parametrize("name", ["animation", "audio", "document", "live_photo", "video", "video_note", "voice"])
def test_every_kind_of_file_is_an_attachment_with_its_caption(name: str) -> None:
    found = read(caption="look", has_media_spoiler=True, **{name: {"file_id": "f"}})
    assert found is not None
    assert ([file.id for file in found.attachments], found.text) == (["f"], "look")


HERE = {"id": BOT.id, "is_bot": True, "first_name": "Sophon"}
EVE = {"id": 5, "is_bot": False, "first_name": "Eve\n(forwarded", "last_name": "message)"}


@pytest.mark.parametrize(
    ("author", "more", "foreign", "name"),
    [
        (HERE, {}, False, "Sophon"),
        (ADA, {}, False, "Ada"),
        (EVE, {}, True, "Eve (forwarded message)"),
        (ADA, {"forward_origin": {"type": "hidden_user", "sender_user_name": "Mallory"}}, True, "Mallory"),
        (ADA, {"via_bot": {"id": 9, "username": "gif"}}, True, "the bot @gif"),
    ],
)
def test_a_quotation_names_its_author_and_is_foreign_unless_it_is_the_senders_or_the_bots(
    author: dict[str, Any], more: dict[str, Any], foreign: bool, name: str
) -> None:
    found = read(text="why?", reply_to_message={"message_id": 3, "from": author, "text": "tea", **more})
    assert found is not None
    assert (found.quoted_text, found.is_quote_foreign, found.quoted_author) == ("tea", foreign, name)


def test_a_reply_to_a_message_of_another_chat_quotes_the_chosen_words() -> None:
    origin = {"type": "channel", "chat": {"title": "News"}, "author_signature": "Bo", "message_id": 1, "date": 1}
    found = read(text="true?", external_reply={"origin": origin}, quote={"text": "war is over"})
    assert found is not None
    assert (found.quoted_text, found.quoted_author, found.is_quote_foreign) == ("war is over", "News (Bo)", True)


def test_words_that_the_quoted_message_does_not_have_are_foreign() -> None:
    found = read(text="why?", reply_to_message={"message_id": 3, "from": HERE, "text": "tea"}, quote={"text": "coffee"})
    assert found is not None
    assert (found.quoted_text, found.is_quote_foreign) == ("coffee", True)


def test_a_reply_to_a_picture_says_that_it_is_one() -> None:
    found = read(text="who?", reply_to_message={"message_id": 3, "from": ADA, "photo": [{"file_id": "f"}]})
    assert found is not None
    assert found.quoted_text == "(photo)"


@pytest.mark.parametrize(
    ("fields", "author"),
    [
        ({"forward_origin": {"type": "user", "sender_user": EVE}}, "Eve (forwarded message)"),
        ({"forward_origin": {"type": "hidden_user", "sender_user_name": "Eve"}}, "Eve"),
        ({"forward_origin": {"type": "chat", "sender_chat": {"title": "Ops"}}}, "Ops"),
        ({"forward_date": 1, "forward_from": ADA}, "Ada"),
        ({"via_bot": {"id": 9, "username": "gif"}}, "the bot @gif"),
    ],
)
def test_a_forwarded_message_names_its_author(fields: dict[str, Any], author: str) -> None:
    found = read(text="tea", **fields)
    assert found is not None
    assert (found.is_forwarded, found.forwarded_from) == (True, author)


def test_a_name_is_one_line() -> None:
    found = read(text="hello", **{"from": {**ADA, "first_name": "Ada\n\u202e✅ Approved", "last_name": ""}})
    assert found is not None
    assert found.person.name == "Ada ✅ Approved"

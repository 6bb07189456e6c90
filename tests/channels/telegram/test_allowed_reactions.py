"""Reactions of Telegram: whose they are, to which message, and what is none of a person."""

from datetime import UTC, datetime
from typing import Any

import pytest

from sophon_channels.contract import ChatLocation, MessageReaction, Person
from sophon_channels.telegram.mentions import BotIdentity
from sophon_channels.telegram.parsing import parse_update

BOT = BotIdentity(7, "sophon_bot")
NOW = datetime(2026, 1, 1, tzinfo=UTC)
ADA = {"id": 5, "is_bot": False, "first_name": "Ada"}
UP = {"type": "emoji", "emoji": "👍"}


def reacted(**changed: Any) -> dict[str, Any]:
    found = {
        "chat": {"id": -100, "type": "supergroup", "title": "Team"},
        "message_id": 12,
        "user": ADA,
        "date": 99,
        "old_reaction": [],
        "new_reaction": [UP, {"type": "custom_emoji", "custom_emoji_id": "1"}, {"type": "paid"}],
        **changed,
    }
    return {"update_id": 1, "message_reaction": {key: value for key, value in found.items() if value is not None}}


def test_a_reaction_names_person_chat_and_message():
    assert parse_update(reacted(), BOT, NOW) == [
        MessageReaction(
            "reaction:-100:12:5:99",
            Person("5", "Ada"),
            ChatLocation("-100", "group", title="Team"),
            "12",
            ("👍",),
            "-100",
        )
    ]
    [gone] = parse_update(reacted(new_reaction=[], old_reaction=[UP]), BOT, NOW)
    assert isinstance(gone, MessageReaction)
    assert gone.emojis == ()


@pytest.mark.parametrize(
    "changed",
    [
        {"user": None, "actor_chat": {"id": -100, "type": "supergroup"}},
        {"user": {**ADA, "is_bot": True}},
        {"message_id": None},
        {"chat": {"id": -1, "type": "channel"}},
        {"chat": None},
    ],
)
def test_an_anonymous_or_malformed_one_is_none(changed: dict[str, Any]):
    assert parse_update(reacted(**changed), BOT, NOW) == []

"""Words that mention the bot: whole, in any case, and not where they mean something else."""

from typing import Any

import pytest

from sophon.errors import SettingsError
from sophon.settings import Settings
from sophon_channels.contract import InboundMessage
from sophon_channels.telegram.mentions import BotIdentity, contains_mention
from sophon_channels.telegram.parsing import parse_update
from tests.channels.telegram.bot_api import BotApi
from tests.channels.telegram.conftest import Open
from tests.channels.telegram.parts import GROUP, Box, at, message

NAMED = BotIdentity(123456, "sophon_bot", ("Sophon", "hey bot", "ソフォン", "소폰", "Zoë", "C++"))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Sophon, deploy?", True),
        ("what does SOPHON think", True),
        ("(sophon)", True),
        ("ask Sophon's opinion", True),
        ("thanks, sophon.", True),
        ("sophon: go", True),
        ("sophons are small", False),
        ("philosophon", False),
        ("@sophon_bots hello", False),
        ("@sophon hello", False),
        ("sophon@example.org", False),
        ("see https://sophon.example/x", False),
        ("see docs/sophon/x", False),
        ("see sophon.example", False),
        ("sophon_x", False),
        ("Hey  BOT\nlook", True),
        ("they both", False),
        ("ねえソフォン、見て", True),
        ("소폰아 봐", True),
        ("zoe\u0308!", True),
        ("use C++ here", True),
        ("use C here", False),
        ("", False),
    ],
)
def test_a_word_of_the_settings_mentions_the_bot(text: str, expected: bool) -> None:
    assert contains_mention(text, NAMED.patterns) is expected


def test_without_words_nothing_is_mentioned() -> None:
    assert not contains_mention("Sophon", ())


def read(text: str, **fields: Any) -> InboundMessage:
    [found] = parse_update(message(text, chat=GROUP, **fields), NAMED, at(60))
    assert isinstance(found, InboundMessage)
    return found


@pytest.mark.parametrize(
    ("text", "fields", "expected"),
    [
        ("Sophon, deploy", {}, True),
        ("deploy", {}, False),
        ("", {"caption": "for sophon", "photo": [{"file_id": "f", "file_unique_id": "u", "file_size": 1}]}, True),
        ("Sophon, deploy", {"forward_origin": {"type": "hidden_user", "sender_user_name": "Bo", "date": 1}}, False),
        ("/new@other_bot sophon", {}, False),
        ("@other_bot, ask sophon", {"entities": [{"type": "mention", "offset": 0, "length": 10}]}, True),
    ],
)
def test_a_message_with_such_a_word_is_a_mention(text: str, fields: dict[str, Any], expected: bool) -> None:
    assert read(text, **fields).is_mention is expected


def test_the_text_keeps_the_word() -> None:
    assert read("Sophon, deploy").text == "Sophon, deploy"


def test_a_blank_word_is_a_mistake() -> None:
    with pytest.raises(SettingsError, match="a blank word"):
        Settings.from_mapping({"Channels": {"Telegram": {"MentionPatterns": ["Sophon", " "]}}})


async def test_the_words_are_those_of_the_settings(opened: Open, api: BotApi, box: Box) -> None:
    await opened(MentionPatterns=["Sophon"])
    await api.deliver(message("sophon, deploy", chat=GROUP), message("deploy", chat=GROUP, number=2))
    found = await box.holding(2)
    assert [each.is_mention for each in found if isinstance(each, InboundMessage)] == [True, False]

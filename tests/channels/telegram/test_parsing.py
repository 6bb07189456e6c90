"""Reading updates: what counts, from whom, where, and what is let go."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sophon_channels.contract import (
    ButtonPress,
    ChannelAttachment,
    ChatLocation,
    ChatMigrated,
    InboundMessage,
    MessageEdited,
    Person,
)
from sophon_channels.telegram.mentions import BotIdentity
from sophon_channels.telegram.parsing import parse_update
from tests.channels.telegram.parts import ADA, DIRECT, GROUP, SENT_AT, message, press

BOT = BotIdentity(123456, "sophon_bot")
NOW = datetime.fromtimestamp(SENT_AT, UTC)
HERE = {"id": BOT.id, "is_bot": True, "first_name": "Sophon"}


def written(update: dict[str, Any], now: datetime = NOW) -> InboundMessage:
    (arrival,) = parse_update(update, BOT, now)
    assert isinstance(arrival, InboundMessage)
    return arrival


def test_a_message_tells_who_wrote_what_where_and_when() -> None:
    assert written(message("hello", number=42)) == InboundMessage(
        external_id="message:111222333:42",
        person=Person("111222333", "Ada"),
        location=ChatLocation("111222333"),
        text="hello",
        message_id="42",
        sent_at=NOW,
    )


def test_the_same_message_has_the_same_identity_whatever_its_update_is_called() -> None:
    first, again = message(number=7), {**message(number=7), "update_id": 5}
    assert written(first).external_id == written(again).external_id


def edit(text: str, at: int = 7) -> MessageEdited:
    (found,) = parse_update({"update_id": 9, "edited_message": {**message(text)["message"], "edit_date": at}}, BOT, NOW)
    assert isinstance(found, MessageEdited)
    return found


def test_an_edit_is_one_of_the_message_and_two_within_a_second_are_two() -> None:
    assert edit("better").message == written(message("better"))
    assert edit("better").external_id == edit("better").external_id
    assert len({edit(text, at).external_id for text, at in (("a", 7), ("b", 7), ("a", 8))}) == 3


def test_two_delayed_messages_with_the_id_0_are_two() -> None:
    first, second = message(number=0), {**message(number=0), "update_id": 5}
    assert written(first).message_id == "0"
    assert written(first).external_id != written(second).external_id


def test_a_chat_renumbered_after_a_week_loses_no_message() -> None:
    old, new = message(number=7), {**message(number=8), "update_id": message(number=7)["update_id"]}
    assert written(old).external_id != written(new).external_id


@pytest.mark.parametrize(("minutes", "late"), [(0, False), (10, False), (11, True), (1440, True)])
def test_what_waited_long_at_telegram_is_late(minutes: int, late: bool) -> None:
    assert written(message(), NOW + timedelta(minutes=minutes)).is_late is late


@pytest.mark.parametrize(
    ("fields", "thread"),
    [
        ({"message_thread_id": 7, "is_topic_message": True}, "7"),
        ({"message_thread_id": 7}, None),  # an answer in an ordinary group
        ({}, None),  # the General topic
    ],
)
def test_only_a_topics_messages_are_in_a_thread(fields: dict[str, Any], thread: str | None) -> None:
    assert written(message(chat=GROUP, **fields)).location == ChatLocation("-1001234567890", "group", thread, "Ops")


@pytest.mark.parametrize(
    ("text", "entities", "mentioned", "spoken"),
    [
        ("@sophon_bot deploy?", [("mention", 0, 11)], True, "deploy?"),
        ("@Sophon_Bot, deploy", [("mention", 0, 11)], True, "deploy"),
        ("@sophon_bot", [("mention", 0, 11)], True, "@sophon_bot"),
        ("\U0001f468\U0001f468 @sophon_bot go", [("mention", 5, 11)], True, "\U0001f468\U0001f468 @sophon_bot go"),
        ("@sophon_bots deploy", [("mention", 0, 12)], False, "@sophon_bots deploy"),
        ("@sophon_bot in code", [("code", 0, 11)], False, "@sophon_bot in code"),
        ("/stop now", [("bot_command", 0, 5)], True, "/stop now"),
        ("/stop@sophon_bot now", [("bot_command", 0, 16)], True, "/stop now"),
        ("/stop@Sophon_Bot now", [], False, "/stop now"),
        ("/stop@other_bot now", [("bot_command", 0, 15)], False, "/stop@other_bot now"),
        ("Sophon, go", [("text_mention", 0, 6)], True, "Sophon, go"),
        ("hello", [("mention", 90, 5), ("mention", -1, 3), ("mention", 0, 0)], False, "hello"),
    ],
)
def test_a_mention_is_found_by_its_utf16_offsets(
    text: str, entities: list[tuple[str, int, int]], mentioned: bool, spoken: str
) -> None:
    listed = [{"type": kind, "offset": offset, "length": length, "user": HERE} for kind, offset, length in entities]
    arrival = written(message(text, chat=GROUP, entities=listed))
    assert (arrival.is_mention, arrival.text) == (mentioned, spoken)


def test_an_answer_to_the_bot_speaks_to_it_and_quotes() -> None:
    arrival = written(message("yes", reply_to_message={"message_id": 3, "from": HERE, "text": "Shall I?"}))
    assert (arrival.is_mention, arrival.quoted_text) == (True, "Shall I?")


def test_only_the_stretch_that_was_chosen_is_quoted() -> None:
    answered = {"message_id": 3, "from": ADA, "text": "one two three"}
    assert written(message(reply_to_message=answered, quote={"text": "two"})).quoted_text == "two"


def test_a_topic_that_the_bot_made_does_not_make_every_message_in_it_a_mention() -> None:
    made = {"message_id": 7, "from": HERE, "forum_topic_created": {"name": "Builds"}}
    assert not written(message(chat=GROUP, reply_to_message=made)).is_mention


def test_a_photo_comes_in_its_largest_size_with_its_caption_and_album() -> None:
    sizes = [
        {"file_id": "s", "width": 90, "height": 90, "file_size": 900},
        {"file_id": "l", "width": 1280, "height": 1280, "file_size": 90000},
        {"file_id": "m", "width": 320, "height": 320},
    ]
    entities = [{"type": "mention", "offset": 0, "length": 11}]
    arrival = written(
        message(text=None, photo=sizes, caption="@sophon_bot see", caption_entities=entities, media_group_id="9")
    )
    assert (arrival.text, arrival.media_group_id, arrival.is_mention) == ("see", "9", True)
    assert arrival.attachments == (ChannelAttachment("l", "image", media_type="image/jpeg", size=90000),)


@pytest.mark.parametrize(
    ("key", "kind"),
    [("document", "document"), ("audio", "audio"), ("voice", "audio"), ("video", "video"), ("video_note", "video")],
)
def test_files_of_every_kind_come_with_what_is_known_of_them(key: str, kind: str) -> None:
    file = {"file_id": "f", "file_name": "a.bin", "mime_type": "x/y", "file_size": 3_000_000_000}
    (attachment,) = written(message(text=None, **{key: file})).attachments
    assert (attachment.kind, attachment.name, attachment.media_type, attachment.size) == (
        kind,
        "a.bin",
        "x/y",
        3 * 10**9,
    )


def test_an_animation_is_one_file() -> None:
    file = {"file_id": "f", "mime_type": "video/mp4"}
    assert len(written(message(text=None, animation=file, document=file)).attachments) == 1


def test_text_that_no_store_could_keep_is_made_storable() -> None:
    assert written(message("a\x00b \ud83d c \ud83d\ude00")).text == "a\ufffdb \ufffd c \U0001f600"


def test_a_press_names_its_prompt() -> None:
    assert parse_update(press(), BOT, NOW) == [
        ButtonPress(
            external_id="press:4382001122334455",
            person=Person("111222333", "Ada"),
            location=ChatLocation("111222333"),
            data="ap:7Q4K2M9X:once",
            press_id="4382001122334455",
            prompt_message_id="43",
        )
    ]


def test_a_press_on_an_inaccessible_message_still_names_chat_and_prompt() -> None:
    (arrival,) = parse_update(press(message={"message_id": 43, "date": 0, "chat": GROUP}), BOT, NOW)
    assert isinstance(arrival, ButtonPress)
    assert (arrival.location.chat, arrival.prompt_message_id) == ("-1001234567890", "43")


def test_a_press_without_its_message_is_one_of_the_direct_chat() -> None:
    (arrival,) = parse_update(press(message=None), BOT, NOW)
    assert isinstance(arrival, ButtonPress)
    assert (arrival.location, arrival.prompt_message_id) == (ChatLocation("111222333"), None)


@pytest.mark.parametrize("fields", [{"migrate_to_chat_id": -1009}, {"chat": {"id": -1009}, "migrate_from_chat_id": -5}])
def test_both_messages_of_a_move_are_one_move(fields: dict[str, Any]) -> None:
    update = message(text=None, **{"chat": {"id": -5, "type": "group"}, **fields})
    assert parse_update(update, BOT, NOW) == [ChatMigrated("moved:-5:-1009", "-5", "-1009")]


@pytest.mark.parametrize(
    "update",
    [
        {"update_id": 1},
        {"update_id": 1, "edited_message": message(number=0)["message"]},
        {"update_id": 1, "edited_channel_post": message()["message"]},
        {"update_id": 1, "channel_post": message()["message"]},
        {"update_id": 1, "from_the_future": {"id": 1}},
        message(**{"from": {**ADA, "is_bot": True}}),
        message(**{"from": None}),
        message(sender_chat=GROUP),
        message(chat={"id": -1, "type": "channel"}),
        message(chat={"id": -1, "type": ["supergroup"]}),
        message(chat=None),
        message(text=None, new_chat_members=[ADA]),
        message(text=" \n"),
        press(data=None),
        press(data=None, game_short_name="chess"),
        press(**{"from": None}),
    ],
)
def test_what_does_not_count_is_let_go(update: dict[str, Any]) -> None:
    assert parse_update(update, BOT, NOW) == []


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=9),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=9), inner, max_size=3),
    max_leaves=6,
)
KEYS = st.sampled_from(
    [
        "message_id",
        "date",
        "chat",
        "from",
        "text",
        "entities",
        "caption",
        "photo",
        "document",
        "reply_to_message",
        "quote",
        "location",
        "contact",
        "sticker",
        "poll",
        "checklist",
        "venue",
        "rich_message",
        "external_reply",
        "forward_origin",
        "message_thread_id",
        "media_group_id",
        "migrate_to_chat_id",
        "id",
    ]
)


@given(
    st.dictionaries(KEYS, JSON),
    st.dictionaries(KEYS, JSON),
    st.sampled_from(["message", "callback_query", "message_reaction"]),
)
def test_nothing_that_arrives_raises(fields: dict[str, Any], chat: dict[str, Any], kind: str) -> None:
    update = {"update_id": 1, kind: {**message()["message"], "data": "x", "chat": {**DIRECT, **chat}, **fields}}
    assert len(parse_update(update, BOT, NOW)) <= 1

"""Sending: what goes out, and what becomes of what Telegram or the network does to it."""

import logging
from datetime import datetime, timedelta
from typing import Any

import pytest

from sophon.testing import VirtualClock
from sophon_channels.contract import (
    Button,
    ButtonPress,
    ChatLocation,
    OutboundMessage,
    Person,
    SendAmbiguous,
    SendChatMigrated,
    SendDeferred,
    SendPostponed,
    SendResult,
    SendSucceeded,
    SendUnauthorized,
    SendUndeliverable,
)
from sophon_channels.errors import PreviewInDoubt
from sophon_channels.quiet_hours import QuietHours
from sophon_channels.telegram.api.client import NO_VISIBLE_TEXT
from sophon_channels.telegram.channel import TelegramChannel
from tests.channels.telegram.bot_api import CUT, HANG, TOKEN, Answer, BotApi
from tests.channels.telegram.conftest import Open
from tests.channels.telegram.parts import entry

FORUM = "-1001234567890/7"


@pytest.fixture
async def channel(opened: Open) -> TelegramChannel:
    return await opened()


async def sent(
    channel: TelegramChannel, outgoing: OutboundMessage, chat: str = "111222333", **fields: Any
) -> SendResult:
    (payload,) = channel.render_payloads(outgoing)
    return await channel.send(entry(payload, chat, **fields))


async def test_an_answer_goes_out_as_html_without_previews(channel: TelegramChannel, api: BotApi) -> None:
    assert await sent(channel, OutboundMessage("**a** < b", reply_to_message_id="42")) == SendSucceeded("1000")
    assert api.of("sendMessage") == [
        {
            "chat_id": 111222333,
            "text": "<b>a</b> &lt; b",
            "parse_mode": "HTML",
            "link_preview_options": {"is_disabled": True},
            "reply_parameters": {"message_id": 42, "allow_sending_without_reply": True},
        }
    ]


async def test_a_question_has_its_buttons(channel: TelegramChannel, api: BotApi) -> None:
    await sent(
        channel,
        OutboundMessage("May I?", buttons=(Button("Yes", "ap:1:once"), Button("No", "ap:1:deny", is_dangerous=True))),
    )
    (fields,) = api.of("sendMessage")
    assert fields["reply_markup"]["inline_keyboard"] == [
        [
            {"text": "Yes", "callback_data": "ap:1:once"},
            {"text": "No", "callback_data": "ap:1:deny", "style": "danger"},
        ]
    ]


@pytest.mark.parametrize(("chat", "thread"), [(FORUM, 7), ("-1001234567890/1", None), ("-1001234567890", None)])
async def test_a_topic_is_named_but_never_the_general_one(
    channel: TelegramChannel, api: BotApi, chat: str, thread: int | None
) -> None:
    assert isinstance(await sent(channel, OutboundMessage("hi"), chat), SendSucceeded)
    assert api.of("sendMessage")[0].get("message_thread_id") == thread


async def test_a_doubtful_message_says_that_it_may_be_a_repeat(channel: TelegramChannel, api: BotApi) -> None:
    (payload, *_) = channel.render_payloads(OutboundMessage("a" * 9000))
    assert isinstance(await channel.send(entry(payload, doubtful=True)), SendSucceeded)
    assert api.of("sendMessage")[0]["text"].startswith("♻️ This may be a repeat:\naaa")


async def test_a_message_takes_the_place_of_another(channel: TelegramChannel, api: BotApi) -> None:
    await sent(channel, OutboundMessage("May I?", buttons=(Button("Yes", "ap:1:once"),)))
    assert await sent(channel, OutboundMessage("Approved by Ada", replaces_message_id="1000")) == SendSucceeded("1000")
    assert api.messages[111222333, 1000]["text"] == "Approved by Ada"
    assert "reply_markup" not in api.messages[111222333, 1000]


async def test_an_edit_that_changes_nothing_is_made(channel: TelegramChannel) -> None:
    await sent(channel, OutboundMessage("done"))
    assert await sent(channel, OutboundMessage("done", replaces_message_id="1000")) == SendSucceeded("1000")


async def test_an_edit_of_a_message_that_is_gone_becomes_a_new_message(channel: TelegramChannel, api: BotApi) -> None:
    assert await sent(
        channel, OutboundMessage("done", replaces_message_id="5", reply_to_message_id="42")
    ) == SendSucceeded("1000")
    assert api.of("sendMessage")[0]["reply_parameters"]["message_id"] == 42


async def test_html_that_telegram_cannot_read_is_sent_once_more_as_plain_text(
    channel: TelegramChannel, api: BotApi
) -> None:
    refusal = Answer.error(400, "Bad Request: can't parse entities: Unsupported start tag")
    api.script("sendMessage", refusal)
    assert await sent(channel, OutboundMessage("**a** < b")) == SendSucceeded("1000")
    assert [(call["text"], call.get("parse_mode")) for call in api.of("sendMessage")] == [
        ("<b>a</b> &lt; b", "HTML"),
        ("a < b", None),
    ]


async def test_text_that_is_refused_twice_is_not_sent_a_third_time(channel: TelegramChannel, api: BotApi) -> None:
    refusal = Answer.error(400, "Bad Request: can't parse entities")
    api.script("sendMessage", refusal, refusal)
    assert isinstance(await sent(channel, OutboundMessage("a")), SendUndeliverable)
    assert len(api.of("sendMessage")) == 2


@pytest.mark.parametrize(
    ("answer", "receipt"),
    [
        (
            Answer.error(429, "Too Many Requests: retry after 17", retry_after=17),
            SendDeferred("sendMessage: 429: Too Many Requests: retry after 17", timedelta(seconds=17)),
        ),
        (Answer.error(400, "Bad Request: upgraded", migrate_to_chat_id=-1009), SendChatMigrated("-1009/7")),
        (
            Answer.error(403, "Forbidden: bot was kicked"),
            SendUndeliverable("sendMessage: 403: Forbidden: bot was kicked", is_chat_gone=True),
        ),
        (
            Answer.error(500, "Internal Server Error"),
            SendDeferred("sendMessage: 500: Internal Server Error", timedelta(seconds=4)),
        ),
        (
            Answer(502, b"<html>Bad Gateway</html>"),
            SendAmbiguous("sendMessage: 502: the response with HTTP status 502 is not from the Bot API"),
        ),
        (
            Answer(503, b"<html>Service Unavailable</html>"),
            SendDeferred(
                "sendMessage: 503: the response with HTTP status 503 is not from the Bot API", timedelta(seconds=4)
            ),
        ),
        (
            Answer(407, b"<html>Proxy Authentication Required</html>"),
            SendDeferred(
                "sendMessage: the response with HTTP status 407 is not from the Bot API", timedelta(seconds=4)
            ),
        ),
        (
            Answer(200, b"<html>Please log in to this network"),
            SendAmbiguous("sendMessage: the response with HTTP status 200 is not from the Bot API"),
        ),
        (CUT, SendAmbiguous("sendMessage: the connection was lost (ServerDisconnectedError)")),
    ],
)
async def test_what_happens_to_a_send_is_told_to_the_ledger(
    channel: TelegramChannel, api: BotApi, answer: Answer, receipt: SendResult
) -> None:
    api.script("sendMessage", answer)
    assert await sent(channel, OutboundMessage("hi"), FORUM, refusals=2) == receipt


async def test_a_send_that_is_never_answered_is_doubtful(channel: TelegramChannel, api: BotApi) -> None:
    api.script("sendMessage", HANG)
    assert await sent(channel, OutboundMessage("hi")) == SendAmbiguous("sendMessage: no response within 30 s")


async def test_a_send_without_any_server_is_refused_and_not_doubtful(opened: Open, api: BotApi) -> None:
    await opened()
    channel = await opened(ApiBase="http://127.0.0.1:9")
    receipt = await sent(channel, OutboundMessage("hi"))
    assert receipt == SendDeferred("sendMessage: no connection (ClientConnectorError)", timedelta(seconds=1))


async def test_a_revoked_token_refuses_everything(channel: TelegramChannel, api: BotApi) -> None:
    api.script("sendMessage", Answer.error(401, "Unauthorized"))
    receipt = await sent(channel, OutboundMessage("hi"))
    assert isinstance(receipt, SendUnauthorized)
    assert channel.health.state == "refused"
    assert channel.health.is_credential_rejected


async def test_a_pause_of_the_whole_bot_is_shown_and_logged_until_it_is_over(
    channel: TelegramChannel, api: BotApi, clock: VirtualClock, caplog: pytest.LogCaptureFixture
) -> None:
    api.script("sendMessage", *[Answer.error(429, "Too Many Requests", retry_after=86_400)] * 3)
    for chat in ("1", "2", "3"):
        assert await sent(channel, OutboundMessage("a"), chat) == SendDeferred(
            "sendMessage: 429: Too Many Requests", timedelta(days=1)
        )
    assert "nothing is sent until" in channel.health.detail
    assert sum("nothing is sent until" in record.getMessage() for record in caplog.records) == 1
    await clock.advance(61)
    assert isinstance(await sent(channel, OutboundMessage("a"), "9"), SendSucceeded)
    assert channel.health.detail == ""


@pytest.mark.parametrize("demanded", [10**12, 2**62])
async def test_an_absurd_delay_is_a_refusal_for_a_day(channel: TelegramChannel, api: BotApi, demanded: int) -> None:
    api.script("sendMessage", Answer.error(429, "Too Many Requests", retry_after=demanded))
    result = await sent(channel, OutboundMessage("a"))
    assert isinstance(result, SendDeferred)
    assert result.retry_after == timedelta(days=1)


async def test_after_a_429_the_chat_is_left_alone_without_asking_again(channel: TelegramChannel, api: BotApi) -> None:
    api.script("sendMessage", Answer.error(429, "Too Many Requests", retry_after=17))
    await sent(channel, OutboundMessage("one"))
    assert isinstance(await sent(channel, OutboundMessage("two")), SendPostponed)
    assert await channel.update_preview(ChatLocation("111222333"), "50%", None, None) is None
    assert len(api.of("sendMessage")) == 1
    assert await sent(channel, OutboundMessage("elsewhere"), "5") == SendSucceeded("1000")


async def test_a_limit_is_answered_at_once_and_never_slept_out(channel: TelegramChannel, clock: VirtualClock) -> None:
    receipts = [await sent(channel, OutboundMessage("hi")) for _ in range(4)]
    assert receipts[3] == SendPostponed(timedelta(seconds=3))
    assert clock.slept == []


@pytest.mark.parametrize("payload", [{}, {"plain": ""}, {"plain": "x", "reply_to": "first"}])
async def test_a_payload_that_is_none_is_undeliverable(channel: TelegramChannel, payload: dict[str, Any]) -> None:
    if payload == {"plain": ""}:
        assert isinstance(await channel.send(entry({"plain": "x"}, "a chat")), SendUndeliverable)
    else:
        assert isinstance(await channel.send(entry(payload)), SendUndeliverable)


async def test_a_channel_that_does_not_run_sends_nothing_and_says_so(channel: TelegramChannel, api: BotApi) -> None:
    await channel.stop()
    assert isinstance(await sent(channel, OutboundMessage("hi")), SendPostponed)
    await channel.send_typing(ChatLocation("1"), "1")
    assert await channel.update_preview(ChatLocation("1"), "50%", "9", None) == "9"
    assert api.of("sendMessage") == []


async def test_progress_is_one_silent_message_that_changes(
    channel: TelegramChannel, api: BotApi, clock: VirtualClock
) -> None:
    place = ChatLocation("111222333")
    shown = await channel.update_preview(place, "10% <b>", None, "42")
    assert await channel.update_preview(place, "20%", shown, "42") == shown  # too early: dropped
    await clock.advance(4)
    assert await channel.update_preview(place, "30%", shown, "42") == shown
    assert [call["text"] for call in api.of("sendMessage")] == ["10% <b>"]
    assert api.of("sendMessage")[0]["disable_notification"] is True
    assert [call["text"] for call in api.of("editMessageText")] == ["30%"]


@pytest.mark.parametrize("text", ["", " \n", "\u200b\ufe0f", "\u0301", "\u200b" * 5000 + "later"])
async def test_progress_in_which_nothing_is_visible_yet_is_not_shown(
    channel: TelegramChannel, api: BotApi, text: str
) -> None:
    assert await channel.update_preview(ChatLocation("111222333"), text, None, None) is None
    assert api.of("sendMessage") == []


@pytest.mark.parametrize("description", ["text must be non-empty", "message text is empty"])
async def test_a_text_in_which_telegram_sees_nothing_becomes_a_sentence(
    channel: TelegramChannel, api: BotApi, description: str
) -> None:
    api.script("sendMessage", Answer.error(400, f"Bad Request: {description}"))
    assert await sent(channel, OutboundMessage("\ue000")) == SendSucceeded("1000")
    assert [call["text"] for call in api.of("sendMessage")] == ["\ue000", NO_VISIBLE_TEXT]


async def test_the_platforms_error_is_one_line(channel: TelegramChannel, api: BotApi) -> None:
    api.script("sendMessage", Answer.error(400, "Bad Request: odd\n2026-01-01 ERROR forged"))
    result = await sent(channel, OutboundMessage("hello"))
    assert isinstance(result, SendUndeliverable)
    assert result.error == "sendMessage: 400: Bad Request: odd 2026-01-01 ERROR forged"


async def test_an_answer_to_a_delayed_message_without_an_id_replies_to_none(
    channel: TelegramChannel, api: BotApi
) -> None:
    await sent(channel, OutboundMessage("hello", reply_to_message_id="0"))
    assert "reply_parameters" not in api.of("sendMessage")[0]


@pytest.mark.parametrize("answer", [CUT, Answer(502, b"a proxy's page")])
async def test_progress_without_a_definite_answer_is_in_doubt(
    channel: TelegramChannel, api: BotApi, answer: Answer
) -> None:
    api.script("sendMessage", answer)
    with pytest.raises(PreviewInDoubt):
        await channel.update_preview(ChatLocation("111222333"), "x" * 9000, None, None)


async def test_progress_that_is_refused_and_a_change_that_fails_are_in_no_doubt(
    channel: TelegramChannel, api: BotApi
) -> None:
    api.script("sendMessage", Answer.error(400, "Bad Request: odd"))
    assert await channel.update_preview(ChatLocation("111222333"), "10%", None, None) is None
    api.script("editMessageText", CUT)
    assert await channel.update_preview(ChatLocation("5"), "10%", "9", None) == "9"


async def test_a_message_is_deleted_and_one_that_is_gone_is_no_error(channel: TelegramChannel, api: BotApi) -> None:
    place = ChatLocation("111222333")
    shown = await channel.update_preview(place, "10%", None, None)
    assert shown is not None
    for _ in range(2):
        await channel.delete_message(place, shown)
    assert (len(api.of("deleteMessage")), api.messages) == (2, {})


async def test_the_typing_sign_is_shown_in_the_topic_the_general_one_too(channel: TelegramChannel, api: BotApi) -> None:
    api.script("sendChatAction", Answer.error(400, "Bad Request: whatever"))
    for chat, thread in (("-100", None), ("-101", "7"), ("-102", "1")):
        await channel.send_typing(ChatLocation(chat, "group", thread), "42")
    assert [call.get("message_thread_id") for call in api.of("sendChatAction")] == [None, 7, 1]


async def test_a_press_is_always_acknowledged_even_too_late(channel: TelegramChannel, api: BotApi) -> None:
    press = ButtonPress("press:1", Person("1"), ChatLocation("1"), "ap:1:once", "4382")
    api.script("answerCallbackQuery", Answer.error(400, "Bad Request: query is too old"))
    for note in ("", "Approved", "\U0001f44d" * 300):
        await channel.acknowledge_press(press, note)
    assert [len(call.get("text", "")) for call in api.of("answerCallbackQuery")] == [0, 8, 100]


async def test_the_token_is_in_no_log_line_and_no_error(
    channel: TelegramChannel, api: BotApi, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    answers = [CUT, Answer.error(400, f"Bad Request: /bot{TOKEN}/sendMessage"), Answer(200, TOKEN.encode())]
    receipts: list[SendResult] = []
    for number, answer in enumerate(answers):
        api.script("sendMessage", answer)
        receipts.append(await sent(channel, OutboundMessage("hi"), str(number + 1)))
        api.script("sendChatAction", answer)
        await channel.send_typing(ChatLocation(str(number + 11)), "1")
    # The access log is that of the server in this test.
    told = [record.getMessage() for record in caplog.records if record.name != "aiohttp.access"]
    assert any("sendChatAction" in line for line in told)
    assert TOKEN not in f"{told}{receipts}"


@pytest.mark.parametrize(
    ("window", "zone", "quiet"), [(["23:00", "07:00"], "UTC", True), (["09:00", "17:00"], "UTC", False)]
)
async def test_in_quiet_hours_nothing_makes_a_sound(
    opened: Open, api: BotApi, window: list[str], zone: str, quiet: bool, tmp_path: Any
) -> None:
    channel = await opened(QuietHours=window, QuietTimeZone=zone)  # it is 00:00 UTC
    path = tmp_path / "a.txt"
    path.write_text("x")
    await sent(channel, OutboundMessage("May pay run?", buttons=(Button("Approve", "ap:x"),)))
    await sent(channel, OutboundMessage("", file_path=str(path), file_name="a.txt", media_type="text/plain"))
    [text], [file] = api.of("sendMessage"), api.of("sendDocument")
    assert text.get("disable_notification", False) is quiet
    assert ("disable_notification" in file) is quiet


@pytest.mark.parametrize(
    ("window", "zone", "now", "covered"),
    [
        (["22:00", "07:00"], "UTC", "2026-07-01T22:00+00:00", True),
        (["22:00", "07:00"], "UTC", "2026-07-01T07:00+00:00", False),
        (["22:00", "07:00"], "Europe/Vienna", "2026-07-01T20:30+00:00", True),
        (["22:00", "07:00"], "Europe/Vienna", "2026-01-01T20:30+00:00", False),
        (["13:00", "14:00"], "UTC", "2026-07-01T13:59+00:00", True),
        (["13:00", "13:00"], "UTC", "2026-07-01T13:00+00:00", False),
    ],
)
def test_quiet_hours_are_those_of_their_time_zone(window: list[str], zone: str, now: str, covered: bool) -> None:
    quiet = QuietHours.parse(window, zone)
    assert quiet.covers(datetime.fromisoformat(now)) is covered
    assert (quiet.find_end(datetime.fromisoformat(now)) is not None) is covered


@pytest.mark.parametrize(
    ("window", "now", "end"),
    [
        (["22:00", "07:00"], "2026-11-23T23:00+01:00", "2026-11-24T07:00+01:00"),
        (["22:00", "07:00"], "2026-11-24T03:00+01:00", "2026-11-24T07:00+01:00"),
        (["13:00", "15:00"], "2026-11-24T14:00+01:00", "2026-11-24T15:00+01:00"),
        (["22:00", "02:30"], "2026-10-25T02:10+02:00", "2026-10-25T02:30+02:00"),
        (["22:00", "02:30"], "2026-10-25T02:10+01:00", "2026-10-25T02:30+01:00"),
        (["22:00", "02:30"], "2026-03-29T01:10+01:00", "2026-03-29T02:30+01:00"),
    ],
)
def test_quiet_hours_end_after_the_time_that_is_in_them(window: list[str], now: str, end: str) -> None:
    found = QuietHours.parse(window, "Europe/Vienna").find_end(datetime.fromisoformat(now))
    assert found == datetime.fromisoformat(end)

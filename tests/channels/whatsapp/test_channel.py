"""The channel before a Graph API that checks what it is sent."""

import asyncio
import logging
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from sophon.testing import VirtualClock
from sophon_channels.contract import (
    Button,
    ChannelAttachment,
    ChatLocation,
    HoldingChannel,
    OutboundMessage,
    SendAmbiguous,
    SendDeferred,
    SendPostponed,
    SendResult,
    SendSucceeded,
    SendUnauthorized,
    SendUndeliverable,
)
from sophon_channels.errors import ChannelError
from sophon_channels.outbound_entry import OutboundEntry
from sophon_channels.whatsapp.api.rate_limiter import PAIR_BURST, WhatsAppRateLimiter
from tests.channels.whatsapp.conftest import Nobody
from tests.channels.whatsapp.graph_api import NUMBER_ID, TOKEN, GraphApi


async def sent(channel: Any, text: str = "hello", to: str = "15550002222", **more: Any) -> SendResult:
    [payload] = channel.render_payloads(OutboundMessage(text, **more))
    entry = OutboundEntry("e", None, "whatsapp", NUMBER_ID, to, "note", payload, attempts=1)
    receipt: SendResult = await channel.send(entry)
    return receipt


async def test_a_message_is_sent_as_an_answer(channel: Any, graph: GraphApi) -> None:
    assert await sent(channel, reply_to_message_id="wamid.AAA1") == SendSucceeded("wamid.OUT1")
    assert graph.messages == [
        {
            "messaging_product": "whatsapp",
            "recipient_type": "individual",
            "to": "15550002222",
            "type": "text",
            "context": {"message_id": "wamid.AAA1"},
            "text": {"preview_url": False, "body": "hello"},
        }
    ]


async def test_who_hides_their_number_is_written_to_by_their_user_id(channel: Any, graph: GraphApi) -> None:
    await sent(channel, to="US.13490000000000001")
    assert graph.messages[0]["recipient"] == "US.13490000000000001"


async def test_a_question_has_reply_buttons(channel: Any, graph: GraphApi) -> None:
    await sent(channel, "May it?", is_markdown=False, buttons=(Button("Approve", "ap:1"), Button("Reject", "ap:2")))
    replies = [each["reply"] for each in graph.messages[0]["interactive"]["action"]["buttons"]]
    assert replies == [{"id": "ap:1", "title": "Approve"}, {"id": "ap:2", "title": "Reject"}]


async def test_a_question_of_many_choices_is_a_list_whose_rows_are_presses(channel: Any, graph: GraphApi) -> None:
    choices = tuple(
        Button(f"Choice {number} of all of these drinks", f"ap:7Q4K2M9X:{number}") for number in range(1, 10)
    )
    await sent(channel, "Which?", is_markdown=False, buttons=choices)
    interactive = graph.messages[0]["interactive"]
    assert (interactive["type"], interactive["body"]["text"]) == ("list", "Which?")
    [section] = interactive["action"]["sections"]
    assert [row["id"] for row in section["rows"]] == [choice.data for choice in choices]
    assert section["rows"][0]["description"] == "Choice 1 of all of these drinks"


async def test_what_may_be_a_repeat_says_so(channel: Any, graph: GraphApi) -> None:
    entry = OutboundEntry("e", None, "whatsapp", NUMBER_ID, "1", "note", {"text": "hello"}, doubtful=True)
    await channel.send(entry)
    assert graph.messages[0]["text"]["body"] == "♻️ This may be a repeat:\nhello"


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        ((400, 131047), SendUndeliverable),
        ((400, 131030), SendUndeliverable),
        ((400, 131026), SendUndeliverable),
        ((400, 132000), SendUndeliverable),
        ((429, 130429), SendDeferred),
        ((400, 131056), SendDeferred),
        ((401, 190), SendUnauthorized),
        ((500, 131016), SendDeferred),
        ((503, 2), SendDeferred),
        (GraphApi.CUT, SendAmbiguous),
    ],
)
async def test_each_refusal_is_what_it_means(
    channel: Any, graph: GraphApi, answer: Any, expected: type[SendResult]
) -> None:
    graph.answers.append(answer)
    receipt = await sent(channel)
    assert isinstance(receipt, expected)
    assert TOKEN not in str(receipt)


async def test_an_expired_token_is_told_in_the_health(channel: Any, graph: GraphApi) -> None:
    graph.answers.append((401, 190))
    receipt = await sent(channel)
    assert isinstance(receipt, SendUnauthorized)
    assert channel.health.state == "failing"
    assert channel.health.is_credential_rejected
    assert "24 hours" in channel.health.detail


async def test_no_answer_leaves_it_in_doubt(make: Any, graph: GraphApi) -> None:
    clock = VirtualClock()
    channel = make(clock=clock)
    await channel.start(Nobody())
    graph.answers.append(GraphApi.HANG)
    graph.asked.clear()
    assert isinstance(await sent(channel), SendAmbiguous)


async def test_nobody_there_is_no_doubt(make: Any, graph: GraphApi) -> None:
    channel = make()
    await channel.start(Nobody())
    await graph.server.close()
    receipt = await sent(channel)
    assert isinstance(receipt, SendDeferred)
    assert not receipt.is_account_wide


async def test_busy_marks_as_read_and_shows_that_an_answer_is_written(channel: Any, graph: GraphApi) -> None:
    await channel.send_typing(ChatLocation("15550002222"), "wamid.AAA1")
    assert graph.reads == ["wamid.AAA1"]
    graph.answers.append((500, 1))
    await channel.send_typing(ChatLocation("15550002222"), "wamid.AAA1")


async def test_a_turn_that_ends_at_once_does_not_cut_off_the_mark_that_its_message_was_read(
    channel: Any, graph: GraphApi
) -> None:
    showing = asyncio.create_task(channel.send_typing(ChatLocation("15550002222"), "wamid.AAA1"))
    await asyncio.sleep(0)
    showing.cancel()
    await asyncio.wait({showing})
    await channel.stop()
    assert graph.reads == ["wamid.AAA1"]


async def test_a_file_is_fetched_whole(channel: Any, graph: GraphApi, tmp_path: Any) -> None:
    graph.files["99"] = b"\x89PNG" * 1000
    assert (
        await channel.download_attachment(ChannelAttachment("99", "image"), str(tmp_path / "f"), max_bytes=10_000)
        == 4000
    )
    assert (tmp_path / "f").read_bytes() == graph.files["99"]


async def test_a_file_is_fetched_by_a_process_that_does_not_receive(
    channel: Any, graph: GraphApi, tmp_path: Any
) -> None:
    graph.files["99"] = b"\x89PNG" * 1000
    await channel.stop()
    assert (
        await channel.download_attachment(ChannelAttachment("99", "image"), str(tmp_path / "f"), max_bytes=10_000)
        == 4000
    )


@pytest.mark.parametrize(
    ("declared", "limit", "said"),
    [
        ({}, 100, "too large"),
        ({"file_size": 10}, 100, "too large"),
        ({"sha256": "bm90IGl0"}, 10_000, "damaged"),
    ],
)
async def test_a_file_that_is_too_large_or_damaged_is_not_kept(
    channel: Any, graph: GraphApi, tmp_path: Any, declared: dict[str, Any], limit: int, said: str
) -> None:
    graph.files["99"], graph.declared["99"] = b"x" * 4000, declared
    with pytest.raises(ChannelError, match=said):
        await channel.download_attachment(ChannelAttachment("99", "image"), str(tmp_path / "f"), max_bytes=limit)
    assert not (tmp_path / "f").exists()


@pytest.mark.parametrize(
    ("changes", "environment", "said"),
    [
        ({"phone_number_id": "+15550001111"}, {}, "not the phone number itself"),
        ({}, {"TOKEN": ""}, "no AccessToken"),
        ({}, {"SECRET": ""}, "no AppSecret"),
        ({}, {"WORD": ""}, "no VerifyToken"),
    ],
)
async def test_a_channel_that_is_set_up_wrongly_refuses_and_says_why(
    make: Any, changes: dict[str, Any], environment: dict[str, str], said: str
) -> None:
    channel = make(environment, **changes)
    with pytest.raises(ChannelError, match=said.replace("(", "\\(")):
        await channel.start(Nobody())
    assert channel.health.state == "refused"
    [finding] = await channel.run_self_test()
    assert not finding.ok
    assert said in finding.summary


async def test_doctor_names_the_number_and_the_usual_mistakes(make: Any, graph: GraphApi) -> None:
    assert "+1 555 000 1111 (Sophon)" in (await make().run_self_test())[0].summary
    graph.knows_number = False
    assert "Meta has no number with the id" in (await make().run_self_test())[0].summary
    assert "access token" in (await make({"TOKEN": "expired"}).run_self_test())[0].summary


async def test_no_token_in_any_line_of_the_log(make: Any, graph: GraphApi, caplog: Any) -> None:
    caplog.set_level(logging.DEBUG)
    channel = make({"TOKEN": TOKEN})
    graph.answers.extend([(500, 1), (401, 190), (400, 100)])
    await channel.start(Nobody())
    await sent(channel)
    await channel.send_typing(ChatLocation("1"), "m")
    assert TOKEN not in caplog.text


def test_the_gate_keeps_the_pace_of_a_pair_and_of_the_number() -> None:
    clock = VirtualClock(auto=False)
    gate = WhatsAppRateLimiter(clock)
    assert [gate.acquire_message("ada")[0] for _ in range(PAIR_BURST)] == [timedelta(0)] * PAIR_BURST
    assert gate.acquire_message("ada") == (timedelta(seconds=6), False)
    assert gate.acquire_message("bob") == (timedelta(0), False)
    clock.advance(6)
    assert gate.acquire_message("ada")[0] == timedelta(0)
    waits = [gate.acquire_message(f"person {number}") for number in range(200)]
    assert sum(wait == timedelta(0) for wait, _ in waits) <= 80
    assert waits[-1][1]


async def test_stop_may_be_called_at_any_time(make: Any) -> None:
    channel = make()
    await channel.stop()
    await channel.start(Nobody())
    await channel.stop()
    await channel.stop()
    assert isinstance(await sent(channel), SendPostponed)
    assert asyncio.get_running_loop().is_running()


async def test_typing_is_shown_again_when_it_has_ended_and_not_before(make: Any, graph: GraphApi) -> None:
    clock = VirtualClock(auto=False)
    channel = make(clock=clock)
    await channel.start(Nobody())
    for _ in range(5):
        await channel.send_typing(ChatLocation("15550002222"), "wamid.AAA1")
        clock.advance(4)
    await channel.send_typing(ChatLocation("15550002222"), "wamid.AAA1")
    assert graph.reads == ["wamid.AAA1", "wamid.AAA1"]


async def test_quiet_hours_are_those_of_the_settings(make: Any) -> None:
    night, noon = datetime(2026, 11, 23, 22, 30, tzinfo=UTC), datetime(2026, 11, 23, 12, tzinfo=UTC)
    quiet = make(quiet_hours=("22:00", "07:00"), quiet_time_zone="Europe/Vienna")
    assert isinstance(quiet, HoldingChannel)
    assert quiet.find_quiet_end(night) == datetime(2026, 11, 24, 6, tzinfo=UTC)
    assert quiet.find_quiet_end(noon) is None
    assert make().find_quiet_end(night) is None

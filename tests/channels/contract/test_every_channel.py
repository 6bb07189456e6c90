"""What every channel promises a host, whichever platform it is."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import orjson
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sophon.clock import SystemClock
from sophon.errors import IllegalTransition
from sophon.settings import Secret
from sophon.testing import SyntheticChannel
from sophon_channels.contract import (
    Button,
    ButtonPress,
    Channel,
    ChannelAttachment,
    ChatLocation,
    OutboundMessage,
    Person,
    SendDeferred,
    SendPostponed,
    SendSucceeded,
    SendUndeliverable,
)
from sophon_channels.errors import ChannelError
from sophon_channels.outbound_entry import OutboundEntry
from sophon_channels.telegram.channel import TelegramChannel
from sophon_channels.telegram.settings import TelegramSettings
from sophon_channels.whatsapp.channel import WhatsAppChannel
from sophon_channels.whatsapp.settings import WhatsAppSettings
from tests.channels.email.mail_server import BOT, PASSWORD, needs_dovecot, serve_mail
from tests.channels.telegram.bot_api import TOKEN as BOT_TOKEN
from tests.channels.telegram.bot_api import BotApi
from tests.channels.whatsapp.graph_api import NUMBER_ID, SECRET, TOKEN, WORD, GraphApi

ENVIRONMENT = {"BOT": BOT_TOKEN, "TOKEN": TOKEN, "SECRET": SECRET, "WORD": WORD}
pytestmark = pytest.mark.usefixtures("email_package")

NAMES = ["synthetic", "telegram", "whatsapp", "email"]
CHATS = {"email": ("ada@example.com", "bob@example.com")}
"""Two chats of a platform whose chats are not numbers."""
LONG = {"email": 30_000}
"""Words of a text of several messages, where it is not a thousand."""


class Nobody:
    async def receive(self, events: Any) -> None:
        return


def made(name: str, base: str | None = None) -> Channel:
    if name == "email":
        from sophon_email.channel import EmailChannel  # type: ignore[import-not-found]

        environment = {"EMAIL_ADDRESS": BOT, "EMAIL_PASSWORD": PASSWORD, "EMAIL_IMAP": "imap://127.0.0.1"}
        return EmailChannel({**environment, "EMAIL_SMTP": "smtp://127.0.0.1"})  # type: ignore[no-any-return]
    if name == "telegram":
        settings = TelegramSettings(enabled=True, token=Secret("BOT", "$env"), api_base=base)  # type: ignore[arg-type]
        return TelegramChannel(settings, ENVIRONMENT, SystemClock())
    if name == "whatsapp":
        return WhatsAppChannel(
            WhatsAppSettings(
                enabled=True,
                phone_number_id=NUMBER_ID,
                access_token=Secret("TOKEN", "$env"),
                app_secret=Secret("SECRET", "$env"),
                verify_token=Secret("WORD", "$env"),
                api_base=base,  # type: ignore[arg-type] # pydantic reads it
            ),
            ENVIRONMENT,
            SystemClock(),
        )
    return SyntheticChannel()


@pytest.fixture(params=[pytest.param(name, marks=needs_dovecot if name == "email" else ()) for name in NAMES])
async def channel(request: pytest.FixtureRequest) -> AsyncIterator[Channel]:
    """Each, started before a server of its platform."""
    if request.param == "telegram":
        async with BotApi().serving() as api:
            channel = made("telegram", api.base)
            await channel.start(Nobody())
            yield channel
            await channel.stop()
    elif request.param == "whatsapp":
        graph = GraphApi()
        await graph.server.start_server()
        channel = made("whatsapp", graph.url)
        await channel.start(Nobody())
        yield channel
        await channel.stop()
        await graph.server.close()
    elif request.param == "email":
        from sophon_email.channel import EmailChannel

        async with serve_mail() as server:
            channel = EmailChannel(server.environment)
            await channel.start(Nobody())
            yield channel
            await channel.stop()
    else:
        channel = made("synthetic")
        await channel.start(Nobody())
        yield channel


def entry(channel: Channel, payload: dict[str, Any], number: int = 0) -> OutboundEntry:
    chat = CHATS.get(channel.name, ("10", "11"))[number]
    return OutboundEntry("e", None, channel.name, channel.account, chat, "note", payload, attempts=1)


async def test_it_says_that_it_runs(channel: Channel) -> None:
    assert channel.health.state == "running"
    assert channel.name
    assert channel.account


async def test_what_it_makes_of_a_text_it_can_send(channel: Channel) -> None:
    for payload in channel.render_payloads(OutboundMessage("**hello** " * 900)):
        receipt = await channel.send(entry(channel, orjson.loads(orjson.dumps(payload))))
        assert isinstance(receipt, SendSucceeded | SendDeferred | SendPostponed)


async def test_a_question_is_sent_with_its_buttons_and_tells_its_id(channel: Channel) -> None:
    outgoing = OutboundMessage(
        "May it?", is_markdown=False, buttons=(Button("Approve", "ap:1"), Button("Reject", "ap:2", is_dangerous=True))
    )
    [payload] = channel.render_payloads(outgoing)
    receipt = await channel.send(entry(channel, payload))
    assert isinstance(receipt, SendSucceeded)
    assert receipt.message_id


async def test_the_small_signs_never_raise(channel: Channel) -> None:
    await channel.send_typing(ChatLocation("10"), "1")
    await channel.acknowledge_press(ButtonPress("p", Person("1"), ChatLocation("10"), "ap:1", "press"), "done")
    shown = await channel.update_preview(ChatLocation("10"), "so far", None, None)
    assert shown is None or isinstance(shown, str)


async def test_a_file_that_is_not_there_is_an_error_that_says_so(channel: Channel, tmp_path: Any) -> None:
    with pytest.raises(ChannelError):
        await channel.download_attachment(ChannelAttachment("gone", "image"), str(tmp_path / "file"), max_bytes=100)
    assert not (tmp_path / "file").exists()


async def test_a_file_is_sent_with_its_caption_and_one_that_is_gone_never_will_be(
    channel: Channel, tmp_path: Path
) -> None:
    path = tmp_path.resolve() / "report.txt"
    path.write_bytes(b"figures")
    payloads = channel.render_payloads(
        OutboundMessage("**a** " * LONG.get(channel.name, 1500), file_path=str(path), media_type="text/plain")
    )
    assert orjson.loads(orjson.dumps(payloads)) == payloads
    assert len(payloads) > 1
    assert [payload.get("file") for payload in payloads] == [str(path), *[None] * (len(payloads) - 1)]
    assert isinstance(await channel.send(entry(channel, payloads[0])), SendSucceeded)
    path.unlink()
    receipt = await channel.send(entry(channel, payloads[0], 1))
    assert isinstance(receipt, SendUndeliverable)
    assert "report.txt" in receipt.error


async def test_a_request_that_leaves_is_announced_once_and_one_that_is_not_allowed_does_not_leave(
    channel: Channel,
) -> None:
    [payload] = channel.render_payloads(OutboundMessage("hello"))
    announced: list[str] = []

    async def announce() -> None:
        announced.append("leaves")

    async def refuse() -> None:
        raise IllegalTransition("outbound entry", "e", "sending", "sending", ())

    with pytest.raises(IllegalTransition):
        await channel.send(entry(channel, payload), refuse)
    assert isinstance(await channel.send(entry(channel, payload), announce), SendSucceeded)
    assert announced == ["leaves"]


async def test_a_send_that_waits_for_a_limit_or_for_the_start_is_not_announced(channel: Channel) -> None:
    await channel.stop()
    announced: list[str] = []

    async def announce() -> None:
        announced.append("leaves")

    [payload] = channel.render_payloads(OutboundMessage("hello"))
    receipt = await channel.send(entry(channel, payload), announce)
    assert isinstance(receipt, SendPostponed)
    assert announced == []


async def test_its_self_test_finds_nothing_wrong(channel: Channel) -> None:
    findings = await channel.run_self_test()
    assert findings
    assert all(finding.summary for finding in findings)
    assert all(finding.ok for finding in findings)


async def test_after_its_end_it_sends_nothing_and_ends_again_without_harm(channel: Channel) -> None:
    await channel.stop()
    await channel.stop()
    assert channel.health.state == "stopped"


@pytest.mark.parametrize("name", NAMES)
@settings(suppress_health_check=[HealthCheck.too_slow])
@given(text=st.text(max_size=300), markdown=st.booleans())
def test_whatever_the_text_its_parts_are_plain_json_and_none_for_nothing(name: str, text: str, markdown: bool) -> None:
    found = made(name).render_payloads(OutboundMessage(text, is_markdown=markdown))
    assert orjson.loads(orjson.dumps(found)) == found
    if not text.strip():
        assert found == []


INVISIBLE = st.text(
    st.sampled_from(
        " \n\t\u00a0\u200b\u200d\u2060\ufeff\u00ad\u0301\u20dd\u2800\u115f\u3164\uffa0\ufe0f"
        "\U000e0041\U000e0100\u2065\x07"
    )
)


@pytest.mark.parametrize("name", NAMES)
@given(text=INVISIBLE, markdown=st.booleans())
def test_a_text_that_nobody_sees_is_no_message_and_no_caption(name: str, text: str, markdown: bool) -> None:
    channel = made(name)
    assert channel.render_payloads(OutboundMessage(text, is_markdown=markdown)) == []
    [file] = channel.render_payloads(OutboundMessage(text, is_markdown=markdown, file_path="/a/b.txt"))
    assert [file.get(key) for key in ("html", "plain", "text") if file.get(key)] == []


@pytest.mark.parametrize("name", NAMES)
def test_no_part_of_a_long_text_is_invisible(name: str) -> None:
    for part in made(name).render_payloads(OutboundMessage("a" + "\u200b" * 20_000 + "b")):
        assert set(str(part.get("plain") or part.get("text"))) & {"a", "b"}


@pytest.mark.parametrize("name", ["telegram", "whatsapp"])
@pytest.mark.parametrize("label", ["\u200b", "\u3164", "\ufe0f"])
def test_a_button_that_nobody_sees_is_refused(name: str, label: str) -> None:
    with pytest.raises(ValueError, match=r"label|title"):
        made(name).render_payloads(OutboundMessage("May it?", buttons=(Button(label, "ap:1"),)))


@pytest.mark.parametrize("name", NAMES)
def test_what_is_known_of_a_file_is_known_before_it_is_sent(name: str) -> None:
    channel = made(name)
    assert channel.find_file_problem("text/plain", 5) == ""
    assert "0 bytes; an empty file cannot be sent" in channel.find_file_problem("text/plain", 0)
    assert "the maximum here is" in channel.find_file_problem("text/plain", channel.max_file_bytes + 1)


HOSTILE_NAME = 'a"; x="\r\nX-Evil: 1\r\n\r\n../..\\b\u202e\u2028.txt'


async def test_a_hostile_name_and_type_forge_no_header(channel: Channel, tmp_path: Path) -> None:
    path = tmp_path.resolve() / "report.txt"
    path.write_bytes(b"figures")
    hostile = OutboundMessage(
        "a\r\nContent-Type: x/y", file_path=str(path), file_name=HOSTILE_NAME, media_type="text/plain\r\nX-Evil: 1"
    )
    [payload] = channel.render_payloads(hostile)
    assert payload["file_name"] == 'a"_ x="__X-Evil: 1____.._.._b__.txt'
    assert payload["media_type"] == "application/octet-stream"
    stored_before = {**payload, "file_name": HOSTILE_NAME, "media_type": "text/plain; a=b\r\nX-Evil: 1"}
    receipt = await channel.send(entry(channel, stored_before))
    assert isinstance(receipt, SendSucceeded)

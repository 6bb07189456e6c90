"""The channel of docs/own-channel.md: what it takes from a mail, and a whole host with it before real mail servers."""

import asyncio
from collections.abc import AsyncIterator, Callable
from email.message import EmailMessage
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sophon import ModelRequest, ModelResponse, Risk, Services, ToolCall, tool
from sophon.errors import StoreUnavailable
from sophon.testing import FunctionModel
from sophon_channels.contract import SendAmbiguous, SendDeferred, SendSucceeded, SendUnauthorized, SendUndeliverable
from sophon_channels.errors import ChannelError
from sophon_channels.outbound_entry import OutboundEntry
from sophon_hosting.host_server import HostServer, bind_address
from sophon_hosting.store.sql_host_store import SqlHostStore
from tests.channels.email.mail_server import ADA, SERVER, MailServer, needs_dovecot, write_mail

pytestmark = pytest.mark.usefixtures("email_package")


@tool(risk=Risk.HIGH)
async def pay(to: str) -> str:
    """Pay somebody."""
    return f"paid {to}"


async def answer(request: ModelRequest) -> str | ModelResponse:
    asked = [message.content for message in request.messages if message.role == "user"]
    if request.messages[-1].content.startswith("pay "):
        return ModelResponse("", [ToolCall("c", "pay", {"to": asked[-1][4:]})])
    return f"**{len(asked)}** so far; you said: {asked[-1]}"


@pytest.fixture
async def open_host(server: MailServer) -> AsyncIterator[Callable[..., Any]]:
    opened: list[HostServer] = []

    async def open_host(store: SqlHostStore | None = None) -> HostServer:
        settings = {"Planning": {"Mode": "Never"}, "AgentExecution": {"Titles": False}}
        services = Services(
            store=store or SqlHostStore("memory://"), models=FunctionModel(answer), tools=[pay], settings=settings
        )
        host = HostServer(services, server.environment)
        opened.append(host)
        await host.start(bind_address("127.0.0.1", 0))
        return host

    yield open_host
    for host in opened:
        await host.shutdown(0)


def plain(mail: EmailMessage) -> str:
    part = mail.get_body(("plain",))
    assert part is not None
    return "\n".join(str(part.get_content()).split("\r\n")).strip()


# In a whole host.


@needs_dovecot
async def test_each_thread_is_a_conversation(server: MailServer, open_host: Any) -> None:
    await open_host()
    first = write_mail("What is new?", "News")
    await server.deliver(first)
    [reply] = await server.until_sent(1)
    assert (reply["To"], reply["Subject"], plain(reply)) == (
        ADA,
        "Re: News",
        "**1** so far; you said: News\n\nWhat is new?",
    )
    html = reply.get_body(("html",))
    assert html is not None
    assert "<strong>1</strong>" in html.get_content()
    assert (reply["In-Reply-To"], reply["References"]) == (first["Message-ID"], first["Message-ID"])
    quoted = "And today?\n\nOn Monday, the bot wrote:\n> **1** so far\n"
    await server.deliver(write_mail(quoted, "Re: News", after=reply))
    assert plain((await server.until_sent(2))[1]) == "**2** so far; you said: And today?"
    await server.deliver(write_mail("Hello", "Another"))
    assert plain((await server.until_sent(3))[2]).startswith("**1** so far")


@needs_dovecot
async def test_a_call_is_approved_by_an_answer(server: MailServer, open_host: Any) -> None:
    await open_host()
    await server.deliver(write_mail("pay Bob", ""))
    [question] = await server.until_sent(1)
    command, *_ = [line for line in plain(question).splitlines() if "/approve " in line]
    command = command[command.index("/approve ") :].split("`")[0].split(" or ")[0].strip()
    await server.deliver(write_mail(command, "Re: ", after=question))
    mails = await server.until_sent(3)
    assert any("paid Bob" in plain(mail) or "Approved" in plain(mail) for mail in mails[1:])


@needs_dovecot
async def test_a_mail_that_comes_again_is_answered_once(server: MailServer, open_host: Any) -> None:
    await open_host()
    mail = write_mail("one")
    for _ in range(3):
        del mail["Authentication-Results"]
        await server.deliver(mail)
    await server.deliver(write_mail("two", "Last"))
    assert sorted(plain(each)[-3:] for each in await server.until_sent(2)) == ["one", "two"]
    assert await asyncio.to_thread(server.list_unseen) == []


@needs_dovecot
@pytest.mark.parametrize("sender", [ADA, "stranger@example.com"])
async def test_who_is_not_verified_or_not_allowed_gets_no_answer(
    server: MailServer, open_host: Any, sender: str
) -> None:
    await open_host()
    await server.deliver(write_mail("pay Eve", sender=sender), dmarc="fail" if sender == ADA else "pass")
    await server.deliver(write_mail("hello", "Mine"))
    [reply] = await server.until_sent(1)
    assert "Mine" in reply["Subject"]


class _Refusing:
    """An inbox that does not store what it is given, once."""

    def __init__(self) -> None:
        self.received: list[Any] = []
        self.again = asyncio.Event()

    async def receive(self, events: Any) -> None:
        self.received.append(list(events))
        if len(self.received) == 1:
            raise StoreUnavailable("store", "full", "the disk is full")
        self.again.set()


@needs_dovecot
async def test_what_was_not_stored_is_not_marked_as_read(
    server: MailServer, email_package: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    from sophon_email import channel as module

    monkeypatch.setattr(module, "RETRY_SECONDS", 0.0)
    await server.deliver(write_mail("hello"))
    inbox, channel = _Refusing(), module.EmailChannel(server.environment)
    await channel.start(inbox)
    async with asyncio.timeout(30):
        await inbox.again.wait()
    await channel.stop()
    assert [each[0].text for each in inbox.received[:2]] == ["A question\n\nhello"] * 2


@needs_dovecot
async def test_a_mail_that_is_announced_before_the_wait_begins_is_not_waited_for(
    server: MailServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    from sophon_email import channel as module

    loop, delivered = asyncio.get_running_loop(), list[str]()

    class LateBox(module.MailBoxUnencrypted):
        """Announces a mail at the end of a search that has found none."""

        def fetch(self, *args: Any, **kwargs: Any) -> Any:
            found = list(super().fetch(*args, **kwargs))
            if not delivered:
                delivered.append("once")
                asyncio.run_coroutine_threadsafe(server.deliver(write_mail("late")), loop).result()
                self.client.noop()
            return found

    monkeypatch.setattr(module, "MailBoxUnencrypted", LateBox)
    inbox, channel = _Refusing(), module.EmailChannel(server.environment)
    inbox.received.append([])  # so that it takes them
    await channel.start(inbox)
    async with asyncio.timeout(module.IDLE_SECONDS / 2):
        while not any(inbox.received):
            inbox.again.clear()
            await inbox.again.wait()
    assert [event.text for events in inbox.received for event in events] == ["A question\n\nlate"]
    await channel.stop()


@needs_dovecot
async def test_an_attachment_is_loaded_and_one_that_is_too_large_is_not(server: MailServer, tmp_path: Any) -> None:
    from sophon_email import channel as module

    mail = write_mail("see this")
    mail.add_attachment(b"figures", maintype="text", subtype="csv", filename="a.csv")
    await server.deliver(mail)
    inbox, channel = _Refusing(), module.EmailChannel(server.environment)
    inbox.received.append([])  # so that it takes them
    await channel.start(inbox)
    async with asyncio.timeout(30):
        await inbox.again.wait()
    [event] = inbox.received[1]
    [attachment] = event.attachments
    assert (attachment.name, attachment.kind, attachment.media_type) == ("a.csv", "document", "text/csv")
    assert await channel.download_attachment(attachment, str(tmp_path / "a"), max_bytes=100) == 7
    assert (tmp_path / "a").read_bytes() == b"figures"
    with pytest.raises(ChannelError, match="7 bytes"):
        await channel.download_attachment(attachment, str(tmp_path / "b"), max_bytes=6)
    await channel.stop()


@needs_dovecot
@pytest.mark.parametrize(
    ("chat", "refusal", "expected"),
    [
        (ADA, "", SendSucceeded),
        (ADA, "451 try later", SendDeferred),
        (ADA, "554 spam", SendUndeliverable),
        (ADA, "break off", SendAmbiguous),
        ("nobody@example.com", "", SendUndeliverable),
    ],
)
async def test_each_answer_of_the_server_has_its_result(
    server: MailServer, chat: str, refusal: str, expected: type
) -> None:
    from sophon_email import channel as module

    channel = module.EmailChannel(server.environment)
    inbox = _Refusing()
    inbox.received.append([])
    await channel.start(inbox)
    server.outbox.refusals += [refusal] if refusal else []
    [payload] = channel.render_payloads(module.OutboundMessage("hello"))
    result = await channel.send(OutboundEntry("e1", None, "email", channel.account, chat, "note", payload, attempts=1))
    assert isinstance(result, expected), result
    await channel.stop()


@needs_dovecot
async def test_a_wrong_password_is_told_and_nothing_is_tried_again(server: MailServer) -> None:
    from sophon_email import channel as module

    channel = module.EmailChannel({**server.environment, "EMAIL_PASSWORD": "wrong"})
    with pytest.raises(ChannelError, match=r"refused EMAIL_PASSWORD for bot@example\.org"):
        await channel.start(_Refusing())
    assert channel.health.is_credential_rejected
    working = module.EmailChannel(server.environment)
    inbox = _Refusing()
    inbox.received.append([])
    await working.start(inbox)
    working._password = "changed"
    [payload] = working.render_payloads(module.OutboundMessage("hello"))
    entry = OutboundEntry("e1", None, "email", working.account, ADA, "note", payload, attempts=1)
    assert isinstance(await working.send(entry), SendUnauthorized)
    await working.stop()


# Settings.


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"EMAIL_IMAP": ""}, "e-mail needs EMAIL_IMAP"),
        ({"EMAIL_IMAP": "imap://imap.example.org"}, "EMAIL_IMAP is a URL such as imaps://"),
        ({"EMAIL_SMTP": "mail.example.org"}, "EMAIL_SMTP is a URL such as smtps://"),
    ],
)
def test_a_wrong_setting_is_named(changes: dict[str, str], problem: str) -> None:
    from sophon_email import channel as module

    right = {"EMAIL_ADDRESS": "b@x.org", "EMAIL_PASSWORD": "p", "EMAIL_IMAP": "imaps://i", "EMAIL_SMTP": "smtps://s"}
    assert module.create_channel(Services(), right) is not None
    assert module.create_channel(Services(), {}) is None
    with pytest.raises(ChannelError, match=problem):
        module.create_channel(Services(), {**right, **changes})


# Parsing.


@pytest.mark.parametrize(
    ("header", "verified"),
    [
        ("mx.example.org; dmarc=pass header.from=example.com", True),
        ("MX.example.org 1; spf=fail; dkim=pass; dmarc=pass (p=none) header.from=example.com", True),
        ("mx.example.org; dmarc=fail header.from=example.com", False),
        ("mx.example.org; dmarc=pass header.from=evil.com", False),
        ("mx.evil.com; dmarc=pass header.from=example.com", False),
        ("mx.example.org; spf=pass (; dmarc=pass header.from=example.com)", False),
        ('mx.example.org; spf=pass smtp.mailfrom="; dmarc=pass header.from=example.com "@evil.com', False),
        ("mx.example.org; none", False),
        ("", False),
    ],
)
def test_only_the_receiving_server_verifies_a_sender(email_package: Any, header: str, verified: bool) -> None:
    assert email_package.is_verified({"authentication-results": (header,)}, SERVER, "example.com") is verified
    assert not email_package.is_verified({}, SERVER, "example.com")


def test_the_first_statement_of_the_receiving_server_counts(email_package: Any) -> None:
    # It writes above what was there before; one below was sent along.
    headers = (f"{SERVER}; dmarc=fail header.from=example.com", f"{SERVER}; dmarc=pass header.from=example.com")
    assert not email_package.is_verified({"authentication-results": headers}, SERVER, "example.com")


@pytest.mark.parametrize(
    ("text", "new"),
    [
        ("hello", "hello"),
        ("hello\n-- \nAda\nExample Ltd", "hello"),
        ("yes\n\nOn Monday, Bot wrote:\n> are you?\n>\n> yes\n", "yes"),
        ("yes\n\nOn Mon, 1 Jan 2026 at 10:00, Bot <b@example.org>\nwrote:\n\n> are you?", "yes"),
        ("> are you?\nyes", "> are you?\nyes"),
        ("as follows:", "as follows:"),
        ("> only this", ""),
        ("", ""),
    ],
)
def test_what_a_reply_quotes_is_left_out(email_package: Any, text: str, new: str) -> None:
    assert email_package.without_quotation(text) == new
    assert email_package.without_quotation(text.replace("\n", "\r\n")) == new


@pytest.mark.parametrize(
    ("name", "value"), [("Auto-Submitted", "auto-replied"), ("List-Id", "<x>"), ("Precedence", "bulk")]
)
def test_what_a_program_wrote_is_not_answered(email_package: Any, name: str, value: str) -> None:
    mail = write_mail("I am away")
    mail["Authentication-Results"] = f"{SERVER}; dmarc=pass header.from=example.com"
    assert email_package.parse_mail(made(mail.as_bytes()), SERVER) is not None
    mail[name] = value
    assert email_package.parse_mail(made(mail.as_bytes()), SERVER) is None


def test_two_senders_are_none(email_package: Any) -> None:
    mail = write_mail("hello")
    mail.replace_header("From", f"{ADA}, eve@evil.com")
    assert email_package.find_sender(made(mail.as_bytes())) == ""


def made(content: bytes) -> Any:
    from imap_tools import MailMessage

    return MailMessage([(b"1 (UID 7 FLAGS () BODY[] {1}", content), b")"])


HEADER = st.sampled_from(
    ["From", "Subject", "Date", "Message-ID", "References", "In-Reply-To", "Content-Type", "Authentication-Results"]
)
VALUE = st.one_of(
    st.text(max_size=40).map(lambda text: text.encode("utf-8", "surrogateescape")),
    st.binary(max_size=40),
    st.sampled_from(
        [
            b"Ada <ada@example.com>",
            b"<a@b>",
            b"=?utf-8?q?=C3?=",
            b"text/plain; charset=nonsense",
            b"multipart/mixed",
            f"{SERVER}; dmarc=pass header.from=example.com".encode(),
        ]
    ),
)


@given(headers=st.lists(st.tuples(HEADER, VALUE), max_size=8), body=st.binary(max_size=200))
def test_whatever_a_mail_contains_it_is_a_message_or_none(
    email_package: Any, headers: list[tuple[str, bytes]], body: bytes
) -> None:
    raw = b"".join(
        name.encode() + b": " + value.replace(b"\n", b" ").replace(b"\r", b" ") + b"\r\n" for name, value in headers
    )
    found = email_package.parse_mail(made(raw + b"\r\n" + body), SERVER)
    assert found is None or found.person.id.endswith("@example.com")


@given(st.text(st.characters(codec="ascii"), max_size=200))
def test_a_thread_can_be_read_back(email_package: Any, message_id: str) -> None:
    thread = email_package.encode_root(message_id)
    assert "/" not in thread
    assert email_package.decode_root(thread) == message_id

"""A mail server of a test's own: Dovecot for the mailbox, aiosmtpd for what is sent."""

import asyncio
import os
import pwd
import shutil
import signal
import socket
import subprocess
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from email import message_from_bytes, policy
from email.message import EmailMessage
from email.utils import make_msgid
from functools import cache
from imaplib import IMAP4
from pathlib import Path
from typing import Any

import pytest
from aiosmtpd.smtp import SMTP, AuthResult, Envelope, LoginPassword, Session

BOT, PASSWORD, SERVER = "bot@example.org", "secret", "mx.example.org"
ADA = "ada@example.com"

_SETTINGS = """
protocols = imap
listen = 127.0.0.1
base_dir = {folder}/run
state_dir = {folder}/state
log_path = {folder}/log
ssl = no
disable_plaintext_auth = no
first_valid_uid = 1
mail_location = maildir:{folder}/mail
{users}
passdb {{
  driver = passwd-file
  args = scheme=plain username_format=%u {folder}/users
}}
userdb {{
  driver = static
  args = uid={uid} gid={gid} home={folder}/mail
}}
service imap-login {{
  chroot =
  inet_listener imap {{
    port = {port}
  }}
  inet_listener imaps {{
    port = 0
  }}
}}
service anvil {{
  chroot =
}}
"""


@cache
def find_dovecot() -> str | None:
    """Return the path of dovecot; None if it is not installed."""
    return shutil.which("dovecot", path=os.environ.get("PATH", "") + ":/usr/sbin")


needs_dovecot = pytest.mark.skipif(
    find_dovecot() is None and "SOPHON_CI" not in os.environ, reason="needs dovecot (Debian: dovecot-imapd)"
)


class Outbox:
    """What was sent: the SMTP server takes it from the account alone, and refuses or breaks off when a test says so."""

    def __init__(self) -> None:
        self.mails: list[EmailMessage] = []
        self.problems: list[str] = []
        self.refusals: list[str] = []
        self.changed = asyncio.Event()

    async def handle_RCPT(self, _: Any, __: Session, envelope: Envelope, address: str, ___: list[str]) -> str:
        if address.startswith("nobody@"):
            return "550 no such user"
        envelope.rcpt_tos.append(address)
        return "250 OK"

    async def handle_DATA(self, server: Any, session: Session, envelope: Envelope) -> str:
        if self.refusals:
            refusal = self.refusals.pop(0)
            if refusal == "break off":
                server.transport.abort()
            return refusal
        assert isinstance(envelope.content, bytes)
        mail = message_from_bytes(envelope.content, policy=policy.default)
        assert isinstance(mail, EmailMessage)
        if envelope.mail_from != BOT or not session.authenticated:
            self.problems.append(f"sent by {envelope.mail_from}, authenticated: {session.authenticated}")
        if any(len(line) > 998 for line in envelope.content.split(b"\r\n")):
            self.problems.append("a line has more than 998 bytes")
        self.mails.append(mail)
        self.changed.set()
        return "250 OK"


class MailServer:
    """Both servers, and the way of a person's mail into the mailbox."""

    def __init__(self, imap_port: int, smtp_port: int, outbox: Outbox) -> None:
        self.imap_port, self.outbox = imap_port, outbox
        self.environment = {
            "EMAIL_ADDRESS": BOT,
            "EMAIL_PASSWORD": PASSWORD,
            "EMAIL_IMAP": f"imap://127.0.0.1:{imap_port}",
            "EMAIL_SMTP": f"smtp://127.0.0.1:{smtp_port}",
            "EMAIL_SERVER": SERVER,
            "EMAIL_ALLOW_FROM": ADA,
        }

    async def deliver(self, mail: EmailMessage, *, dmarc: str = "pass") -> None:
        """Deliver a mail to the account, with the verdict of the receiving server about its sender."""
        domain = str(mail["From"]).rpartition("@")[2].rstrip(">")
        mail["Authentication-Results"] = f"{SERVER}; spf=pass; dmarc={dmarc} (p=reject) header.from={domain}"
        await asyncio.to_thread(self._append, mail.as_bytes())

    async def until_sent(self, count: int) -> list[EmailMessage]:
        """Wait for that many mails from the account; return all of them."""
        async with asyncio.timeout(30):
            while len(self.outbox.mails) < count:
                self.outbox.changed.clear()
                await self.outbox.changed.wait()
        return self.outbox.mails

    def list_unseen(self) -> list[bytes]:
        """Return the mails that no reader has marked as read."""
        with IMAP4("127.0.0.1", self.imap_port) as box:
            box.login(BOT, PASSWORD)
            box.select()
            return box.search(None, "UNSEEN")[1][0].split()

    def _append(self, content: bytes) -> None:
        with IMAP4("127.0.0.1", self.imap_port) as box:
            box.login(BOT, PASSWORD)
            kind, answer = box.append("INBOX", "", "", content)
            assert kind == "OK", answer


def write_mail(
    text: str, subject: str = "A question", *, sender: str = ADA, after: EmailMessage | None = None
) -> EmailMessage:
    """Return a mail of a person; `after` is the mail that it answers, as a mail program refers to it."""
    mail = EmailMessage()
    mail["From"], mail["To"], mail["Subject"] = f"Ada <{sender}>", BOT, subject
    mail["Message-ID"], mail["Date"] = make_msgid(domain="example.com"), "Mon, 23 Nov 2026 10:00:00 +0000"
    if after is not None:
        mail["In-Reply-To"] = after["Message-ID"]
        mail["References"] = f"{after['References'] or ''} {after['Message-ID']}".strip()
    mail.set_content(text)
    return mail


@asynccontextmanager
async def serve_mail() -> AsyncIterator[MailServer]:
    """Serve an empty mailbox until the block ends."""
    outbox = Outbox()

    def authenticate(_: Any, __: Any, ___: Any, ____: str, data: object) -> AuthResult:
        fits = isinstance(data, LoginPassword) and (data.login, data.password) == (BOT.encode(), PASSWORD.encode())
        return AuthResult(success=fits, handled=False)

    loop = asyncio.get_running_loop()
    smtp = await loop.create_server(
        lambda: SMTP(outbox, hostname="mx.example.org", authenticator=authenticate, auth_require_tls=False),
        "127.0.0.1",
        0,
    )
    with socket.create_server(("127.0.0.1", 0)) as free:
        imap_port = free.getsockname()[1]
    folder = Path(tempfile.mkdtemp(prefix="sophon-mail-"))
    process = await asyncio.to_thread(_start_dovecot, folder, imap_port)
    try:
        yield MailServer(imap_port, smtp.sockets[0].getsockname()[1], outbox)
        assert outbox.problems == []
    finally:
        os.killpg(process.pid, signal.SIGTERM)
        await asyncio.to_thread(process.wait)
        smtp.close()
        await asyncio.to_thread(shutil.rmtree, folder, ignore_errors=True)


def _start_dovecot(folder: Path, port: int) -> "subprocess.Popen[bytes]":
    """Start Dovecot in a folder; mails belong to nobody if this is root, who may not own any."""
    program = find_dovecot()
    assert program is not None, "dovecot is required here"
    me = pwd.getpwuid(os.getuid())
    owner = me if me.pw_uid else pwd.getpwnam("nobody")
    folder.chmod(0o755)
    (folder / "mail").mkdir()
    if not me.pw_uid:
        shutil.chown(folder / "mail", owner.pw_uid, owner.pw_gid)
    (folder / "users").write_text(f"{BOT}:{{plain}}{PASSWORD}\n")
    users = "" if not me.pw_uid else f"default_internal_user = {me.pw_name}\ndefault_login_user = {me.pw_name}"
    settings = _SETTINGS.format(folder=folder, port=port, uid=owner.pw_uid, gid=owner.pw_gid, users=users)
    (folder / "dovecot.conf").write_text(settings)
    process = subprocess.Popen([program, "-F", "-c", str(folder / "dovecot.conf")], start_new_session=True)
    for _ in range(2000):
        try:
            with IMAP4("127.0.0.1", port) as box:
                box.login(BOT, PASSWORD)
            return process
        except (OSError, IMAP4.error):
            if process.poll() is not None:
                break
            try:
                process.wait(0.02)
            except subprocess.TimeoutExpired:
                continue
    raise AssertionError(f"dovecot did not start: {(folder / 'log').read_text()}")

"""The channel of docs/own-channel.md, before mail servers of the test's own."""

from collections.abc import AsyncIterator

import pytest

from tests.channels.email.mail_server import MailServer, serve_mail


@pytest.fixture
async def server() -> AsyncIterator[MailServer]:
    async with serve_mail() as server:
        yield server

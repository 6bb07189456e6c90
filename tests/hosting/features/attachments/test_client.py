"""Files that a program uploads by the client of a host."""

import asyncio
from typing import Any

import pytest

from sophon_hosting.features.attachments.operations import upload_attachment
from sophon_hosting.features.imports.operations import import_sessions
from sophon_hosting.operations.client import Client, HostError, HttpSend


def client_of(api: Any, user: str) -> Client:
    return Client(HttpSend(api.url, f"token-of-{user}"), user, is_operator=False)


async def test_the_bytes_and_the_fields_of_an_upload_arrive(api: Any) -> None:
    content = "Grüße\n".encode()
    done = await asyncio.to_thread(client_of(api, "ada").call, upload_attachment, name="a b.txt", file=content)
    shown = done["attachment"]
    assert (shown["name"], shown["media_type"], shown["size"]) == ("a b.txt", "text/plain", len(content))
    assert await api.host.services.store.attachments.read(shown["id"]) == content


async def test_a_refused_upload_is_the_error_of_the_host(api: Any) -> None:
    with pytest.raises(HostError, match="export") as refused:
        await asyncio.to_thread(client_of(api, "ada").call, import_sessions, file=b"none", dry_run=True)
    assert refused.value.code == "input"

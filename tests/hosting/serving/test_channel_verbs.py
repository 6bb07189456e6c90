"""The verbs of an operator of channels: undelivered messages, and the linked ids of people; with a host and without."""

import asyncio
import json
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from sophon.stores.contract import Store
from sophon_channels.outbound_entry import OutboundEntry
from sophon_hosting.channels.chat_state import LINK_KIND
from sophon_hosting.channels.identity_links import ALIAS_KIND, IdentityLink, link_to_json
from sophon_hosting.store.channel_state.channel_state_entry import ChannelStateEntry
from sophon_hosting.store.sql_host_store import SqlHostStore
from tests.channels.telegram.bot_api import TOKEN, BotApi
from tests.channels.telegram.conftest import api as api
from tests.databases import SQLITE
from tests.hosting.channels.test_platforms import ADA
from tests.programs import PATIENCE_SECONDS

NUMBER, USER_ID = "15550002222", "US.1"


async def in_store(here: Any, work: Callable[[Store], Awaitable[Any]]) -> Any:
    """Do something in the program's store, beside the host if one runs."""
    store = SqlHostStore(SQLITE, folder=here.folder)
    await store.open()
    try:
        return await work(store)
    finally:
        await store.close()


async def add_dead_letters(here: Any, *texts: str) -> list[str]:
    """Store messages to Ada on Telegram that were given up; return their ids."""

    async def add(store: Store) -> list[str]:
        account = TOKEN.partition(":")[0]
        ids = [f"lost {number}/{text}:0" for number, text in enumerate(texts)]
        for entry_id, text in zip(ids, texts, strict=True):
            entry = OutboundEntry(
                entry_id, None, "telegram", account, str(ADA["id"]), "message", {"text": text, "plain": text}
            )
            await store.outbox.add([entry])
            await store.outbox.mark_dead(entry_id, "403: \x1b[31mblocked", "chat_gone")
        return ids

    return await in_store(here, add)


def telegram(api: BotApi) -> dict[str, Any]:
    return {"Telegram": {"Enabled": True, "Token": {"$env": "BOT"}, "ApiBase": api.base, "AllowFrom": [str(ADA["id"])]}}


async def test_undelivered_messages_are_listed_and_sent_again_by_a_host(
    api: BotApi, program: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BOT", TOKEN)
    here = program(Channels=telegram(api))
    first, second, third = await add_dead_letters(here, "one", "two", "three")
    host = await asyncio.to_thread(here.serve)

    async def sophon(*arguments: str) -> tuple[int, str, str]:
        return await asyncio.to_thread(here.run, *arguments, "--url", host.url)

    _, out, _ = await sophon("queue", "dead", "--json")
    found = json.loads(out)
    assert [(each["kind"], each["id"], each["chat"]) for each in found] == [
        ("message", each, str(ADA["id"])) for each in (first, second, third)
    ]
    code, out, _ = await sophon("queue", "dead")
    assert (code, out.count(f"telegram {ADA['id']}"), "\x1b" in out) == (0, 3, False)
    assert "undelivered" in (await sophon("queue", "status"))[1]
    code, out, _ = await sophon("channels", "attach", "telegram")
    assert (code, "telegram waits for no start" in out) == (0, True), "it runs"
    code, _, errors = await sophon("channels", "attach", "telegam")
    assert (code, "'telegam'" in errors) == (1, True)
    assert await sophon("queue", "retry", second) == (0, "1 dead letter is queued again\n", "")
    async with asyncio.timeout(PATIENCE_SECONDS):
        assert (await api.called("sendMessage"))[0]["text"].endswith("two")
        assert await sophon("queue", "retry", "--all") == (0, "2 dead letters are queued again\n", "")
        texts = [each["text"] for each in await api.called("sendMessage", 3)]
    assert sorted(text.split()[-1] for text in texts) == ["one", "three", "two"]
    assert (await sophon("queue", "dead"))[1] == "There are no dead letters.\n"
    code, out, errors = await sophon("queue", "retry", second)
    assert (code, out, errors.count("\n")) == (1, "", 1)
    assert f"there is no dead letter {second!r}" in errors


async def test_without_a_host_undelivered_messages_stay_and_a_line_says_what_is_needed(program: Any) -> None:
    here = program(Hub={"Port": 1})
    [lost] = await add_dead_letters(here, "one")
    for arguments in (("queue", "dead"), ("queue", "retry", lost), ("queue", "retry", "--all")):
        code, out, errors = await asyncio.to_thread(here.run, *arguments)
        assert (code, out, errors.count("\n")) == (1, "", 1)
        assert "needs a running host" in errors
    assert await in_store(here, lambda store: store.outbox.count_dead()) == 1
    code, out, errors = await asyncio.to_thread(here.run, "channels", "attach", "telegram")
    assert (code, out) == (1, "")
    assert "needs a running host" in errors


async def link(store: Store) -> None:
    ids = IdentityLink(NUMBER, USER_ID, NUMBER, (NUMBER, USER_ID), NUMBER)
    notes = [("whatsapp", LINK_KIND, NUMBER, link_to_json(ids))]
    notes += [("whatsapp", ALIAS_KIND, each, {"person": NUMBER}) for each in (NUMBER, USER_ID)]
    await store.channel_state.put_many(
        [ChannelStateEntry(channel, "1", kind, key, value) for channel, kind, key, value in notes]
    )


@pytest.mark.parametrize("beside_a_host", [True, False])
async def test_linked_ids_are_listed_and_unlinked(program: Any, beside_a_host: bool) -> None:
    here = program(Hub={"Port": 1})
    if beside_a_host:
        await asyncio.to_thread(here.serve)
    await in_store(here, link)

    async def sophon(*arguments: str) -> tuple[int, str, str]:
        return await asyncio.to_thread(here.run, "pairing", *arguments)

    assert (await sophon("list"))[1] == f"linked   whatsapp:{NUMBER}, number {NUMBER}, user id {USER_ID}\n"
    [row] = json.loads((await sophon("list", "--json"))[1])
    assert (row["status"], row["number"], row["user_id"]) == ("linked", NUMBER, USER_ID)
    told = f"whatsapp:{NUMBER} belongs to whoever writes with it next\n"
    assert await sophon("unlink", NUMBER) == (0, told, "")
    [row] = json.loads((await sophon("list", "--json"))[1])
    assert (row["number"], row["user_id"]) == (None, USER_ID)
    code, out, errors = await sophon("unlink", "US.404")
    assert (code, out, errors) == (1, "", "error: there is no linked number or user id 'US.404'\n")

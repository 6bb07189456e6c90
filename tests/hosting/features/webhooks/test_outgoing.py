"""Outgoing webhooks of a served host: durable events arrive, signed, at least once and in order."""

import asyncio
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from sophon import Services
from sophon.errors import InputError, SettingsError
from sophon_hosting.features.webhooks.feature import WEBHOOKS
from sophon_hosting.features.webhooks.outgoing import remove_content
from sophon_hosting.host import RunRequest
from sophon_hosting.host_server import HostServer, bind_address
from sophon_hosting.store.sql_host_store import SqlHostStore
from tests.hosting.features.webhooks.receiver import PATIENCE_SECONDS, SECRET, Receiver


def make_site(url: str, folder: Path | None = None, **fields: Any) -> HostServer:
    webhook = {"Id": "monitor", "Url": url, "Secret": SECRET, **fields}
    store = SqlHostStore(f"sqlite:///{folder}/sophon.db" if folder else "memory://")
    return HostServer(Services(settings={"Webhooks": {"Outgoing": [webhook]}}, store=store), {})


@asynccontextmanager
async def serve(url: str, folder: Path | None = None, **fields: Any) -> AsyncGenerator[HostServer]:
    site = make_site(url, folder, **fields)
    address = bind_address("127.0.0.1", 0)
    with address.socket:
        await site.start(address)
        try:
            yield site
        finally:
            await site.shutdown(1)


async def ask(site: HostServer, text: str = "what is 6 * 7?") -> str:
    return (await site.host.accept(RunRequest(text, session_id="s", owner="local", session_owner="local"))).task_id


async def until_dead(site: HostServer, number: int) -> list[str]:
    outbox = site.services.store.outbox
    async with asyncio.timeout(PATIENCE_SECONDS):
        while await outbox.count_dead() < number:
            await site.services.clock.sleep(0.02)
    return [entry.last_error for entry in await outbox.list(channel="webhook", status="dead")]


async def test_a_site_that_fails_before_its_webhooks_start_shuts_down() -> None:
    site = make_site("http://127.0.0.1:9/")
    await site.shutdown(1)  # raised ValueError once, in place of the error of the start


async def test_an_answer_is_posted_with_its_text() -> None:
    async with Receiver() as receiver, serve(receiver.url, Content=True) as site:
        task_id = await ask(site)
        (body,) = await receiver.until(1)
        assert (body["event"], body["task_id"], body["session_id"]) == ("task_completed", task_id, "s")
        assert "42" in body["data"]["text"]
        assert body["id"] == receiver.ids[0]
        assert body["created_at"]


async def test_a_half_of_a_surrogate_pair_holds_up_no_event() -> None:
    async with Receiver() as receiver, serve(receiver.url, Events=["message"], Content=True) as site:
        await ask(site, "half \ud83d of it")
        (body, _) = await receiver.until(2)
        assert body["data"]["content"] == "half \ud83d of it"


async def test_unless_content_is_asked_for_only_ids_names_and_numbers_are_posted() -> None:
    async with Receiver() as receiver, serve(receiver.url, Events=["task_completed", "message"]) as site:
        await ask(site, "what is 6 * 7?")
        bodies = await receiver.until(3)  # both messages, and the end
        assert [each["event"] for each in bodies] == ["message", "message", "task_completed"]
        assert "42" not in str([each["data"].get(key) for each in bodies for key in ("text", "content")])
        assert not any("6 * 7" in str(each["data"]) or "= 42" in str(each["data"]) for each in bodies)
        assert bodies[-1]["data"]["finish_reason"] == "stop"
        assert bodies[-1]["data"]["usage"]


async def test_what_is_refused_for_now_is_sent_again_under_the_same_id() -> None:
    async with Receiver() as receiver, serve(receiver.url) as site:
        receiver.answers = [(503, {}), (500, {"Retry-After": "0"}), (302, {"Location": "/elsewhere"})]
        await ask(site)
        await receiver.until(4)
        assert len(set(receiver.ids)) == 1


async def test_later_events_wait_for_earlier_ones() -> None:
    async with Receiver() as receiver, serve(receiver.url) as site:
        receiver.answers = [(503, {})]
        first, second = await ask(site), await ask(site)
        await receiver.until(3)
        assert [each["task_id"] for each in receiver.received] == [first, first, second]


async def test_an_event_that_is_refused_for_good_is_a_dead_letter_and_holds_up_nothing() -> None:
    async with Receiver() as receiver, serve(receiver.url) as site:
        receiver.answers = [(400, {})]
        first, second = await ask(site), await ask(site)
        await receiver.until(2)
        assert [each["task_id"] for each in receiver.received] == [first, second]
        assert "400" in (await until_dead(site, 1))[0]
        (dead,) = await site.services.store.outbox.list(channel="webhook", status="dead")
        await site.services.store.outbox.retry(dead.id)
        site.host.outbox_changes.notify()
        assert (await receiver.until(3))[-1]["task_id"] == first


async def test_what_was_stored_while_nobody_listened_arrives_after_a_restart(tmp_path: Path) -> None:
    async with Receiver() as receiver:
        async with serve("http://127.0.0.1:1/hook", tmp_path) as site:
            task_id = await ask(site)
            async with asyncio.timeout(PATIENCE_SECONDS):
                while not [each for each in await site.services.store.outbox.list(channel="webhook") if each.refusals]:
                    await site.services.clock.sleep(0.02)
        async with serve(receiver.url, tmp_path):
            (body,) = await receiver.until(1)
            assert body["task_id"] == task_id


async def test_an_approval_is_posted_while_it_is_open() -> None:
    async with Receiver() as receiver, serve(receiver.url, Events=["approval_requested"]) as site:
        await ask(site, "run the command `ls`")
        (body,) = await receiver.until(1)
        assert body["data"]["tool"] == "system.execute"


async def test_deleting_a_session_deletes_what_was_to_be_posted(tmp_path: Path) -> None:
    async with serve("http://127.0.0.1:1/hook", tmp_path) as site:
        task_id = await ask(site)
        async with asyncio.timeout(PATIENCE_SECONDS):
            while not await site.services.store.outbox.list(run_id=task_id):
                await site.services.clock.sleep(0.02)
        await site.host.delete_session("s")
        assert await site.services.store.outbox.list(channel="webhook") == []


async def test_operators_see_the_webhooks_and_send_a_test() -> None:
    async with Receiver() as receiver, serve(receiver.url) as site:
        webhooks = site.host.feature_services.find(WEBHOOKS)
        assert webhooks is not None
        await webhooks.send_test("monitor")
        (body,) = await receiver.until(1)
        assert body["event"] == "webhook_test"
        (row,) = await webhooks.describe()
        assert (row["direction"], row["dead"], SECRET in str(row)) == ("outgoing", 0, False)


@pytest.mark.parametrize(
    ("fields", "part"),
    [({"Events": ["stream_chunk"]}, "'stream_chunk' is no durable event"), ({"Secret": {"$env": "NO"}}, "its Secret")],
)
async def test_settings_that_cannot_be_used_are_said_at_start(fields: dict[str, Any], part: str) -> None:
    with pytest.raises((InputError, SettingsError), match=part):
        async with serve("http://127.0.0.1:1/hook", **fields):
            pass


@pytest.mark.parametrize(
    ("name", "data", "kept"),
    [
        (
            "task_completed",
            {"text": "a", "duration_ms": 5, "task_id": "t", "usage": {"input_tokens": 1}},
            ("duration_ms", "task_id", "usage"),
        ),
        ("task_failed", {"error": {"code": "x", "message": "secret"}, "text": "secret"}, ("error",)),
        ("tool_call_started", {"arguments": {"a": "secret"}, "tool": "t"}, ("tool",)),
        ("plan_proposed", {"plan": {"id": "p", "goal": "secret", "steps": [{"description": "secret"}]}}, ("plan",)),
        ("message", {"new_field": "words", "another": ["words"], "deep": {"a": "words"}}, ()),
        ("unheard_of", {"task_id": "t", "tool": "words"}, ("task_id",)),
    ],
)
def test_a_field_that_is_not_declared_as_plain_is_content(
    name: str, data: Mapping[str, Any], kept: tuple[str, ...]
) -> None:
    left = remove_content(name, data)
    assert sorted(left) == sorted(kept)
    assert "secret" not in str(left)

"""A whole host with Telegram and with WhatsApp, before servers of these platforms that check what they are sent."""

import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from sophon import ModelRequest, ModelResponse, Risk, Services, ToolCall, tool
from sophon.errors import SettingsError
from sophon.stores.contract import Store
from sophon.testing import FunctionModel
from sophon_channels.whatsapp.webhook import sign_body
from sophon_hosting.host_server import HostServer, bind_address
from sophon_hosting.store.sql_host_store import SqlHostStore
from tests.channels.telegram.bot_api import TOKEN as BOT_TOKEN
from tests.channels.telegram.bot_api import BotApi
from tests.channels.whatsapp.conftest import graph as graph
from tests.channels.whatsapp.graph_api import NUMBER_ID, SECRET, TOKEN, WORD, GraphApi
from tests.channels.whatsapp.test_parsing import body, message
from tests.databases import SQLITE, copy_database
from tests.refusing_writes import allow_writes, refuse_writes

ENVIRONMENT = {"BOT": BOT_TOKEN, "HOOK": "hook-secret", "TOKEN": TOKEN, "SECRET": SECRET, "WORD": WORD}
SOON = 4102444800
"""In the year 2100: a message from then is never late."""

ADA = {"id": 111222333, "is_bot": False, "first_name": "Ada"}


@tool(risk=Risk.HIGH)
async def pay(to: str) -> str:
    """Pay somebody."""
    return f"paid {to}"


async def answer(request: ModelRequest) -> str | ModelResponse:
    last = request.messages[-1]
    if last.content.startswith("pay "):
        return ModelResponse("", [ToolCall("c", "pay", {"to": last.content[4:]})])
    return f"You said: **{last.content}**"


def services(store: Store | None = None, **channels: Any) -> Services:
    return Services(
        store=store or SqlHostStore("memory://"),
        models=FunctionModel(answer),
        tools=[pay],
        settings={"Planning": {"Mode": "Never"}, "AgentExecution": {"Titles": False}, "Channels": channels},
    )


@pytest.fixture
async def open_site(api: BotApi, graph: GraphApi) -> AsyncIterator[Any]:
    """Hosts, which end before the servers of the platforms do."""
    opened: list[HostServer] = []

    async def open_site(store: Store | None = None, **channels: Any) -> str:
        site = HostServer(services(store, **channels), ENVIRONMENT)
        opened.append(site)
        address = bind_address("127.0.0.1", 0)
        await site.start(address)
        return address.url

    yield open_site
    for site in opened:
        await site.shutdown(0)


def update(number: int, text: str) -> dict[str, Any]:
    chat = {"id": ADA["id"], "type": "private", "first_name": "Ada"}
    return {
        "update_id": number,
        "message": {"message_id": number, "date": SOON, "chat": chat, "from": ADA, "text": text},
    }


async def test_somebody_talks_on_telegram_and_approves_with_a_button(api: BotApi, open_site: Any) -> None:
    telegram = {"Enabled": True, "Token": {"$env": "BOT"}, "ApiBase": api.base, "AllowFrom": [str(ADA["id"])]}
    await open_site(Telegram=telegram)
    await api.deliver(update(1, "hello"))
    [first] = await api.called("sendMessage")
    assert first["text"] == "You said: <b>hello</b>"
    await api.deliver(update(2, "pay Bob"))
    question = (await api.called("sendMessage", 2))[-1]
    keyboard = question["reply_markup"]
    keyboard = json.loads(keyboard) if isinstance(keyboard, str) else keyboard
    data = keyboard["inline_keyboard"][0][0]["callback_data"]
    pressed = {"id": "7", "from": ADA, "chat_instance": "x", "data": data}
    prompt = {"message_id": 2, "date": 1, "chat": {"id": ADA["id"], "type": "private"}}
    await api.deliver({"update_id": 3, "callback_query": {**pressed, "message": prompt}})
    [told] = await api.called("answerCallbackQuery")
    assert "Approved by Ada" in told["text"]
    edits = await api.called("editMessageText")
    assert any("Approved by Ada" in each["text"] for each in edits)
    assert "paid Bob" in (await api.called("sendMessage", 3))[-1]["text"]


def pressed_on_telegram(number: int, data: str) -> dict[str, Any]:
    """The update of a button press."""
    prompt = {"message_id": 2, "date": 1, "chat": {"id": ADA["id"], "type": "private"}}
    query = {"id": str(number), "from": ADA, "chat_instance": "x", "data": data, "message": prompt}
    return {"update_id": number, "callback_query": query}


def telegram_buttons(sent: dict[str, Any]) -> list[str]:
    return [button["callback_data"] for row in sent["reply_markup"]["inline_keyboard"] for button in row]


async def test_a_reaction_acknowledges_a_message_on_telegram(api: BotApi, open_site: Any) -> None:
    await open_site(Telegram={**telegram(api), "AckReaction": "👀"})
    await api.deliver(update(2, "hello"))
    await api.called("sendMessage", 1)
    await api.deliver(update(3, "/help"))
    await api.called("sendMessage", 2)
    [reaction] = await api.called("setMessageReaction")
    assert (reaction["chat_id"], reaction["message_id"]) == (ADA["id"], 2)
    assert reaction["reaction"] == [{"type": "emoji", "emoji": "👀"}]


async def test_a_reaction_that_telegram_has_not_is_a_mistake_in_the_settings(api: BotApi, open_site: Any) -> None:
    with pytest.raises(SettingsError, match="AckReaction of the channel telegram: Telegram allows one of"):
        await open_site(Telegram={**telegram(api), "AckReaction": "🦖"})


async def test_a_reaction_acknowledges_a_message_on_whatsapp_once(graph: GraphApi, open_site: Any) -> None:
    url = await open_site(WhatsApp={**whatsapp(graph), "AckReaction": "👀"})
    async with httpx.AsyncClient(base_url=url, trust_env=False, timeout=30) as client:
        await ready(client)
        said = message(id="wamid.W1", timestamp=str(SOON), text={"body": "hello"})
        for _ in range(2):
            assert await post(client, body(said)) == 200
        await graph.until(2)
    reactions = [each["reaction"] for each in graph.messages if each["type"] == "reaction"]
    assert reactions == [{"message_id": "wamid.W1", "emoji": "👀"}]


async def test_the_arguments_of_a_call_are_edited_on_telegram(api: BotApi, open_site: Any) -> None:
    await open_site(Telegram=telegram(api))
    await api.deliver(update(1, "pay Bob"))
    [question] = await api.called("sendMessage")
    _, _, allow, edit = telegram_buttons(question)
    assert (allow.split(":")[2], edit.split(":")[2]) == ("allow", "edit")
    await api.deliver(pressed_on_telegram(2, edit))
    asked = (await api.called("sendMessage", 2))[-1]
    assert asked["text"].startswith("Write the new value of to of pay; now:\n  to: Bob")
    await api.deliver(update(3, "Carol"))
    shown = (await api.called("sendMessage", 3))[-1]
    assert "  to: Carol</pre>" in shown["text"]
    await api.deliver(pressed_on_telegram(4, telegram_buttons(shown)[0]))
    assert "paid Carol" in (await api.called("sendMessage", 4))[-1]["text"]
    assert len(api.of("answerCallbackQuery")) == 2


async def test_telegram_greets_and_answers_what_it_cannot_read(api: BotApi, open_site: Any) -> None:
    telegram = {"Enabled": True, "Token": {"$env": "BOT"}, "ApiBase": api.base, "AllowFrom": [str(ADA["id"])]}
    await open_site(Telegram=telegram)
    await api.deliver(update(1, "/start deep_link"))
    [greeting] = await api.called("sendMessage")
    assert greeting["text"].startswith("This is Sophon")
    story = update(2, "")
    story["message"] = {key: value for key, value in story["message"].items() if key != "text"} | {"story": {"id": 1}}
    await api.deliver(story)
    assert (await api.called("sendMessage", 2))[-1]["text"] == "I cannot read stories yet; please write it as text."


async def test_whatsapp_answers_what_it_cannot_read_once(graph: GraphApi, open_site: Any) -> None:
    url = await open_site(WhatsApp=whatsapp(graph))
    async with httpx.AsyncClient(base_url=url, trust_env=False, timeout=30) as client:
        await ready(client)
        for number in range(2):
            unsupported = message("unsupported", id=f"wamid.U{number}", timestamp=str(SOON), errors=[{"code": 131051}])
            assert await post(client, body(unsupported)) == 200
        assert await post(client, body(message(id="wamid.B", timestamp=str(SOON), text={"body": "/help"}))) == 200
        await graph.until(2)
    notice, listed = [each["text"]["body"] for each in graph.messages]
    assert notice == "I cannot read this kind of message yet; please write it as text."
    assert "/start: " in listed


async def test_somebody_talks_on_whatsapp_and_approves_with_a_button(graph: GraphApi, open_site: Any) -> None:
    url = await open_site(WhatsApp=whatsapp(graph))
    async with httpx.AsyncClient(base_url=url, trust_env=False, timeout=30) as client:
        await ready(client)
        for _ in range(3):
            assert await post(client, body(message(timestamp=str(SOON), text={"body": "pay Bob"}))) == 200
        await graph.until(1)
        replies = graph.messages[0]["interactive"]["action"]["buttons"]
        pressed = {"type": "button_reply", "button_reply": replies[0]["reply"]}
        assert await post(client, body(message("interactive", id="wamid.AAA2", interactive=pressed))) == 200
        await graph.until(3)
    told = [each["text"]["body"] for each in graph.messages[1:]]
    assert any("Approved by Ada" in each for each in told)
    assert any("You said: *paid Bob*" in each for each in told)
    assert len(graph.messages) == 3


async def test_the_arguments_of_a_call_are_edited_on_whatsapp(graph: GraphApi, open_site: Any) -> None:
    url = await open_site(WhatsApp=whatsapp(graph))
    async with httpx.AsyncClient(base_url=url, trust_env=False, timeout=30) as client:
        await ready(client)

        async def write(number: int, text: str) -> None:
            said = message(id=f"wamid.W{number}", timestamp=str(SOON), text={"body": text})
            for _ in range(2):  # delivered twice, taken once
                assert await post(client, body(said)) == 200

        async def press(number: int, reply: dict[str, str]) -> None:
            pressed = {"type": "button_reply", "button_reply": reply}
            assert await post(client, body(message("interactive", id=f"wamid.P{number}", interactive=pressed))) == 200

        await write(1, "pay Bob")
        await graph.until(1)
        replies = [each["reply"] for each in graph.messages[0]["interactive"]["action"]["buttons"]]
        assert [each["title"] for each in replies] == ["Approve", "Reject", "Allow in this chat"]
        code = replies[0]["id"].split(":")[1]
        await write(2, f"/edit {code}")
        await graph.until(2)
        await write(3, "Carol")
        await graph.until(3)
        shown = graph.messages[2]["interactive"]
        assert "  to: Carol" in shown["body"]["text"]
        await press(1, shown["action"]["buttons"][0]["reply"])
        await graph.until(5)
    told = [each["text"]["body"] for each in graph.messages[3:]]
    assert any("Approved, with changes, by Ada" in each for each in told)
    assert any("paid Carol" in each for each in told)
    assert len(graph.messages) == 5


async def test_a_webhook_is_answered_while_the_queue_is_full_and_everything_else_waits(
    graph: GraphApi, open_site: Any
) -> None:
    url = await open_site(WhatsApp=whatsapp(graph))
    async with httpx.AsyncClient(base_url=url, trust_env=False, timeout=30) as client:
        await ready(client)
        many = [message(id=f"wamid.{number}", text={"body": f"number {number}"}) for number in range(150)]
        assert await post(client, body(*many)) == 200
        assert (await client.get("/healthz")).status_code == 200


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    copy_database(tmp_path)
    return tmp_path


@pytest.fixture
async def store(folder: Path) -> AsyncIterator[SqlHostStore]:
    """A store that a test makes unavailable; the host closes it."""
    store = SqlHostStore(SQLITE, folder=folder)
    await store.open()
    yield store
    allow_writes(store)


async def test_whatsapp_delivers_again_what_an_unavailable_store_did_not_take(
    graph: GraphApi, open_site: Any, store: SqlHostStore
) -> None:
    url = await open_site(store, WhatsApp=whatsapp(graph))
    async with httpx.AsyncClient(base_url=url, trust_env=False, timeout=30) as client:
        await ready(client)
        await refuse_writes(store)
        said = body(message(timestamp=str(SOON), text={"body": "hello"}))
        assert [await post(client, said) for _ in range(2)] == [503, 503]
        allow_writes(store)
        await store.health.wait_until_available()
        assert [await post(client, said) for _ in range(2)] == [200, 200]
        await graph.until(1)
    assert [run.text for run in await store.runs.list()] == ["hello"]


async def test_telegram_delivers_again_to_its_webhook_what_an_unavailable_store_did_not_take(
    api: BotApi, open_site: Any, store: SqlHostStore
) -> None:
    more = {"Mode": "Webhook", "WebhookSecret": {"$env": "HOOK"}}
    url = await open_site(store, Telegram={**telegram(api), **more})
    async with httpx.AsyncClient(base_url=url, trust_env=False, timeout=30) as client:
        await state(client, "telegram", "running")
        await refuse_writes(store)

        async def deliver() -> int:
            secret = {"X-Telegram-Bot-Api-Secret-Token": "hook-secret", "Host": "whatever.example"}
            return (await client.post("/webhooks/telegram", json=update(1, "hello"), headers=secret)).status_code

        assert [await deliver() for _ in range(2)] == [503, 503]
        allow_writes(store)
        await store.health.wait_until_available()
        assert [await deliver() for _ in range(2)] == [200, 200]
        await api.until_shown("You said: <b>hello</b>")
        assert len(api.of("sendMessage")) == 1
    assert [run.text for run in await store.runs.list()] == ["hello"]


async def test_polling_confirms_nothing_that_an_unavailable_store_did_not_take(
    api: BotApi, open_site: Any, store: SqlHostStore
) -> None:
    await open_site(store, Telegram=telegram(api))
    await api.called("getUpdates")
    await refuse_writes(store)
    await api.deliver(update(1, "hello"))
    while store.health.is_available:
        await store.health.wait_for_change()
    await api.called("getUpdates", len(api.of("getUpdates")) + 1)
    assert api.confirmed <= 1
    allow_writes(store)
    await api.until_shown("You said: <b>hello</b>")
    assert len(api.of("sendMessage")) == 1
    await api.until_confirmed(2)
    assert [run.text for run in await store.runs.list()] == ["hello"]


async def test_a_channel_that_refuses_is_told_and_the_rest_runs(open_site: Any, caplog: Any) -> None:
    telegram = {"Enabled": True, "Token": {"$env": "NOTHING"}, "AllowFrom": []}
    url = await open_site(Telegram=telegram)
    async with httpx.AsyncClient(base_url=url, trust_env=False, timeout=30) as client:
        channel = await state(client, "telegram", "refused")
        assert "NOTHING" in channel["detail"]
        assert (await client.get("/readyz")).status_code == 200
    [line] = [each.getMessage() for each in caplog.records if "the channel telegram cannot run" in each.getMessage()]
    assert "BotFather" in line


def telegram(api: BotApi) -> dict[str, Any]:
    return {"Enabled": True, "Token": {"$env": "BOT"}, "ApiBase": api.base, "AllowFrom": [str(ADA["id"])]}


def whatsapp(graph: GraphApi) -> dict[str, Any]:
    return {
        "Enabled": True,
        "PhoneNumberId": NUMBER_ID,
        "AccessToken": {"$env": "TOKEN"},
        "AppSecret": {"$env": "SECRET"},
        "VerifyToken": {"$env": "WORD"},
        "ApiBase": graph.url,
        "DirectPolicy": "Open",
    }


async def ready(client: httpx.AsyncClient) -> None:
    await state(client, "whatsapp", "running")


async def state(client: httpx.AsyncClient, name: str, wanted: str) -> dict[str, Any]:
    """Ask until a channel is in a state."""
    for _ in range(2000):
        [found] = [each for each in (await client.get("/api/channels")).json()["items"] if each["name"] == name]
        if found["state"] == wanted:
            return found
    raise AssertionError(found)


async def post(client: httpx.AsyncClient, payload: Any) -> int:
    content = json.dumps(payload).encode()
    headers = {"X-Hub-Signature-256": sign_body(content, SECRET), "Host": "whatever.example"}
    return (await client.post("/webhooks/whatsapp", content=content, headers=headers)).status_code

"""Overrides of chats before the servers of Telegram and WhatsApp: by settings, and by a command in a topic."""

from typing import Any

import httpx
import pytest

from sophon.errors import SettingsError
from sophon_hosting.host_server import HostServer
from tests.channels.telegram.bot_api import BotApi
from tests.channels.whatsapp.graph_api import GraphApi
from tests.channels.whatsapp.test_parsing import body, message
from tests.hosting.channels.test_platforms import (
    ADA,
    ENVIRONMENT,
    SOON,
    graph,
    open_site,
    ready,
    services,
    whatsapp,
)
from tests.hosting.channels.test_platforms import post as send

__all__ = ["graph", "open_site"]

FORUM = -1001234567890


def post(number: int, text: str, topic: int) -> dict[str, Any]:
    chat = {"id": FORUM, "type": "supergroup", "title": "Ops", "is_forum": True}
    place = {"message_thread_id": topic, "is_topic_message": True}
    return {
        "update_id": number,
        "message": {"message_id": number, "date": SOON, "chat": chat, "from": ADA, "text": text, **place},
    }


async def texts(api: BotApi, count: int) -> list[tuple[str, int]]:
    return [(each["text"], int(each["message_thread_id"])) for each in await api.called("sendMessage", count)]


async def test_a_topic_of_a_forum_has_what_its_forum_and_its_own_command_say(api: BotApi, open_site: Any) -> None:
    telegram = {
        "Enabled": True,
        "Token": {"$env": "BOT"},
        "ApiBase": api.base,
        "Approvers": [str(ADA["id"])],
        "GroupPolicy": "All",
        "Chats": {str(FORUM): {"Language": "de"}, f"{FORUM}/7": {"Language": "fr"}},
    }
    await open_site(Telegram=telegram)
    await api.deliver(post(1, "/language", 7))
    await api.deliver(post(2, "/language", 8))
    assert await texts(api, 2) == [("fr.", 7), ("de.", 8)]
    await api.deliver(post(3, "/language it", 8))
    await api.deliver(post(4, "/language", 7))
    await api.deliver(post(5, "/language", 8))
    assert (await texts(api, 5))[2:] == [("Answers are in it from now on.", 8), ("fr.", 7), ("it.", 8)]


async def test_a_number_on_whatsapp_has_what_the_settings_and_its_own_command_say(
    graph: GraphApi, open_site: Any
) -> None:
    chats = {"*": {"Language": "fr"}, "15550002222": {"Prompt": "Be brief."}}
    url = await open_site(WhatsApp={**whatsapp(graph), "Chats": chats})
    async with httpx.AsyncClient(base_url=url, trust_env=False, timeout=30) as client:
        await ready(client)
        for number, text in enumerate(("/prompt", "/language", "/language de", "/language")):
            said = body(message(id=f"wamid.{number}", timestamp=str(SOON), text={"body": text}))
            assert await send(client, said) == 200
            await graph.until(number + 1)
    answers = [each["text"]["body"] for each in graph.messages]
    assert answers == ["Be brief.", "fr.", "Answers are in de from now on.", "de."]


@pytest.mark.parametrize(
    ("chat", "problem"),
    [({"Model": "nobody/nothing"}, "there is no model 'nobody/nothing'"), ({"Agent": "poet"}, "there is no agent")],
)
def test_a_host_does_not_start_with_a_name_that_there_is_not(chat: dict[str, str], problem: str) -> None:
    telegram = {"Enabled": True, "Token": {"$env": "BOT"}, "Chats": {"*": chat}}
    with pytest.raises(SettingsError, match=problem):
        HostServer(services(Telegram=telegram), ENVIRONMENT)


@pytest.mark.parametrize(
    ("key", "settings"), [("/7", {}), ("-5/", {}), ("-5", {"Memory": "All"}), ("-5", {"Tols": []})]
)
def test_a_wrong_key_or_value_is_an_error_of_the_settings(key: str, settings: dict[str, Any]) -> None:
    with pytest.raises(SettingsError, match="Chats"):
        services(Telegram={"Chats": {key: settings}})

"""After 24 hours a template tells a person of an answer, which their next message brings."""

import asyncio
from typing import Any

import httpx
import pytest

from tests.channels.whatsapp.graph_api import GraphApi
from tests.channels.whatsapp.test_parsing import body, message
from tests.hosting.channels.test_platforms import SOON, graph, open_site, post, ready, whatsapp

__all__ = ["graph", "open_site"]

ADA = "15550002222"
TEMPLATE = {"Name": "answer_ready", "Language": "en_US", "HasParameter": True}


def said(text: str, name: str) -> dict[str, Any]:
    return body(message(id=f"wamid.{name}", timestamp=str(SOON), text={"body": text}))


async def until_refused(graph: GraphApi, count: int) -> None:
    async with asyncio.timeout(30):
        while len(graph.refused) < count:
            graph.news.clear()
            await graph.news.wait()


def bodies(graph: GraphApi) -> list[str]:
    return [each["text"]["body"] for each in graph.messages if each["type"] == "text"]


@pytest.mark.parametrize("later", [False, True])
async def test_an_answer_after_24_hours_is_told_by_a_template_and_comes_with_the_next_message(
    graph: GraphApi, open_site: Any, later: bool
) -> None:
    graph.templates["answer_ready", "en_US"] = 1
    url = await open_site(WhatsApp={**whatsapp(graph), "Template": TEMPLATE})
    async with httpx.AsyncClient(base_url=url, trust_env=False, timeout=30) as client:
        await ready(client)
        if not later:
            graph.closed.add(ADA)
        assert await post(client, said("hello", "W1")) == 200
        await graph.until(1)
        if later:  # Meta takes the message, and reports afterwards that it could not be delivered
            graph.closed.add(ADA)
            failed = {"id": "wamid.OUT1", "status": "failed", "errors": [{"code": 131047}], "recipient_id": ADA}
            assert await post(client, body(statuses=[failed])) == 200
            await graph.until(2)
        told = graph.messages[-1]
        [parameter] = told["template"]["components"][0]["parameters"]
        assert (told["to"], parameter["text"]) == (ADA, "You said: *hello*")
        graph.closed.discard(ADA)
        count = len(graph.messages)
        assert await post(client, said("back", "W2")) == 200
        await graph.until(count + 2)
    assert bodies(graph)[-2:] == ["You said: *hello*", "You said: *back*"]
    assert len([each for each in graph.messages if each["type"] == "template"]) == 1


async def test_without_the_setting_the_person_is_told_of_last_as_before(graph: GraphApi, open_site: Any) -> None:
    url = await open_site(WhatsApp=whatsapp(graph))
    async with httpx.AsyncClient(base_url=url, trust_env=False, timeout=30) as client:
        await ready(client)
        graph.closed.add(ADA)
        assert await post(client, said("hello", "W1")) == 200
        await until_refused(graph, 1)
        graph.closed.discard(ADA)
        assert await post(client, said("back", "W2")) == 200
        await graph.until(2)
    assert [each["type"] for each in graph.messages] == ["text", "text"]
    assert "/last sends it again" in bodies(graph)[0]

"""Redaction in a host: its own model calls read no secret of the settings, and what models write there is redacted."""

import asyncio
import json
from pathlib import Path

from sophon import ModelRequest, Services
from sophon.security import KNOWN_SECRETS
from sophon.testing import FunctionModel
from sophon_hosting.features.post_turn.runner import PostTurnRunner
from sophon_hosting.host import Host, RunRequest
from sophon_hosting.host_chain import build_pipelines
from sophon_hosting.store.sql_host_store import SqlHostStore

KEY = "correct-horse-battery"


async def test_titles_and_memories_of_a_host_hold_no_secret(tmp_path: Path) -> None:
    async def answer(request: ModelRequest) -> str:
        return {
            "title": "Title PASSWORD=hunter22",
            "memory": json.dumps([{"text": "Ada works with redis://ada:hunter22@db.", "category": "fact"}]),
        }.get(request.purpose, "hello")

    before = KNOWN_SECRETS.values
    KNOWN_SECRETS.add(KEY)
    model = FunctionModel(answer)
    services = Services(
        models=model,
        folder=tmp_path,
        settings={"Planning": {"Mode": "Never"}, "Memory": {"Learn": True}},
        store=SqlHostStore("memory://"),
    )
    host = Host(services, build_pipelines(services))
    jobs = PostTurnRunner(services, host.event_bus, host.pipelines)
    async with host:
        jobs.start()
        await host.accept(RunRequest(f"I am Ada, my key is {KEY}", "s", "ada"))
        async with asyncio.timeout(30):
            while not jobs.statistics().done:
                await asyncio.sleep(0)
        await jobs.stop()
    KNOWN_SECRETS.restore(before)

    assert {each.purpose for each in model.requests} == {"reply", "memory", "title"}
    assert not any(KEY in message.content for each in model.requests for message in each.messages)
    assert (await services.store.sessions.get("s")).title == "Title PASSWORD=[REDACTED]"
    kept = [each.text for each in await services.store.memories.list_all()]
    assert "Ada works with redis://ada:[REDACTED]@db." in kept
    assert not any("hunter22" in each for each in kept)

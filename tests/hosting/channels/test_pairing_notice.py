"""Who is let in by a command hears of it at once from the host that runs, not when it looks into its outbox next."""

import asyncio
import re
from pathlib import Path
from typing import Any

import httpx
import pytest

from sophon import Services
from sophon.clock import SystemClock
from sophon.testing import FunctionModel, VirtualClock
from sophon_hosting.channels.pairing import PAIRED_MESSAGE
from sophon_hosting.host_server import HostServer, bind_address
from sophon_hosting.store.sql_host_store import SqlHostStore
from tests.channels.telegram.bot_api import TOKEN, BotApi
from tests.hosting.channels.test_platforms import answer, update
from tests.programs import PATIENCE_SECONDS, program

__all__ = ["program"]


async def test_who_is_let_in_hears_of_it_before_any_time_passes_for_the_host(
    api: BotApi, program: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BOT", TOKEN)
    address = bind_address("127.0.0.1", 0)
    sections: dict[str, Any] = {
        "Hub": {"Port": int(address.url.rpartition(":")[2])},
        "Store": {"Url": "sqlite:///host.db"},
        "Channels": {"Telegram": {"Enabled": True, "Token": {"$env": "BOT"}, "ApiBase": api.base}},
    }
    here = program(**sections)
    clock = VirtualClock(auto=False, start=SystemClock().now())  # the command counts by the system's
    store = SqlHostStore("sqlite:///host.db", folder=tmp_path, clock=clock)
    services = Services(store=store, models=FunctionModel(answer), clock=clock, settings=sections, folder=tmp_path)
    host = HostServer(services, {"BOT": TOKEN})
    await host.start(address)
    try:
        async with asyncio.timeout(PATIENCE_SECONDS):
            await api.deliver(update(1, "hello"))
            [asked] = await api.called("sendMessage")
            code, *_ = re.findall(r"\b[0-9A-Z]{8}\b", asked["text"])
            exit_code, _, errors = await asyncio.to_thread(here.run, "pairing", "approve", code)
            assert (exit_code, errors) == (0, "")
            told = (await api.called("sendMessage", 2))[-1]
        assert told["text"] == PAIRED_MESSAGE
    finally:
        await host.shutdown(0)


async def test_only_an_operator_wakes_the_outbox(api: BotApi, program: Any) -> None:
    here = program(Hub={"Users": [{"Id": "ada", "Token": "ada-token-of-24-characters"}]})
    serving = await asyncio.to_thread(here.serve)
    async with httpx.AsyncClient(base_url=serving.url, trust_env=False) as client:
        refused = await client.post("/api/outbox/wake", headers={"Authorization": "Bearer ada-token-of-24-characters"})
    assert refused.status_code == 403

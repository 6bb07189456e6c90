"""What an operator does on the host page: resets a paused provider, and retries what was given up."""

import asyncio
from typing import Any

import pytest
from playwright.async_api import expect

from sophon_hosting.channels import connected_channel
from tests.channels.telegram.bot_api import TOKEN, Answer, BotApi
from tests.channels.telegram.conftest import api as api
from tests.hosting.channels.test_platforms import ADA, update
from tests.web.driving import turn, write
from tests.web.test_looks import findings

USERS = [
    {"Id": "olga", "Token": {"$env": "OLGA"}, "Operator": True},
    {"Id": "bob", "Token": {"$env": "BOB"}},
]
TOKENS = {"OLGA": "token-of-olga", "BOB": "token-of-bob"}


def telegram(api: BotApi) -> dict[str, Any]:
    return {"Enabled": True, "Token": {"$env": "BOT"}, "ApiBase": api.base, "AllowFrom": [str(ADA["id"])]}


def open_circuit(served: Any) -> Any:
    """Record as many failures of the provider as open its circuit; return the provider."""
    services = served.site.host.services
    provider = services.gateway.find_provider("brain")
    for _ in range(3):
        provider.breaker.record_failure(services.clock.monotonic())
    return provider


async def sign_in(page: Any, token: str) -> None:
    await page.get_by_label("Token").fill(token)
    await page.get_by_role("button", name="Sign in").click()


async def test_an_open_circuit_is_shown_until_when_and_reset_with_a_button(host: Any, look: Any) -> None:
    served = await host()
    provider = open_circuit(served)
    page = await look(f"{served.url}/#/host")
    row = page.locator("tr", has_text="the circuit breaker is open")
    await expect(row.locator(".light")).to_have_text("benched")
    await expect(row.get_by_text("called again at")).to_be_visible()
    await row.get_by_role("button", name="Reset brain").click()
    await expect(page.get_by_text("the circuit breaker is open")).to_have_count(0)
    await expect(page.get_by_role("button", name="Reset brain")).to_have_count(0)
    await expect(page.locator("tr", has_text="brain").locator(".light").first).to_have_text("active")
    assert provider.breaker.probe_at is None
    await page.goto(f"{served.url}/#/new")
    await write(page, "hello")
    await expect(turn(page).get_by_text("You said: hello")).to_be_visible()


async def lose_an_answer(api: BotApi) -> None:
    """Have Telegram reject an answer for good; return when the chat was told, as the second message."""
    api.script("sendMessage", Answer.error(400, "Bad Request: message text is wrong"))
    await api.deliver(update(1, "hello"))
    await api.called("sendMessage", 2)


async def test_others_neither_reset_nor_see_what_was_given_up(api: BotApi, host: Any, look: Any) -> None:
    served = await host(
        Hub={"Users": USERS}, Channels={"Telegram": telegram(api)}, environment={**TOKENS, "BOT": TOKEN}
    )
    open_circuit(served)
    await lose_an_answer(api)
    page = await look(f"{served.url}/#/host")
    await sign_in(page, "token-of-bob")
    await expect(page.locator("tr", has_text="brain").locator(".light").first).to_have_text("benched")
    await expect(page.get_by_role("button", name="Reset")).to_have_count(0)
    await expect(page.get_by_role("heading", name="Dead letters")).to_have_count(0)
    look.expected.add(401)


async def test_an_undelivered_message_is_listed_and_sent_with_a_button(api: BotApi, host: Any, look: Any) -> None:
    served = await host(Channels={"Telegram": telegram(api)}, environment={"BOT": TOKEN})
    await lose_an_answer(api)
    page = await look(f"{served.url}/#/host")
    row = page.get_by_role("table", name="Dead letters").locator("tr")
    await expect(row).to_have_count(1)
    await expect(row).to_contain_text(f"to telegram {ADA['id']}")
    await expect(row).to_contain_text("message text is wrong")
    await row.get_by_role("button", name="Retry").click()
    await expect(page.get_by_text("It is queued again.")).to_be_visible()
    await expect(page.get_by_role("heading", name="Dead letters")).to_have_count(0)
    assert (await api.called("sendMessage", 3))[-1]["text"] == "You said: hello"


async def test_a_detached_channel_is_attached_again_with_a_button(
    api: BotApi, host: Any, look: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connected_channel, "credential_delay", lambda rejections: 0.0 if rejections < 5 else 600.0)
    api.script("getMe", *[Answer.error(401, "Unauthorized")] * 5)
    served = await host(Channels={"Telegram": telegram(api)}, environment={"BOT": TOKEN})
    async with asyncio.timeout(30):
        while not served.site.host.list_detached_channels():
            await asyncio.sleep(0)
    page = await look(f"{served.url}/#/host")
    assert await findings(page) == []
    await page.get_by_role("button", name="Attach again").click()
    await api.called("getMe", 6)
    await api.deliver(update(1, "hello"))
    assert (await api.called("sendMessage"))[0]["text"] == "You said: hello"
    await page.reload()
    await expect(page.get_by_role("row", name="telegram").locator(".light")).to_have_text("running")
    await expect(page.get_by_role("button", name="Attach again")).to_have_count(0)


async def test_a_dead_letter_that_is_gone_meanwhile_is_told_and_no_longer_listed(
    api: BotApi, host: Any, look: Any
) -> None:
    served = await host(Channels={"Telegram": telegram(api)}, environment={"BOT": TOKEN})
    await lose_an_answer(api)
    page = await look(f"{served.url}/#/host")
    retry = page.get_by_role("button", name="Retry")
    await expect(retry).to_have_count(1)
    outbox = served.site.host.services.store.outbox
    [letter] = await outbox.list(status="dead")
    await outbox.retry(letter.id)
    await retry.click()
    await expect(page.get_by_role("alert")).to_contain_text("dead letter")
    await expect(retry).to_have_count(0)
    look.expected.add(404)

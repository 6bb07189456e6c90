"""What was said and decided on Telegram is on the page, too."""

from typing import Any

from playwright.async_api import expect

from tests.channels.telegram.bot_api import TOKEN, BotApi
from tests.channels.telegram.conftest import api as api
from tests.hosting.channels.test_platforms import ADA, update
from tests.web.driving import turn


async def test_the_page_shows_the_same_conversation_and_the_same_decision(api: BotApi, host: Any, look: Any) -> None:
    telegram = {"Enabled": True, "Token": {"$env": "BOT"}, "ApiBase": api.base, "AllowFrom": [str(ADA["id"])]}
    served = await host(Channels={"Telegram": telegram}, environment={"BOT": TOKEN})
    page = await look(served.url)
    await api.deliver(update(1, "pay Bob"))
    await api.called("sendMessage")
    await page.get_by_role("link", name="An approval is pending in another conversation").click()
    await page.get_by_role("main").get_by_role("link", name="pay Bob", exact=True).click()
    await expect(turn(page).get_by_text("pay Bob", exact=True)).to_be_visible()
    await expect(page.get_by_text("This conversation belongs to telegram:111222333.")).to_be_visible()
    await page.get_by_role("button", name="Approve").click()
    await expect(turn(page).get_by_text("pay was approved by local")).to_be_visible()
    edits = await api.called("editMessageText")
    assert any("Approved by local" in each["text"] for each in edits)
    await page.goto(f"{served.url}/#/host")
    await expect(page.locator("tr", has_text="telegram").locator(".light")).to_have_text("running")

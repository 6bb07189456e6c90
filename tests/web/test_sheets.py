"""The pages to look at: usage, the host."""

from playwright.async_api import expect

from sophon.settings import GuardsSettings
from tests.web.driving import turn, write


async def test_usage_is_shown_beside_its_limits_and_by_day(host, look) -> None:
    limits = {"Providers": {"brain": {"DailyTokens": 100_000, "MonthlyCost": 2.0}}}
    page = await look((await host(Budget=limits)).url)
    await write(page, "hello")
    await expect(turn(page).get_by_text("You said: hello")).to_be_visible()
    await expect(page.locator(".session-usage")).to_contain_text("tokens")
    await expect(turn(page).locator(".what-happened summary")).to_contain_text("brain/brain")
    await page.get_by_role("link", name="Usage").click()
    await expect(page.get_by_role("meter", name="Tokens today")).to_be_visible()
    await expect(page.get_by_text("of 100.0k tokens")).to_be_visible()
    await expect(page.get_by_text("of $2.00")).to_be_visible()
    await expect(page.locator(".chart li")).to_have_count(14)
    await expect(page.get_by_role("rowheader", name="brain/brain")).to_be_visible()


async def test_the_host_shows_its_models_its_chain_its_tools_and_its_policy(host, look) -> None:
    served = await host()
    page = await look(f"{served.url}/#/host")
    await expect(page.get_by_role("rowheader", name="brain")).to_be_visible()
    await expect(page.get_by_role("region", name="The chain as it runs")).to_have_text(
        served.site.host.chain.explain().strip()
    )
    row = page.locator(".tool-call", has_text="Pay somebody.")
    await expect(row.get_by_text("high risk")).to_be_visible()
    await page.get_by_role("link", name="Policy").click()
    await expect(page.locator(".guard")).to_have_count(len(GuardsSettings.model_fields))
    await expect(page.get_by_role("region", name="Tools").locator("tr", has_text="pay")).to_contain_text("a person is")
    await page.get_by_label("Arguments, as JSON").fill('{"path": "SOUL.md"}')
    await page.get_by_role("button", name="Try it").click()
    await expect(page.get_by_role("status", name="Verdict")).to_contain_text("blocked, tier 0 protected_read_only")
    await page.get_by_label("Arguments, as JSON").fill("[]")
    await page.get_by_role("button", name="Try it").click()
    await expect(page.get_by_role("alert")).to_contain_text("must be a JSON object")
    await page.locator(".guard", has_text="Protection").locator("summary").click()
    await expect(page.locator("tr", has_text="AGENTS.md").first).to_contain_text("a person is asked")


async def test_the_sidebar_shows_more_conversations_page_by_page(host, look) -> None:
    served = await host()
    page = await look(served.url)
    await write(page, "hello")
    await expect(turn(page).get_by_text("You said: hello")).to_be_visible()
    [own] = await served.site.host.services.store.sessions.list()
    for number in range(120):
        await served.site.host.services.store.sessions.get_or_create(f"s{number}", own.owner)
    await page.reload()
    await expect(page.locator(".session")).to_have_count(100)
    await page.get_by_role("button", name="Show more").click()
    await expect(page.locator(".session")).to_have_count(121)
    await expect(page.get_by_role("button", name="Show more")).to_have_count(0)


async def test_when_another_model_takes_over_the_turn_says_so(host, look) -> None:
    from sophon.errors import ModelTimeout
    from sophon.testing import FunctionModel
    from tests.web.driving import Brain

    async def broken(request: object) -> str:
        raise ModelTimeout("no answer")

    page = await look((await host(models=[FunctionModel(broken, name="first"), Brain()])).url)
    await write(page, "hello")
    await expect(turn(page).get_by_text("first/first failed").first).to_be_visible()
    await expect(turn(page).get_by_text("You said: hello")).to_be_visible()

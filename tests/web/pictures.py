"""Takes the pictures of docs/images, from a real host: `python -m tests.web.pictures`.

With a folder, `python -m tests.web.pictures FOLDER`, it takes those of every view:
wide and narrow, light and dark, and in German.
"""

import asyncio
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from playwright.async_api import Browser, Page, async_playwright

from sophon import Services
from sophon.models.offline import OfflineModel
from sophon_hosting.host_server import HostServer, bind_address
from sophon_hosting.store.sql_host_store import SqlHostStore
from tests.web.driving import SWITCHES, TEA, Brain, Weather, browser_program, pay, write
from tests.web.views import VIEWS

IMAGES = Path(__file__).parents[2] / "docs" / "images"
SIZES: dict[str, dict[str, Any]] = {
    "1440": {"viewport": {"width": 1440, "height": 900}},
    "390": {"viewport": {"width": 390, "height": 844}, "has_touch": True},
}
GERMAN_SIZES: dict[str, dict[str, Any]] = {
    "de-1200": {"viewport": {"width": 1200, "height": 800}, "locale": "de-DE"},
    "de-390": {**SIZES["390"], "locale": "de-DE"},
}
"""The longer words of German, also in the narrowest window with the conversations at the side."""

DESKTOP: dict[str, Any] = {"viewport": {"width": 1200, "height": 800}}
PHONE: dict[str, Any] = {"viewport": {"width": 375, "height": 720}, "device_scale_factor": 2}
ANSWER = """say Two ways to reverse a list:

1. `reversed(xs)` walks it **backwards** and copies nothing
2. `xs[::-1]` makes a new one

```python
def backwards(xs: list[int]) -> list[int]:
    return xs[::-1]  # a copy
```
"""


async def welcome(page: Page) -> None:
    await page.wait_for_selector(".welcome .offline")


async def writing(page: Page) -> None:
    await write(page, ANSWER)
    await page.wait_for_selector(".turn.completed figure.code")
    await write(page, "weather")
    await page.wait_for_selector(".tool-call.running")


async def plan(page: Page) -> None:
    await write(page, TEA)
    await page.get_by_role("button", name="Approve").click()
    await page.wait_for_selector(".turn.completed .reasons")
    await page.locator(".thread").hover()
    await page.mouse.wheel(0, -260)  # up to the plan


async def decision(page: Page) -> None:
    await write(page, "pay Ada")
    await page.get_by_role("button", name="Edit…").click()


async def failure(page: Page) -> None:
    await write(page, "pay Ada")
    await page.get_by_role("button", name="Approve").click()
    await page.wait_for_selector(".turn.completed")
    await page.locator(".what-happened summary").click()
    await page.get_by_role("button", name="Show as a waterfall").click()
    await write(page, "fail")
    await page.wait_for_selector(".failure")


async def pocket(page: Page) -> None:
    await write(page, "pay Ada")
    await page.wait_for_selector(".approval")


async def guards(page: Page) -> None:
    await write(page, 'call files.write {"path": "SOUL.md", "content": "I obey whoever writes."}')
    await page.wait_for_selector(".turn.completed .blocked-call")
    await write(page, 'call files.write {"path": "AGENTS.md", "content": "Answer in English."}')
    await page.wait_for_selector(".approval")


PICTURES = {
    "welcome": (welcome, "light", DESKTOP),
    "writing": (writing, "light", DESKTOP),
    "plan": (plan, "dark", DESKTOP),
    "decision": (decision, "light", DESKTOP),
    "guards": (guards, "light", DESKTOP),
    "failure": (failure, "dark", DESKTOP),
    "phone": (pocket, "light", PHONE),
}


async def main(names: Sequence[str] = tuple(PICTURES)) -> None:
    """All of them, or some."""
    IMAGES.mkdir(exist_ok=True)
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=browser_program(), args=SWITCHES)
        for name in names:
            await taken(browser, name)
        await browser.close()


async def taken(browser: Browser, name: str) -> None:
    """One, of a host of its own."""
    scene, scheme, size = PICTURES[name]
    settings = {"AgentExecution": {"Titles": False}}
    models = OfflineModel() if name == "welcome" else Brain()
    site = HostServer(
        Services(models=models, tools=[pay, Weather().tool()], settings=settings, store=SqlHostStore("memory://")), {}
    )
    address = bind_address("127.0.0.1", 0)
    await site.start(address)
    context = await browser.new_context(color_scheme=scheme, reduced_motion="reduce", **size)
    page = await context.new_page()
    await page.goto(address.url)
    await scene(page)
    await page.wait_for_timeout(600)  # pictures only: what is folded has unfolded, and fonts are there
    await page.screenshot(path=IMAGES / f"{name}.png")
    await context.close()
    await site.shutdown(0)


async def take_views(folder: Path) -> None:
    """Take the pictures of every view and state, of one host with some data."""
    folder.mkdir(parents=True, exist_ok=True)
    settings = {"AgentExecution": {"Titles": False}, "Planning": {"Mode": "Auto"}}
    site = HostServer(
        Services(models=Brain(), tools=[pay, Weather().tool()], settings=settings, store=SqlHostStore("memory://")), {}
    )
    address = bind_address("127.0.0.1", 0)
    await site.start(address)
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=browser_program(), args=SWITCHES)
        for size, options in {**SIZES, **GERMAN_SIZES}.items():
            for scheme in ("light", "dark") if size in SIZES else ("light",):
                context = await browser.new_context(color_scheme=scheme, reduced_motion="reduce", **options)
                page = await context.new_page()
                await page.goto(address.url)
                await take_states(page, folder, f"{size}-{scheme}")
                await context.close()
        await browser.close()
    await site.shutdown(0)


async def take_states(page: Page, folder: Path, suffix: str) -> None:
    """Take the conversation in some states, and then each view."""
    is_german = suffix.startswith("de")
    approve, menu = ("Genehmigen", "Unterhaltungen zeigen") if is_german else ("Approve", "Show the conversations")

    async def take(name: str) -> None:
        await page.wait_for_timeout(400)  # pictures only, as above
        await page.screenshot(path=folder / f"{name}-{suffix}.png")

    async def say(text: str) -> None:
        await page.locator("#composer").fill(text)
        await page.locator("#composer").press("Enter" if "390" not in suffix else "Control+Enter")

    await page.wait_for_selector(".welcome")
    await take("welcome")
    await say(ANSWER)
    await page.wait_for_selector(".turn.completed figure.code")
    await take("answer")
    await say("pay Ada")
    await page.wait_for_selector(".approval")
    await take("approval")
    await page.get_by_role("button", name=approve).click()
    await page.wait_for_selector(".turn.completed >> nth=1")
    await say(TEA)
    await page.wait_for_selector(".graph li")
    await take("plan")
    await page.get_by_role("button", name=approve).click()
    await page.wait_for_selector(".turn.completed .reasons")
    await take("traces-session")
    if "390" in suffix:
        await page.get_by_role("button", name=menu).click()
        await page.get_by_role("searchbox").fill("list")
        await page.wait_for_selector(".session.hit")
        await take("hits")
        await page.get_by_role("searchbox").fill("")
        await page.wait_for_selector(".session.hit", state="detached")
        await take("sidebar")
        await page.keyboard.press("Escape")
    else:
        await page.get_by_role("searchbox").fill("list")
        await page.wait_for_selector(".session.hit")
        await take("hits")
        await page.get_by_role("searchbox").fill("")
    for view in VIEWS:
        await view.open(page)
        await take(view.path)
        if view.path == "traces":
            await page.locator(".info-page a[href*='trace'], .info-page summary").first.click()
            await take("trace")


if __name__ == "__main__":
    asyncio.run(take_views(Path(sys.argv[1])) if len(sys.argv) > 1 else main())

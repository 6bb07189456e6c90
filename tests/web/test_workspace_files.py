"""The workspace files on the memory page: read, edited, saved, and never over a change that was made meanwhile."""

import re
from pathlib import Path
from typing import Any

from playwright.async_api import Locator, Page, expect

from sophon.stores.memories.workspace_writes import add_facts
from tests.web.driving import write
from tests.web.test_looks import findings

USERS = [
    {"Id": "olga", "Token": {"$env": "OLGA"}, "Operator": True},
    {"Id": "bob", "Token": {"$env": "BOB"}},
]
TOKENS = {"OLGA": "token-of-olga", "BOB": "token-of-bob"}


def memory(folder: Path) -> dict[str, Any]:
    return {"Memory": {"Directory": str(folder / "memory")}}


async def open_file(page: Page, url: str, name: str) -> Locator:
    """Open a file on the memory page; return its text field."""
    await page.goto(f"{url}/#/memory")
    await page.get_by_role("main").get_by_text(name, exact=True).click()
    field = page.get_by_role("textbox", name=f"Text of {name}")
    await expect(field).to_be_enabled()
    return field


async def test_a_file_is_read_edited_and_saved_and_the_next_prompt_has_it(host: Any, look: Any, tmp_path: Path) -> None:
    served = await host(**memory(tmp_path))
    page = await look(served.url)
    field = await open_file(page, served.url, "USER.md")
    await expect(page.get_by_text("The file is not there yet; this is a beginning.")).to_be_visible()
    assert await findings(page) == []
    await field.fill("I am Ada.\n")
    await page.get_by_role("button", name="Save").click()
    await expect(page.get_by_text("Saved.")).to_be_visible()
    assert (tmp_path / "memory" / "USER.md").read_text() == "I am Ada.\n"
    await field.press("End")
    await field.press_sequentially("Really.")
    await expect(page.get_by_text("of 100,000 bytes")).to_be_visible()
    await field.press("Control+s")
    await expect(page.get_by_text("Saved.")).to_be_visible()
    await page.goto(f"{served.url}/#/")
    await write(page, "say hello")
    await expect(page.locator(".turn.completed")).to_be_visible()
    assert "I am Ada." in served.brain.requests[0].messages[0].content


async def test_a_change_made_meanwhile_is_named_and_nothing_is_lost(host: Any, look: Any, tmp_path: Path) -> None:
    served = await host(**memory(tmp_path))
    add_facts(tmp_path / "memory", ["Ada lives in Oslo."], served.site.services.clock.now().date())
    page = await look(served.url)
    field = await open_file(page, served.url, "MEMORY.md")
    await field.fill("my text")
    add_facts(tmp_path / "memory", ["Ada runs."], served.site.services.clock.now().date())
    await page.get_by_role("button", name="Save").click()
    await expect(page.get_by_role("alert")).to_contain_text("The file was changed meanwhile.")
    await expect(field).to_have_value("my text")
    look.expected.add(409)
    await page.get_by_role("button", name="Load again").click()
    await expect(field).to_have_value(re.compile("Ada runs"))
    assert "Ada runs." in (tmp_path / "memory" / "MEMORY.md").read_text()


async def test_a_text_that_is_too_large_is_named_and_cannot_be_saved(host: Any, look: Any, tmp_path: Path) -> None:
    served = await host(**memory(tmp_path))
    page = await look(served.url)
    field = await open_file(page, served.url, "USER.md")
    await field.fill("ä" * 50_001)
    await expect(page.get_by_role("alert")).to_contain_text("100,002 bytes")
    await expect(page.get_by_role("button", name="Save")).to_be_disabled()


async def test_files_of_everybody_are_there_for_operators_only(host: Any, look: Any, tmp_path: Path) -> None:
    served = await host(environment=TOKENS, Hub={"Users": USERS}, **memory(tmp_path))
    for user, count in (("bob", 0), ("olga", 1)):
        page = await look(served.url)
        await page.get_by_label("Token").fill(f"token-of-{user}")
        await page.get_by_role("button", name="Sign in").click()
        await page.goto(f"{served.url}/#/memory")
        await expect(page.get_by_text("USER.md", exact=True)).to_be_visible()
        await expect(page.get_by_text("SOUL.md", exact=True)).to_have_count(count)
        await page.context.close()
    look.expected.add(401)


async def test_on_a_phone_the_editor_fits_and_the_keyboard_reaches_it(host: Any, look: Any, tmp_path: Path) -> None:
    served = await host(**memory(tmp_path))
    page = await look(served.url, viewport={"width": 390, "height": 844}, has_touch=True)
    field = await open_file(page, served.url, "SOUL.md")
    box = await field.bounding_box()
    assert box is not None
    assert box["x"] >= 0
    assert box["x"] + box["width"] <= 390
    assert await page.evaluate("document.scrollingElement.scrollWidth") <= 390
    assert await findings(page) == []
    await field.focus()
    await page.keyboard.press("Tab")
    await expect(page.get_by_role("button", name="Save")).to_be_focused()

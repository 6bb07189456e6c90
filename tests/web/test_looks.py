"""Widths, themes, motion, and what assistive technology meets."""

import json
from pathlib import Path
from typing import Any

import pytest
from playwright.async_api import Page, expect

from sophon.models.offline import OfflineModel
from tests.web.driving import TEA, turn, write

AXE = Path(__file__).parents[2] / "hosting" / "web" / "node_modules" / "axe-core" / "axe.min.js"
SPEED = {"resultTypes": ["violations"], "preload": False, "iframes": False}
"""What axe need not gather: what passes, style sheets of other sites, and the frames that the page has not."""

RULES = {"runOnly": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"], **SPEED}
COLOURS = {"runOnly": {"type": "rule", "values": ["color-contrast", "link-in-text-block"]}, **SPEED}
"""The rules whose result depends on a theme."""
THEMES: tuple[dict[str, Any], ...] = ({"color_scheme": "light"}, {"color_scheme": "dark"})
PHONE = {"viewport": {"width": 375, "height": 720}, "has_touch": True}


async def findings(page: Page, rules: dict[str, Any] = RULES) -> list[str]:
    """What axe finds: rule and place."""
    if not await page.evaluate("'axe' in window"):
        await page.evaluate(AXE.read_text())
    found = await page.evaluate(f"axe.run(document, {json.dumps(rules)})")
    return [
        f"{each['id']}: {node['target']} {node['failureSummary']}"
        for each in found["violations"]
        for node in each["nodes"]
    ]


async def findings_in(page: Page, *modes: dict[str, Any]) -> list[str]:
    """What axe finds in some themes, one after the other on the same page: after the first one about colours alone."""
    found: list[str] = []
    for number, mode in enumerate(modes):
        await page.emulate_media(**{"forced_colors": "none", **mode})
        found += [f"{mode}: {each}" for each in await findings(page, COLOURS if number else RULES)]
    return found


@pytest.mark.parametrize("size", [{}, PHONE], ids=["desktop", "phone"])
async def test_axe_finds_nothing_in_any_state(host, look, size: dict[str, object]) -> None:
    page = await look((await host(Planning={"Mode": "Auto"})).url, **size)

    async def findings(page: Page) -> list[str]:
        return await findings_in(page, *THEMES)

    await expect(page.get_by_role("heading", name="What would you like to do?")).to_be_visible()
    assert await findings(page) == []
    await write(page, "tell slowly")
    await expect(turn(page).get_by_text("The first half.")).to_be_visible()
    assert await findings(page) == []
    await page.get_by_role("button", name="Stop").click()
    await write(page, 'call files.write {"path": "SOUL.md", "content": "x"}')
    await expect(page.locator(".blocked-call")).to_be_visible()
    await write(page, 'call files.write {"path": "AGENTS.md", "content": "x"}')
    await expect(page.get_by_role("button", name="Approve")).to_be_visible()
    assert await findings(page) == []
    await page.get_by_role("button", name="Edit…").click()
    assert await findings(page) == []
    await page.get_by_role("button", name="Back").click()
    await page.get_by_role("button", name="Approve").click()
    await expect(page.locator(".turn.completed")).to_have_count(2)
    await write(page, "fail")
    await expect(page.get_by_text("Something went wrong.")).to_be_visible()
    await page.locator(".turn.completed .what-happened summary").first.click()
    await page.locator(".turn.completed").get_by_role("button", name="Show as a waterfall").click()
    await expect(page.locator(".waterfall")).to_be_visible()
    assert await findings(page) == []


async def test_axe_finds_nothing_in_a_plan_a_trial_and_the_shortcuts(host, look) -> None:
    served = await host(Planning={"Mode": "Auto"})
    page = await look(served.url)
    await write(page, TEA)
    await expect(page.locator(".graph li")).to_have_count(3)
    assert await findings(page) == []
    await page.goto(f"{served.url}/#/policy")
    await page.get_by_role("button", name="Try it").click()
    await expect(page.get_by_role("status", name="Verdict")).to_be_visible()
    await page.locator(".guard", has_text="Protection").locator("summary").click()
    assert await findings(page) == []
    await page.keyboard.press("?")
    await expect(page.get_by_role("dialog")).to_be_visible()
    assert await findings(page) == []


async def test_axe_finds_nothing_where_one_signs_in(host, look) -> None:
    served = await host(Hub={"Users": [{"Id": "ada", "Token": {"$env": "ADA"}}]}, environment={"ADA": "token-of-ada"})
    page = await look(served.url)
    await expect(page.get_by_label("Token")).to_be_focused()
    look.expected.add(401)
    assert await findings(page) == []


async def test_on_a_phone_nothing_stands_out_at_the_side_and_the_list_comes_when_called(host, look) -> None:
    page = await look((await host()).url, **PHONE)
    for text in ("say " + "x" * 300, "say ```\n" + "y" * 300 + "\n```", "pay Ada"):
        await page.get_by_role("textbox", name="Message").fill(text)
        await page.get_by_role("button", name="Send").click()
    await expect(page.get_by_role("button", name="Approve")).to_be_visible()
    width = "() => [document.documentElement.scrollWidth, document.querySelector('.column').scrollWidth]"
    assert max(await page.evaluate(width)) <= 375
    await expect(page.get_by_role("button", name="New conversation")).not_to_be_in_viewport()
    await page.get_by_role("button", name="Show the conversations").click()
    await page.get_by_role("button", name="New conversation").click()
    await expect(page.get_by_role("heading", name="What would you like to do?")).to_be_visible()
    await expect(page.get_by_role("button", name="New conversation")).not_to_be_in_viewport()


async def test_on_a_phone_a_new_conversation_is_read_from_its_top(host, look) -> None:
    served = await host(models=[OfflineModel()])
    page = await look(served.url, **PHONE)
    await expect(page.get_by_role("button", name="Talk off the record")).to_be_attached()
    await expect(page.locator(".welcome .offline")).to_be_attached()
    heading = page.get_by_role("heading", name="What would you like to do?")
    await expect(heading).to_be_in_viewport()
    thread = page.locator(".thread")
    assert await thread.evaluate("(box) => [box.scrollHeight > box.clientHeight, box.scrollTop]") == [True, 0]


async def test_colours_follow_the_system_until_somebody_chooses(host, look) -> None:
    page = await look((await host()).url, color_scheme="dark")
    colour = "() => getComputedStyle(document.documentElement).backgroundColor"
    dark = await page.evaluate(colour)
    await page.emulate_media(color_scheme="light")
    light = await page.evaluate(colour)
    assert dark != light
    await page.get_by_role("button", name="Colours: auto").click()
    await page.get_by_role("button", name="Colours: light").click()
    await page.reload()
    await expect(page.get_by_role("button", name="Colours: dark")).to_be_visible()
    assert await page.evaluate(colour) == dark


async def test_who_wants_less_motion_has_none(host, look) -> None:
    page = await look((await host()).url, reduced_motion="reduce")
    await write(page, "tell slowly")
    await expect(turn(page).get_by_text("The first half.")).to_be_visible()
    moving = "() => document.getAnimations().filter(each => each.playState === 'running').length"
    assert await page.evaluate(moving) == 0
    await page.emulate_media(reduced_motion="no-preference")
    assert await page.evaluate(moving) > 0


async def test_a_screen_reader_is_told_when_something_is_asked_and_when_it_is_over(page: Page) -> None:
    said = page.locator("[role=status][aria-live=polite]")
    await write(page, "pay Ada")
    await expect(said).to_have_text("Approval required: pay")
    await page.get_by_role("button", name="Approve").click()
    await expect(said).to_have_text("The answer is complete")

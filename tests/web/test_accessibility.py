"""What assistive technology, zoom, touch and forced colours meet in every view."""

import re
from pathlib import Path
from typing import Any

import httpx
import pytest
from playwright.async_api import Page, expect

from tests.web.conftest import Served
from tests.web.driving import TEA, turn, write
from tests.web.test_looks import THEMES, findings_in
from tests.web.views import VIEWS

PAGES = Path(__file__).parents[2] / "hosting" / "web" / "src" / "features" / "pages.ts"
MODES: dict[str, dict[str, Any]] = {
    "desktop": {},
    "phone": {"viewport": {"width": 390, "height": 800}, "has_touch": True},
}
FORCED: tuple[dict[str, Any], ...] = tuple({**theme, "forced_colors": "active"} for theme in THEMES)
ZOOMED: dict[str, Any] = {"viewport": {"width": 320, "height": 256}}
"""A window of 1280 x 1024 at 400 %."""

RICH = (
    "say Words[^1] and $x^2$ and `code`\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n```python\nprint(1)\n```\n\n[^1]: A note."
)

OUTSIDE = """() => {
  // What may scroll in two dimensions: tables, code, formulas and the graph of a plan.
  const mayScroll = ".table, .wide-table, table.plain, pre, .formula, .graph, .off-screen, .skip, .sidebar";
  const isVisible = (each) => each.checkVisibility({ visibilityProperty: true });
  const isShown = (each) => isVisible(each) && each.getBoundingClientRect().width > 0;
  const isCut = (each) => getComputedStyle(each.parentElement).textOverflow === "ellipsis";
  const found = [];
  for (const each of document.querySelectorAll("body *")) {
    if (each.closest(mayScroll) || each.closest("svg") || !isShown(each) || isCut(each)) continue;
    const { right, left } = each.getBoundingClientRect();
    if (right > innerWidth + 1 || left < -1) found.push(`${each.tagName} ${each.className}: ${left} to ${right}`);
    const scrolls = ["auto", "scroll"].includes(getComputedStyle(each).overflowX);
    if (scrolls && each.tagName !== "TEXTAREA" && each.scrollWidth > each.clientWidth + 1)
      found.push(`${each.tagName} ${each.className} scrolls: ${each.scrollWidth} in ${each.clientWidth}`);
  }
  return found;
}"""
"""Elements that are wider than the window."""

SMALL_TARGETS = """() => {
  const isInline = (each) => getComputedStyle(each).display === "inline" && each.closest("p, li, td, span, .markdown");
  const found = [];
  for (const each of document.querySelectorAll("button, a[href], input, select, textarea, summary")) {
    if (!each.checkVisibility({ visibilityProperty: true, opacityProperty: true }) || isInline(each)) continue;
    const target = each.type === "checkbox" && each.closest("label") ? each.closest("label") : each;
    const { width, height, right, bottom } = target.getBoundingClientRect();
    if (width === 0 || right <= 0 || bottom <= 0 || each.closest(".markdown .task")) continue;
    const name = each.getAttribute("aria-label") ?? each.textContent;
    if (width < 43.5 || height < 43.5) found.push(`${each.tagName} ${each.className} ${name}: ${width} x ${height}`);
  }
  return found;
}"""
"""Targets of less than 44 x 44 px, besides links within a text."""

ANNOUNCED = """() => {
  window.announced = [];
  const live = "[aria-live=polite], [aria-live=assertive], [role=status], [role=alert]";
  const note = (node) => {
    const region = (node.nodeType === 1 ? node : node.parentElement)?.closest(live);
    if (region && region.getAttribute("aria-live") !== "off" && region.textContent.trim() !== "")
      window.announced.push(region.textContent.trim());
  };
  const options = { subtree: true, childList: true, characterData: true };
  new MutationObserver((changes) => changes.forEach((change) => note(change.target))).observe(document.body, options);
}"""
"""Records what is announced: each change of a live region."""


async def furnish(page: Page, url: str) -> None:
    """Let the views have something to show."""
    async with httpx.AsyncClient(base_url=url, trust_env=False) as client:
        made = await client.post("/api/schedules", json={"text": "water the plants", "every": "2 hours"})
        assert made.status_code < 300, made.text
    await write(page, RICH)
    await expect(page.locator(".turn.completed")).to_have_count(1)


def source_of(module: str) -> str:
    return next(PAGES.parent.glob(f"{module}.ts*")).read_text()


def test_every_view_of_the_page_is_in_the_list() -> None:
    imported = re.findall(r'from "\./(.+)"', PAGES.read_text())
    names = [re.findall(r'name: "(\w+)"', source_of(each)) for each in imported]
    assert sorted(each[0] for each in names) == sorted(view.path for view in VIEWS)


@pytest.mark.parametrize("mode", MODES)
async def test_axe_finds_nothing_in_any_view(host, look, mode: str) -> None:
    served = await host()
    page = await look(served.url, **MODES[mode])
    await furnish(page, served.url)
    themes = [*THEMES, *FORCED] if mode == "desktop" else THEMES[:1]
    assert await findings_in(page, *themes) == []
    for view in VIEWS:
        await view.open(page)
        await expect(page.locator(".info-page h2").first).to_have_text(view.heading)
        assert await findings_in(page, *themes) == [], view.path
    look.expected.add(400)


async def test_axe_finds_nothing_in_an_error_notice(page: Page) -> None:
    await write(page, "/model")  # refused by the page: there is no such model
    await expect(page.locator(".notice.bad")).to_be_visible()
    assert await findings_in(page, *THEMES, *FORCED) == []


async def test_at_400_percent_nothing_needs_two_dimensions_to_be_read(host, look) -> None:
    served = await host(Planning={"Mode": "Auto"})
    page = await look(served.url, **ZOOMED)
    assert await page.evaluate(OUTSIDE) == []
    await furnish(page, served.url)
    await write(page, "say " + "long" * 100)
    await write(page, TEA)
    await expect(page.locator(".graph li")).to_have_count(3)
    assert await page.evaluate(OUTSIDE) == []
    conversation = "() => document.querySelector('.thread').clientHeight"
    assert await page.evaluate(conversation) >= 100  # beside the heading and the message field
    for view in VIEWS:
        await view.open(page)
        assert await page.evaluate(OUTSIDE) == [], view.path
    look.expected.add(400)
    await page.get_by_role("button", name="Show the conversations").click()
    await expect(page.get_by_role("button", name="New conversation")).to_be_in_viewport()


async def test_the_longer_words_of_german_fit_at_400_percent_too(host, look) -> None:
    page = await look((await host()).url, locale="de-DE", **ZOOMED)
    await expect(page.locator(".welcome")).to_be_visible()
    assert await page.evaluate(OUTSIDE) == []
    for view in VIEWS:
        await view.open(page)
        assert await page.evaluate(OUTSIDE) == [], view.path
    look.expected.add(400)


async def test_targets_have_44_px_where_one_touches(host, look) -> None:
    served = await host()
    page = await look(served.url, **MODES["phone"])
    assert await page.evaluate(SMALL_TARGETS) == []
    await furnish(page, served.url)
    await write(page, "pay Ada")
    await expect(page.get_by_role("button", name="Approve")).to_be_visible()
    assert await page.evaluate(SMALL_TARGETS) == []
    await page.get_by_role("button", name="Edit…").click()
    assert await page.evaluate(SMALL_TARGETS) == []
    for view in VIEWS:
        await view.open(page)
        assert await page.evaluate(SMALL_TARGETS) == [], view.path
    look.expected.add(400)
    await page.get_by_role("button", name="Show the conversations").click()
    await expect(page.get_by_role("button", name="New conversation")).to_be_in_viewport()
    assert await page.evaluate(SMALL_TARGETS) == []


async def test_the_end_of_each_answer_is_announced_once_and_no_chunk_of_it(served: Served, page: Page) -> None:
    await page.evaluate(ANNOUNCED)
    await write(page, "tell slowly")
    await expect(turn(page).get_by_text("The first half.")).to_be_visible()
    assert await page.evaluate("() => window.announced") == []
    served.brain.gate.set()
    await expect(page.locator(".turn.completed")).to_have_count(1)
    await write(page, "say again")
    await expect(page.locator(".turn.completed")).to_have_count(2)
    announced = await page.evaluate("() => window.announced")
    assert announced == ["The answer is complete"] * 2


async def test_no_view_moves_for_who_wants_less_motion(host, look) -> None:
    served = await host()
    page = await look(served.url, reduced_motion="reduce")
    await furnish(page, served.url)
    for view in VIEWS:
        await view.open(page)
        assert await page.evaluate("() => document.getAnimations().length") == 0, view.path
    look.expected.add(400)


async def test_escape_closes_the_sidebar_of_a_narrow_window_and_stops_no_turn(host, look) -> None:
    page = await look((await host()).url, **MODES["phone"])
    await page.get_by_role("textbox", name="Message").fill("tell slowly")
    await page.get_by_role("button", name="Send").click()
    await expect(turn(page).get_by_text("The first half.")).to_be_visible()
    menu = page.get_by_role("button", name="Show the conversations")
    await menu.click()
    await expect(page.get_by_role("button", name="Close the sidebar")).to_be_focused()
    await page.keyboard.press("Escape")
    await expect(page.get_by_role("button", name="New conversation")).not_to_be_in_viewport()
    await expect(menu).to_be_focused()
    await expect(page.get_by_role("button", name="Stop")).to_be_visible()
    await page.keyboard.press("Escape")  # now it is the turn's
    await expect(page.locator(".turn.cancelled")).to_be_visible()

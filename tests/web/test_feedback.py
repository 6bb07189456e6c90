"""Feedback on a finished answer: two buttons, a correction, and what is left after a reload."""

import re
from typing import Any

from playwright.async_api import Page, expect

from tests.web.driving import turn, write
from tests.web.test_looks import findings


def button(page: Page, name: str) -> Any:
    return turn(page).get_by_role("button", name=name)


async def test_an_answer_is_rated_corrected_and_the_rating_taken_back(host: Any, look: Any) -> None:
    served = await host()
    page = await look(served.url)
    await write(page, "hello")
    good, bad = button(page, "Good answer"), button(page, "Bad answer")
    await expect(good).to_have_attribute("aria-pressed", "false")
    await good.click()
    await expect(good).to_have_attribute("aria-pressed", "true")
    await bad.click()
    await expect(good).to_have_attribute("aria-pressed", "false")
    assert await findings(page) == []
    await page.get_by_label(re.compile("What would have been right")).fill("say hi")
    await button(page, "Send").click()
    await expect(page.get_by_label(re.compile("What would have been right"))).to_have_count(0)
    store = served.site.services.store
    [run] = await store.runs.list()

    async def said() -> list[tuple[float, str, str]]:
        return [(each.value, each.text, each.source) for each in await store.trajectories.list_feedback(run.id)]

    await page.reload()
    await expect(bad).to_have_attribute("aria-pressed", "true")
    assert await said() == [(-1, "say hi", "page")]
    await bad.click()
    await expect(bad).to_have_attribute("aria-pressed", "false")
    assert await said() == []


async def test_a_running_turn_and_one_that_failed_are_not_rated(page: Page) -> None:
    await write(page, "fail")
    await expect(turn(page).get_by_text("Something went wrong.")).to_be_visible()
    await expect(button(page, "Good answer")).to_have_count(0)

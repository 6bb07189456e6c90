"""An answer that is larger than any frame: live, after a reload, and in a second tab."""

import pytest
from playwright.async_api import Page, expect

from tests.long_texts import MEGABYTE, text_of
from tests.web.driving import Brain, turn, write

VERY_LARGE = {"Titles": False, "MaxReplyBytes": 8 * MEGABYTE}
"""Replies larger than the default limit of 4 MiB."""

COPIED = "() => { window.copied = []; navigator.clipboard.writeText = async (text) => { window.copied.push(text); }; }"


class LongBrain(Brain):
    """`write N` answers with N bytes."""

    async def said(self, text: str):
        return text_of(int(text.partition(" ")[2])) if text.startswith("write ") else await super().said(text)


async def copied_text(page: Page) -> str:
    """What the copy button of the answer gives."""
    await page.evaluate(COPIED)
    await turn(page).get_by_role("button", name="Copy answer").click()
    await page.wait_for_function("() => window.copied.length > 0")
    return await page.evaluate("() => window.copied[0]")


async def check_whole(page: Page, size: int) -> None:
    await expect(turn(page).get_by_text("line 000000000000").first).to_be_visible()
    assert await copied_text(page) == text_of(size).strip()


async def test_an_answer_of_3_mb_is_whole_live_after_a_reload_and_in_a_second_tab(host, look) -> None:
    served = await host(brain=LongBrain())
    page = await look(served.url)
    await write(page, f"write {3 * MEGABYTE}")
    await expect(page.locator(".turn.completed")).to_have_count(1)
    await check_whole(page, 3 * MEGABYTE)
    await page.reload()
    await check_whole(page, 3 * MEGABYTE)
    second = await look(page.url)
    await check_whole(second, 3 * MEGABYTE)


@pytest.mark.parametrize("dropped", [False, True])
async def test_a_larger_one_is_loaded_when_it_is_asked_for(host, look, dropped: bool) -> None:
    served = await host(brain=LongBrain(stream=False), AgentExecution=VERY_LARGE)
    page = await look(served.url)
    await write(page, "write 5200000")
    await expect(page.locator(".turn.completed")).to_have_count(1)
    if dropped:
        session = (await served.site.services.store.sessions.list())[0].id
        await served.site.services.store.events.trim(session, 0)
    await page.reload()
    show = turn(page).get_by_role("button", name="Show all (5.2 MB)")
    await expect(turn(page).get_by_text("line 000000000000").first).to_be_visible()
    await show.click()
    await expect(show).to_have_count(0)
    await check_whole(page, 5_200_000)


async def test_copying_a_larger_one_copies_the_whole(host, look) -> None:
    served = await host(brain=LongBrain(), AgentExecution=VERY_LARGE)
    page = await look(served.url)
    await write(page, "write 5200000")
    await expect(page.locator(".turn.completed")).to_have_count(1)
    await page.reload()
    await expect(turn(page).get_by_role("button", name="Show all (5.2 MB)")).to_be_visible()
    assert await copied_text(page) == text_of(5_200_000).strip()

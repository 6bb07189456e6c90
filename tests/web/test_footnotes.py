"""Footnotes of an answer: links both ways, ids that are unique in the document, and no HTML from the text."""

from playwright.async_api import Page, expect

from tests.web.driving import turn, write

NOTES = "say Tea[^leaf] is old[^1], tea[^leaf], and [^none].\n\n[^leaf]: From *Camellia*.\n[^1]: <b>Very</b> old."


async def test_a_footnote_is_reached_from_its_reference_and_leads_back(page: Page) -> None:
    await write(page, NOTES)
    answer = turn(page).locator(".markdown")
    await expect(answer.locator(".footnote")).to_have_count(2)
    address = page.url
    await answer.get_by_role("link", name="Footnote 1").last.click()
    await expect(answer.locator(".footnote", has_text="Camellia")).to_be_focused()
    await answer.get_by_role("link", name="Back to reference 1").click()
    await expect(answer.get_by_role("link", name="Footnote 1").first).to_be_focused()
    assert page.url == address  # the route is in the address
    await expect(answer).to_contain_text("and [^none].")


async def test_the_html_of_a_footnote_is_text_and_the_ids_of_two_answers_differ(page: Page) -> None:
    await write(page, NOTES)
    await write(page, NOTES + "\n\n[^1]: Another with the same label.")
    await expect(page.locator(".footnote")).to_have_count(5)
    await expect(page.locator(".footnote", has_text="<b>Very</b> old.")).to_have_count(2)
    assert await page.locator(".footnote b").count() == 0
    ids = await page.evaluate("() => [...document.querySelectorAll('[id]')].map((each) => each.id)")
    assert len(ids) == len(set(ids))

"""Conversations in the sidebar: search in messages with the hit in its place, pins, and the archive."""

from playwright.async_api import expect

from sophon.messages import Message
from sophon.stores.sessions.contract import SessionRecord
from tests.web.driving import write


async def fill(served, session: str, turns: int) -> None:  # type: ignore[no-untyped-def]
    """Store a conversation of several pages, whose third question is about a ferry."""
    for number in range(turns):
        question = "When does the ferry leave?" if number == 2 else f"Question {number}"
        records = [
            SessionRecord("message", f"t{number}", Message("user", question)),
            SessionRecord("message", f"t{number}", Message("assistant", f"Answer {number}. " + "word " * 60)),
        ]
        await served.site.services.store.sessions.append(session, records, owner="local")


async def test_a_hit_opens_its_conversation_at_the_message(host, look) -> None:
    served = await host()
    await fill(served, "trip", 250)
    page = await look(served.url)
    await page.get_by_role("searchbox").fill("ferry lea")
    hit = page.locator(".hit")
    await expect(hit).to_have_count(1)
    await expect(hit.locator("mark")).to_have_text(["ferry", "lea"])
    await hit.locator("a").click()
    found = page.locator(".turn[data-found]")
    await expect(found).to_contain_text("When does the ferry leave?")
    await expect(found).to_be_in_viewport()
    await expect(found.locator(".said")).to_be_focused()


async def test_a_search_finds_titles_and_says_when_no_message_matches(host, look) -> None:
    page = await look((await host()).url)
    await write(page, "the weather in Rome")
    await expect(page.locator(".session.here .title")).to_contain_text("weather")
    await page.get_by_role("searchbox").fill("weather rom")
    await expect(page.locator(".session:not(.hit)")).to_have_count(1)
    await expect(page.locator(".hit").first).to_contain_text("weather in Rome")
    await page.get_by_role("searchbox").fill('"<b>nothing</b>')
    await expect(page.get_by_text("No matching messages.")).to_be_visible()
    await page.get_by_role("searchbox").fill("")
    await expect(page.get_by_text("No matching messages.")).to_have_count(0)


async def test_a_pinned_conversation_stands_first_and_an_archived_one_apart(host, look) -> None:
    served = await host()
    for name in ("old", "new"):
        record = SessionRecord("message", "t", Message("user", f"the {name} one"))
        await served.site.services.store.sessions.append(name, [record], owner="local")
    page = await look(served.url)
    titles = page.locator(".session .title")
    await expect(titles).to_have_text(["the new one", "the old one"])
    await page.get_by_label("More for the old one").click()
    await page.get_by_role("button", name="Pin", exact=True).click()
    await expect(titles).to_have_text(["the old one", "the new one"])
    await expect(page.get_by_role("list", name="Pinned")).to_contain_text("the old one")
    await page.get_by_label("More for the new one").click()
    await page.get_by_role("button", name="Move to the archive").click()
    await expect(titles).to_have_text(["the old one"])
    await page.get_by_role("button", name="Archive", exact=True).click()
    await expect(titles).to_have_text(["the new one"])
    await page.get_by_label("More for the new one").click()
    await page.get_by_role("button", name="Unarchive").click()
    await expect(page.get_by_text("Nothing is archived.")).to_be_visible()

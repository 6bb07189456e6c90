"""Long conversations: only turns near the visible part are rendered, and nothing that a reader does shows it."""

import asyncio
import re

import pytest
from playwright.async_api import Page, Route, expect

from sophon.messages import Message
from sophon.stores.sessions.contract import SessionRecord
from sophon_hosting.host import RunRequest
from tests.web.conftest import Served
from tests.web.driving import turn, write

MOST_RENDERED = 40
"""Turns; about nine of these are as high as the window, and one window's height on each side is rendered."""

ELEMENTS_OF_THE_REST = 1500
"""Elements of the page besides one for each turn that is loaded."""

ALL = "document.querySelectorAll('.turn, .distant-turn')"
FRAMES = (
    "count => new Promise(done => { const next = () => count-- > 0 ? requestAnimationFrame(next) : done(); next(); })"
)
TOP = "id => document.getElementById(id).getBoundingClientRect().top"
FROM_END = "(list => list.scrollHeight - list.clientHeight - list.scrollTop)(document.querySelector('.thread'))"
TEXTS = f"""() => [...{ALL}].map(each =>
    (each.matches('.turn') ? each.querySelector('.said p') : each).textContent.split('\\n')[0])"""
MOVED = f"""async number => {{
  const id = {ALL}[number].id;
  const top = () => document.getElementById(id).getBoundingClientRect().top;
  document.getElementById(id).scrollIntoView();  // it and the turns above it are rendered in the next frames
  const before = top();
  for (let frame = 0; frame < 12; frame++) await new Promise(requestAnimationFrame);
  return top() - before;
}}"""
"""How far a turn moves that one jumps to, in pixels."""


async def converse(served: Served, count: int, text: str = "message {}") -> None:
    """Store so many turns of one session, whose last one the chain has run."""
    records: list[SessionRecord] = []
    for number in range(count - 1):
        question = text.format(number)
        answer = question[4:] if question.startswith("say ") else f"You said: {question}"
        for message in (Message("user", question), Message("assistant", answer)):
            records.append(SessionRecord("message", f"t{number}", message))
    await served.site.services.store.sessions.append("long", records, owner="local")
    await served.site.host.accept(RunRequest(text.format(count - 1), session_id="long", owner="local"))
    await served.over("long", 1)


async def check_bound(page: Page) -> None:
    """Few turns are rendered, and besides them there is one element for each turn."""
    assert await page.locator(".turn").count() <= MOST_RENDERED
    loaded = await page.evaluate(f"() => {ALL}.length")
    assert await page.evaluate("() => document.querySelectorAll('*').length") < loaded + ELEMENTS_OF_THE_REST


async def scroll_to(page: Page, selector: str, number: int) -> None:
    """Bring a turn into view."""
    place = "([selector, number]) => document.querySelectorAll(selector)[number].scrollIntoView()"
    await page.evaluate(place, [selector, number])


async def load_all(page: Page, count: int) -> None:
    """Load the older turns until all of them are there."""
    for _ in range(count):
        shown = await page.evaluate(f"() => {{ document.querySelector('.older')?.click(); return {ALL}.length; }}")
        if shown == count:
            return
        await page.wait_for_function(f"count => {ALL}.length > count", arg=shown)


async def test_two_thousand_messages_open_at_their_end_and_lead_back_to_the_first(host, look) -> None:
    served = await host()
    await converse(served, 1000)
    page = await look(f"{served.url}/#/session/long")
    await expect(page.get_by_text("You said: message 999")).to_be_in_viewport()
    await check_bound(page)
    await page.locator(".thread").hover()
    await page.mouse.wheel(0, -1_000_000)
    await load_all(page, 1000)
    await expect(page.locator(".older")).to_have_count(0)
    assert await page.evaluate(TEXTS) == [f"message {number}" for number in range(1000)]
    await scroll_to(page, ".turn, .distant-turn", 0)
    await expect(page.get_by_text("You said: message 0", exact=True)).to_be_in_viewport()
    first = page.locator(".turn").first
    await expect(first).to_have_attribute("aria-posinset", "1")
    await expect(first).to_have_attribute("aria-setsize", "1000")
    await check_bound(page)
    await page.get_by_role("button", name="To the end").click()
    await expect(page.get_by_text("You said: message 999")).to_be_in_viewport()


async def test_who_scrolls_while_earlier_messages_load_stays_where_they_are(host, look) -> None:
    served = await host()
    await converse(served, 350)
    page = await look(f"{served.url}/#/session/long")
    await expect(page.get_by_text("You said: message 349")).to_be_in_viewport()
    asked, may_answer = asyncio.Event(), asyncio.Event()

    async def hold(route: Route) -> None:
        asked.set()
        await may_answer.wait()
        await route.continue_()

    await page.route(re.compile(r"/messages\?before="), hold)
    await page.locator(".older").click()
    async with asyncio.timeout(30):
        await asked.wait()
    shown = await page.evaluate(f"() => {ALL}.length")
    read = await page.evaluate(f"() => {ALL}[20].id")
    await scroll_to(page, ".turn, .distant-turn", 20)
    await page.evaluate(FRAMES, 12)
    before = await page.evaluate(TOP, read)
    may_answer.set()
    await page.wait_for_function(f"count => {ALL}.length > count", arg=shown)
    await page.evaluate(FRAMES, 12)
    assert abs(await page.evaluate(TOP, read) - before) < 2
    await page.unroute_all(behavior="wait")


@pytest.fixture
async def long(host, look) -> Page:
    """A conversation of 60 turns, each much higher than what is estimated before it is rendered."""
    served = await host()
    await converse(served, 60, "say number {}\n\n" + "# x\n" * 8)
    page = await look(f"{served.url}/#/session/long")
    await expect(page.locator(".turn-footer").last).to_be_in_viewport()
    return page


async def test_what_one_reads_stays_in_its_place_while_turns_above_get_their_height(long) -> None:
    await long.locator(".thread").hover()
    await long.mouse.wheel(0, -1000)
    await expect(long.get_by_role("button", name="To the end")).to_be_visible()
    for number in (40, 30, 20, 10):
        assert abs(await long.evaluate(MOVED, number)) < 2


async def test_who_goes_up_without_any_input_in_the_list_leaves_the_end(long) -> None:
    await scroll_to(long, ".turn, .distant-turn", 20)  # as the browser's search, the focus and a screen reader do
    await expect(long.get_by_role("button", name="To the end")).to_be_visible()
    await long.evaluate(FRAMES, 12)
    await expect(long.get_by_text("number 20").last).to_be_in_viewport()


async def test_a_message_of_many_lines_is_written_at_the_end(long) -> None:
    box = long.get_by_role("textbox", name="Message")
    for line in range(10):
        await box.press_sequentially(f"line {line}")
        await box.press("Shift+Enter")
    await long.evaluate(FRAMES, 12)
    assert await long.evaluate(FROM_END) < 2
    await expect(long.get_by_role("button", name="To the end")).to_have_count(0)


async def test_the_search_of_the_browser_finds_a_distant_turn_and_leads_to_it(long) -> None:
    distant = long.locator(".distant-turn").first
    await expect(distant).to_have_attribute("hidden", "until-found")
    assert "number 0" in (await distant.text_content() or "")
    await distant.evaluate(
        "each => each.dispatchEvent(new Event('beforematch', {bubbles: true}))"
    )  # as the browser does
    await expect(turn(long).locator(".markdown")).to_be_in_viewport()


async def test_all_that_is_selected_is_copied(long) -> None:
    await long.locator(".thread").click(position={"x": 5, "y": 5})
    await long.keyboard.press("Control+a")
    await expect(long.locator(".turn")).to_have_count(60)
    copied = await long.evaluate("() => getSelection().toString()")
    assert all(f"number {number}\n" in copied for number in range(60))
    await long.evaluate("() => getSelection().removeAllRanges()")
    await expect(long.locator(".distant-turn").first).to_be_attached()


async def test_what_somebody_opened_stays_open_while_one_reads_elsewhere(long) -> None:
    last = long.locator(".turn").last
    identity = await last.get_attribute("id")
    opened = long.locator(f"[id='{identity}']")
    await opened.locator(".what-happened summary").click()
    await long.locator(".thread").hover()
    await scroll_to(long, ".turn, .distant-turn", 0)
    await expect(turn(long).get_by_text("number 0").last).to_be_in_viewport()
    await expect(opened.locator("details[open]")).to_have_count(1)
    assert await long.locator(".turn").count() <= MOST_RENDERED


async def test_a_print_has_all_turns(long) -> None:
    assert await long.locator(".turn").count() < 60
    await long.evaluate(
        "() => addEventListener('afterprint', () => (window.printed = document.querySelectorAll('.turn').length))"
    )
    await long.pdf()
    assert await long.evaluate("() => window.printed") == 60


async def test_an_answer_that_begins_is_followed_at_the_end_of_a_long_conversation(long) -> None:
    await write(long, "tell slowly")
    await expect(long.get_by_text("The first half.")).to_be_in_viewport()
    assert await long.locator(".turn").count() <= MOST_RENDERED

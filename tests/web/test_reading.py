"""What people read and how they reach it: lists, tables, both directions of writing, the keyboard, input methods."""

import asyncio

import httpx
from playwright.async_api import Page, expect

from sophon_hosting.host import RunRequest
from tests.web.conftest import Served
from tests.web.driving import session_of, turn, write

PHONE = {"viewport": {"width": 390, "height": 800}, "has_touch": True}
TABLE = (
    "say | "
    + " | ".join(f"Measurement{n}" for n in range(8))
    + " |\n"
    + "|---" * 8
    + "|\n"
    + "| reproducible " * 8
    + "|"
)
CONVERSATIONS = 30
FOCUSED = "() => document.activeElement?.id ?? ''"


async def converse(url: str) -> None:
    """Have as many conversations as do not fit into the list at once."""
    async with httpx.AsyncClient(base_url=url, trust_env=False) as client:
        for number in range(CONVERSATIONS):
            while (await client.post("/api/tasks", json={"content": f"say {number}"})).status_code == 429:
                await asyncio.sleep(0.05)


async def count_keys(page: Page, key: str, target: str) -> int:
    """How often a key is pressed until an element is focused."""
    for count in range(1, 20):
        await page.keyboard.press(key)
        if await page.evaluate(FOCUSED) == target:
            return count
    raise AssertionError(f"{target} is not reached")


async def test_few_keys_lead_to_the_message_field_however_many_conversations_there_are(host, look) -> None:
    served = await host()
    await converse(served.url)
    page = await look(served.url)
    await write(page, "say hello")
    await expect(turn(page).locator(".turn-footer")).to_be_visible()
    await page.evaluate("() => document.querySelector('.skip').focus()")  # the first of all
    assert await count_keys(page, "Tab", "composer") <= 2


async def test_the_menu_of_the_lowest_conversation_is_on_the_screen(host, look) -> None:
    served = await host()
    await converse(served.url)
    page = await look(served.url)
    await expect(page.locator(".session")).to_have_count(CONVERSATIONS)
    last = page.locator(".session").last
    await last.scroll_into_view_if_needed()
    await last.locator("summary").click()
    await expect(last.get_by_role("button", name="Delete…")).to_be_in_viewport(ratio=1)


async def test_a_task_list_shows_boxes_and_no_source(page: Page) -> None:
    await write(page, "say - [x] bought tea\n- [ ] drunk it")
    await expect(turn(page).get_by_role("checkbox", name="not done")).to_be_visible()
    await expect(turn(page).locator(".turn-footer")).to_be_visible()
    assert (await turn(page).locator(".markdown").inner_text()).split() == ["bought", "tea", "drunk", "it"]


async def test_the_words_of_a_wide_table_stay_whole_and_it_scrolls(host, look) -> None:
    page = await look((await host()).url, **PHONE)
    await page.get_by_role("textbox", name="Message").fill(TABLE)
    await page.get_by_role("button", name="Send").click()
    table = turn(page).locator(".table")
    await expect(table).to_be_visible()
    await expect(turn(page).locator(".turn-footer")).to_be_visible()
    assert await table.evaluate("each => each.scrollWidth > each.clientWidth")
    heights = "each => [...each.querySelectorAll('th')].map(cell => cell.getBoundingClientRect().height)"
    assert max(await table.evaluate(heights)) < 45  # one line of text
    assert await page.evaluate("() => document.documentElement.scrollWidth") <= 390


async def test_an_answer_from_right_to_left_runs_so_and_its_code_does_not(page: Page) -> None:
    await write(page, "say שלום עולם\n\n- אחת\n\n```\nprint(1)\n```")
    markdown = turn(page).locator(".markdown")
    await expect(markdown).to_have_css("direction", "rtl")
    await expect(markdown.locator("pre")).to_have_css("direction", "ltr")


async def test_code_has_a_size_that_can_be_read(page: Page) -> None:
    await write(page, "say ```\nprint(1)\n```")
    size = "each => parseFloat(getComputedStyle(each).fontSize)"
    assert await turn(page).locator("pre code").evaluate(size) >= 12.5


async def test_the_enter_that_ends_a_word_of_an_input_method_sends_nothing(page: Page) -> None:
    box = page.get_by_role("textbox", name="Message")
    await box.fill("say にほんご")
    press = "each => each.dispatchEvent(new KeyboardEvent('keydown', {key: 'Enter', keyCode: 229, bubbles: true}))"
    await box.evaluate(press)
    await expect(box).to_have_value("say にほんご")
    await box.press("Enter")
    await expect(box).to_have_value("")
    await expect(turn(page)).to_be_visible()


async def test_a_screen_reader_hears_who_speaks(page: Page) -> None:
    await write(page, "say # Tea\n\n## Green")
    await expect(page.get_by_role("heading", name="You said", level=2)).to_be_attached()
    await expect(page.get_by_role("heading", name="Sophon answered", level=2)).to_be_attached()
    await expect(page.get_by_role("heading", name="Tea", level=3)).to_be_visible()


async def test_of_the_request_for_a_goals_report_people_see_what_it_is_about(host, look) -> None:
    served = await host()
    text = "[AUTO-DETECTED: goal completed]\nIts goal: tea (all steps are done)\n\nStep 1:\nWater boils.\n\nAnswer."
    await served.site.host.accept(RunRequest(text, "s", "local"))
    await served.over("s", 1)
    page = await look(f"{served.url}/#/session/s")
    said = turn(page).locator(".said")
    await expect(said).to_contain_text("Its goal: tea (all steps are done)")
    await expect(said).not_to_contain_text("Water boils.")
    await said.get_by_role("button", name="Show all").click()
    await expect(said).to_contain_text("Water boils.")


async def test_the_arrow_keys_bring_back_what_was_sent(page: Page) -> None:
    for text in ("say one", "say two"):
        await write(page, text)
    await expect(page.locator(".turn.completed")).to_have_count(2)
    box = page.get_by_role("textbox", name="Message")
    await box.press("ArrowUp")
    await expect(box).to_have_value("say two")
    await box.press("ArrowUp")
    await expect(box).to_have_value("say one")
    await box.press("End")
    await box.press("ArrowDown")
    await expect(box).to_have_value("say two")


async def test_an_answer_is_quoted_into_the_message(page: Page) -> None:
    await write(page, "say First.\n\nSecond.")
    await turn(page).get_by_role("button", name="Quote").click()
    box = page.get_by_role("textbox", name="Message")
    await expect(box).to_have_value("> First.\n\n")
    await expect(box).to_be_focused()


async def test_messages_have_their_time_and_conversations_their_day(host, look) -> None:
    page = await look((await host()).url)
    await write(page, "say hello")
    await expect(turn(page).locator("time.said-at")).to_be_visible()
    await expect(page.get_by_role("list", name="Today").locator(".session")).to_have_count(1)


async def test_a_hidden_page_notifies_of_an_approval_and_counts_it_in_its_title(host, look) -> None:
    page = await look((await host()).url)
    await page.context.grant_permissions(["notifications"])
    await page.evaluate(
        """() => {
            window.notified = [];
            window.Notification = class {
                constructor(title, options) { window.notified.push([title, options.body]); }
            };
            window.Notification.permission = "granted";
            window.Notification.requestPermission = async () => "granted";
        }"""
    )
    await page.get_by_role("button", name="Notifications").click()
    await expect(page.get_by_role("button", name="Notifications")).to_have_attribute("aria-pressed", "true")
    await page.evaluate("() => Object.defineProperty(document, 'hidden', {value: true})")
    await write(page, "pay Ada")
    await expect(page).to_have_title("(1) pay Ada – Sophon")
    assert await page.evaluate("() => window.notified") == [["Approval required: pay", "pay Ada"]]


async def test_a_formula_is_typeset_and_one_that_is_none_is_shown_as_written(page: Page) -> None:
    await write(
        page,
        "say Euler: $e^{i\\pi} + 1 = 0$, for $5 and $10.\n\n$$\\frac{a}{b}$$\n\nWrong: $\\frac{$ and $\\href{x}{y}$",
    )
    markdown = turn(page).locator(".markdown")
    await expect(markdown.locator("math")).to_have_count(2)
    await expect(markdown.locator("math mfrac")).to_have_count(1)
    await expect(markdown).to_contain_text("for $5 and $10.")
    await expect(markdown).to_contain_text("\\href{x}{y}")
    assert await markdown.locator("math a").count() == 0


async def test_what_few_need_is_loaded_when_it_is_needed(host, look) -> None:
    page = await look((await host()).url)
    loaded: list[str] = []
    page.on("request", lambda request: loaded.append(request.url.rpartition("/")[2].partition("-")[0]))
    await write(page, "say hello")
    await expect(turn(page).locator(".turn-footer")).to_be_visible()
    assert not {"temml", "highlighter"} & set(loaded)
    await write(page, "say ```python\nprint(1)\n```\n\n$x$")
    await expect(page.locator(".hljs-built_in")).to_be_visible()
    await expect(page.locator("math")).to_be_visible()
    assert {"temml", "highlighter"} <= set(loaded)


async def test_a_conversation_of_the_address_is_requested_once_and_beside_the_connection(
    served: Served, page: Page
) -> None:
    await write(page, "say one")
    await expect(page.locator(".turn.completed")).to_have_count(1)
    requested: list[str] = []
    page.on("request", lambda request: requested.append(request.url.removeprefix(served.url).partition("?")[0]))
    await page.reload()
    await expect(page.locator(".turn.completed")).to_have_count(1)
    session = f"/api/sessions/{session_of(page)}"
    assert requested.count(f"{session}/messages") == 1
    assert requested.index(f"{session}/messages") < requested.index("/api/chain")  # which waits for the user

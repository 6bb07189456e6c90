"""Talking: messages, streaming, several turns, stop, drafts, errors."""

import asyncio
import json
import re

from playwright.async_api import Page, expect

from sophon.models.offline import OfflineModel
from tests.web.conftest import Served
from tests.web.driving import Weather, turn, write


async def test_a_first_message_is_answered_and_the_conversation_is_in_the_list(page: Page) -> None:
    await expect(page.get_by_role("heading", name="What would you like to do?")).to_be_visible()
    await write(page, "hello")
    await expect(turn(page).get_by_text("You said: hello")).to_be_visible()
    await expect(page.locator(".session.here .title")).to_have_text("hello")
    await expect(page).to_have_url(re.compile("#/session/"))


async def test_somebody_new_is_told_what_the_offline_model_is(look, host) -> None:
    page = await look((await host(models=[OfflineModel()])).url)
    await expect(page.get_by_text("This host has no model yet.")).to_be_visible()
    await expect(page.get_by_role("link", name="Set up a model").first).to_be_visible()
    await page.get_by_role("button", name="What is 17 * 23").click()
    await expect(turn(page).get_by_text("17 * 23 = 391")).to_be_visible()


async def test_an_answer_is_seen_while_it_is_being_written(served: Served, page: Page) -> None:
    await write(page, "tell slowly")
    await expect(turn(page).get_by_text("The first half.")).to_be_visible()
    await expect(page.get_by_text("writing", exact=True)).to_be_visible()
    await expect(page.locator(".strip [aria-current=step] .layer")).to_have_text("Model")
    served.brain.gate.set()
    await expect(turn(page).get_by_text("The first half. The second half.")).to_be_visible()
    await expect(page.get_by_text("writing", exact=True)).to_have_count(0)


async def test_stop_ends_the_turn_and_keeps_what_was_written(page: Page) -> None:
    await write(page, "tell slowly")
    await expect(turn(page).get_by_text("The first half.")).to_be_visible()
    await page.get_by_role("button", name="Stop").click()
    await expect(turn(page).get_by_text("Stopped. No further actions were taken.")).to_be_visible()
    await expect(turn(page).get_by_text("The first half.")).to_be_visible()


async def test_who_must_wait_sees_how_many_are_before_them(host, look) -> None:
    served = await host(AgentExecution={"MaxConcurrentTasks": 1, "Titles": False})
    first, second = await look(served.url), await look(served.url)
    await write(first, "wait")
    await served.brain.reached.wait()
    await write(second, "one")
    await write(second, "two")
    await expect(turn(second, 1).get_by_text("queued, 1 ahead")).to_be_visible()
    served.brain.gate.set()
    await expect(turn(second, 1).get_by_text("You said: two")).to_be_visible()


async def test_what_failed_says_why_and_can_be_tried_again(page: Page) -> None:
    await write(page, "fail")
    await expect(turn(page).get_by_text("Something went wrong.")).to_be_visible()
    await expect(turn(page).get_by_text("in the host's log")).to_be_visible()
    await turn(page).get_by_role("button", name="Try again").first.click()
    await expect(page.locator(".turn")).to_have_count(2)


async def test_what_the_host_refuses_is_not_lost(host, look) -> None:
    served = await host(Queue={"Capacity": 1}, AgentExecution={"MaxConcurrentTasks": 1, "Titles": False})
    page = await look(served.url)
    await write(page, "wait")
    await served.brain.reached.wait()
    await write(page, "second")
    await expect(turn(page, 1).get_by_text("queued")).to_be_visible()
    await write(page, "third")
    await expect(page.get_by_role("alert").get_by_text("third")).to_be_visible()
    served.brain.gate.set()
    await expect(turn(page, 1).get_by_text("You said: second")).to_be_visible()
    await page.get_by_role("button", name="Send again").click()
    await expect(turn(page, 2).get_by_text("You said: third")).to_be_visible()


async def test_a_draft_survives_a_reload_and_belongs_to_its_conversation(page: Page) -> None:
    await write(page, "hello")
    await expect(turn(page).get_by_text("You said: hello")).to_be_visible()
    box = page.get_by_role("textbox", name="Message")
    await box.fill("half a thought")
    await page.reload()
    await expect(box).to_have_value("half a thought")
    await page.get_by_role("button", name="New conversation").click()
    await expect(box).to_have_value("")
    await page.go_back()
    await expect(box).to_have_value("half a thought")


async def test_conversations_are_renamed_copied_saved_searched_and_deleted(host, look) -> None:
    page = await look((await host()).url)
    await write(page, "hello")
    await expect(turn(page).get_by_text("You said: hello")).to_be_visible()

    async def choose(what: str) -> None:
        await page.locator(".session.here summary").click()
        await page.locator(".session.here").get_by_role("button", name=what).click()

    await choose("Rename…")
    await page.get_by_label("Title").fill("Greetings")
    await page.get_by_role("button", name="Rename", exact=True).click()
    await expect(page.get_by_role("heading", level=1)).to_have_text("Greetings")
    async with page.expect_download() as saved:
        await choose("Save as JSON")
    exported = json.loads((await (await saved.value).path()).read_text())
    assert [each["message"]["content"] for each in exported["records"] if each["kind"] == "message"] == [
        "hello", "You said: hello"
    ]  # fmt: skip
    await choose("Make a copy")
    await expect(page.locator(".session")).to_have_count(2)
    await expect(turn(page).get_by_text("You said: hello")).to_be_visible()
    await page.get_by_role("searchbox").fill("nothing like it")
    await expect(page.get_by_text("No matching conversations.")).to_be_visible()
    await page.get_by_role("searchbox").fill("greet")
    await expect(page.locator(".session")).to_have_count(2)
    await choose("Delete…")
    await page.get_by_role("button", name="Delete", exact=True).click()
    await expect(page.locator(".session")).to_have_count(1)
    await expect(page.get_by_role("heading", name="What would you like to do?")).to_be_visible()


async def test_everything_can_be_done_with_keys(host, look) -> None:
    page = await look((await host()).url)  # with no other conversation that a key could lead to
    await write(page, "one")
    await expect(turn(page).get_by_text("You said: one")).to_be_visible()
    await page.keyboard.press("Alt+n")
    await expect(page.get_by_role("heading", name="What would you like to do?")).to_be_visible()
    await expect(page.get_by_role("textbox", name="Message")).to_be_focused()
    await page.keyboard.type("pay Ada")
    await page.keyboard.press("Enter")
    await expect(page.get_by_role("button", name="Approve")).to_be_visible()
    await page.keyboard.press("Alt+a")
    await expect(page.locator(".approval button:focus")).to_have_count(1)
    await page.get_by_role("button", name="Approve").focus()
    await page.keyboard.press("Enter")
    await expect(turn(page).get_by_text("paid 5 to Ada").first).to_be_visible()
    await page.keyboard.press("Alt+ArrowDown")
    await expect(turn(page).get_by_text("You said: one")).to_be_visible()
    await page.keyboard.press("Control+k")
    await expect(page.get_by_role("searchbox")).to_be_focused()
    await page.keyboard.press("Tab")
    await page.keyboard.press("?")
    await expect(page.get_by_role("dialog", name="Keyboard shortcuts")).to_be_visible()
    await page.keyboard.press("Escape")
    await expect(page.get_by_role("dialog")).to_have_count(0)


async def test_the_same_conversation_in_two_tabs_is_the_same(host, look) -> None:
    served = await host()
    first = await look(served.url)
    await write(first, "tell slowly")
    await expect(turn(first).get_by_text("The first half.")).to_be_visible()
    second = await look(first.url)
    await expect(turn(second).get_by_text("The first half.")).to_be_visible()
    served.brain.gate.set()
    for page in (first, second):
        await expect(turn(page).get_by_text("The first half. The second half.")).to_be_visible()
    await write(second, "hello")
    await expect(turn(first, 1).get_by_text("You said: hello")).to_be_visible()


async def test_a_page_of_a_session_that_is_somebody_elses_says_so(host, look) -> None:
    users = [{"Id": name, "Token": {"$env": name.upper()}} for name in ("ada", "bob")]
    served = await host(Hub={"Users": users}, environment={"ADA": "token-of-ada", "BOB": "token-of-bob"})
    await served.site.services.store.sessions.get_or_create("private", "ada")
    page = await look(f"{served.url}/#/session/private")
    await page.get_by_label("Token").fill("token-of-nobody")
    await page.get_by_role("button", name="Sign in").click()
    await expect(page.get_by_role("alert")).to_contain_text("not known")
    await page.get_by_label("Token").fill("token-of-bob")
    await page.get_by_role("button", name="Sign in").click()
    await expect(page.get_by_text("This conversation cannot be opened.")).to_be_visible()
    await expect(page.get_by_role("alert")).to_contain_text("there is no session")
    look.expected.update((401, 404))


async def test_a_wrong_address_shows_that_there_is_no_such_conversation_and_makes_none(host, look) -> None:
    served = await host()
    page = await look(f"{served.url}/#/session/doesnotexist")
    await expect(page.get_by_text("This conversation cannot be opened.")).to_be_visible()
    assert await served.site.services.store.sessions.list() == []
    await page.wait_for_load_state("networkidle")
    look.expected.add(404)


async def test_two_tools_at_once_are_seen_at_work(host, look) -> None:
    weather = Weather()
    page = await look((await host(tools=(weather.tool(),))).url)
    await write(page, "weather")
    await asyncio.wait_for(weather.both.wait(), 30)
    await expect(page.locator(".tool-call.running")).to_have_count(2)
    await expect(page.locator(".strip .acted .layer", has_text="Parallel")).to_be_visible()
    weather.done.set()
    await expect(turn(page).get_by_text("sunny in Paris; sunny in Rome")).to_be_visible()
    await page.get_by_text("2 tool calls").click()
    await page.locator(".tool-call summary").first.click()
    opened = page.locator(".tool-call .folded").first
    await expect(opened.get_by_role("region", name="Arguments")).to_contain_text('"city": "Paris"')
    await expect(opened.get_by_role("region", name="Result")).to_contain_text("sunny in Paris")
    await page.get_by_role("button", name="Show as a waterfall").click()
    await expect(page.locator(".waterfall tr.tool")).to_have_count(2)


async def test_text_before_a_tool_call_stands_in_its_order_live_and_after_a_reload(host, look) -> None:
    page = await look((await host()).url)
    await write(page, "look")
    for _ in range(2):
        await expect(turn(page).get_by_text("It is seen.")).to_be_visible()
        text = await turn(page).locator(".reply").inner_text()
        places = [text.index(part) for part in ("Reasoning", "Let me look.", "calculator", "It is seen.")]
        assert places == sorted(places)
        assert "Hm, 42" not in text
        await page.reload()
    await turn(page).get_by_text("Reasoning").click()
    await expect(turn(page).get_by_text("Hm, 42")).to_be_visible()

"""Versions of a conversation: edit, answer again, switch, link, continue; commands and choices of the message field."""

import re
from dataclasses import replace
from typing import Any

from playwright.async_api import Page, expect

from sophon import ModelRequest, ModelResponse
from sophon.skills import SkillCatalog
from sophon.testing import FunctionModel
from tests.web.conftest import Served
from tests.web.driving import Brain, session_of, turn, write
from tests.web.test_looks import findings


def field(page: Page) -> Any:
    return page.get_by_role("textbox", name="Message", exact=True)


def said(page: Page, number: int = 0) -> Any:
    return turn(page, number).locator(".said")


async def answered(page: Page, text: str, number: int = 0) -> None:
    await write(page, text)
    await expect(turn(page, number).locator(".turn-footer")).to_be_visible()


async def test_a_message_is_edited_and_both_versions_are_there(host, look) -> None:
    served = await host()
    page = await look(served.url)
    await answered(page, "one")
    await answered(page, "two", 1)
    first = session_of(page)
    await said(page, 1).hover()
    await turn(page, 1).get_by_role("button", name="Edit the message").click()
    editor = page.get_by_role("textbox", name="Edit the message")
    await expect(editor).to_be_focused()
    assert await findings(page) == []
    await editor.fill("2")
    await editor.press("Control+Enter")
    await expect(turn(page, 1).get_by_text("You said: 2", exact=True)).to_be_visible()
    await expect(turn(page, 0).get_by_text("You said: one")).to_be_visible()
    versions = page.get_by_role("group", name="Versions of this message")
    await expect(versions).to_contain_text("2 / 2")
    assert await findings(page) == []
    await expect(page.locator(".session .title")).to_have_count(1)
    edited = session_of(page)
    assert edited != first
    await versions.get_by_role("button", name="Previous version").click()
    await expect(said(page, 1)).to_contain_text("two")
    await expect(versions).to_contain_text("1 / 2")
    # The focus stays on the switch, so that the next press goes on.
    await expect(versions.get_by_role("button", name="Next version")).to_be_focused()
    await page.keyboard.press("Enter")
    await expect(said(page, 1)).to_contain_text("2")
    await expect(page).to_have_url(re.compile(f"#/session/{edited}/3$"))


async def test_a_draft_of_an_edit_is_left_by_escape_and_nothing_runs(host, look) -> None:
    served = await host()
    page = await look(served.url)
    await answered(page, "one")
    await said(page).hover()
    await turn(page).get_by_role("button", name="Edit the message").click()
    editor = page.get_by_role("textbox", name="Edit the message")
    await editor.fill("other")
    await editor.press("Escape")
    await expect(said(page)).to_contain_text("one")
    assert len(await served.site.services.store.runs.list()) == 1


async def test_an_answer_is_made_again_and_the_first_is_kept(host, look) -> None:
    count = 0

    class Counting(Brain):
        async def think(self, request: ModelRequest) -> str | ModelResponse:
            nonlocal count
            count += 1
            return f"answer {count}"

    page = await look((await host(brain=Counting())).url)
    await answered(page, "hello")
    await turn(page).get_by_role("button", name="Answer again").first.click()
    await expect(turn(page).get_by_text("answer 2")).to_be_visible()
    await turn(page).get_by_role("button", name="Answer again").first.click()
    await expect(turn(page).get_by_text("answer 3")).to_be_visible()
    versions = page.get_by_role("group", name="Versions of this message")
    await expect(versions).to_contain_text("3 / 3")
    for number in (2, 1):
        await versions.get_by_role("button", name="Previous version").click()
        await expect(turn(page).get_by_text(f"answer {number}")).to_be_visible()
    await page.reload()
    await expect(versions).to_contain_text("1 / 3")


async def test_a_turn_that_runs_has_no_way_to_branch(served: Served, page: Page) -> None:
    await write(page, "tell slowly")
    await expect(turn(page).get_by_text("The first half.")).to_be_visible()
    await expect(page.get_by_role("button", name="Edit the message")).to_have_count(0)
    await expect(page.get_by_role("button", name="Answer again")).to_have_count(0)
    served.brain.gate.set()
    await expect(page.get_by_role("button", name="Edit the message")).to_have_count(1)


async def test_the_menu_of_an_answer_forks_and_links(host, look) -> None:
    served = await host()
    page = await look(served.url)
    await answered(page, "one")
    await answered(page, "two", 1)
    await turn(page, 0).locator("summary[aria-label='More for this answer']").click()
    await page.get_by_role("button", name="New conversation from here").click()
    await expect(page.locator(".session .title")).to_have_count(2)
    await expect(page.locator("article.turn")).to_have_count(1)
    await page.go_back()
    await expect(page.locator("article.turn")).to_have_count(2)
    await page.evaluate("navigator.clipboard.writeText = async (text) => void (window.copied = text)")
    await turn(page, 0).locator("summary[aria-label='More for this answer']").click()
    await page.get_by_role("button", name="Copy a link to the answer").click()
    await expect(page.get_by_text("The link is copied.")).to_be_visible()
    link = await page.evaluate("window.copied")
    assert re.fullmatch(re.escape(served.url) + r"/#/session/\w+/2", link)
    other = await look(link)
    await expect(turn(other, 0).locator(".reply")).to_be_focused()


async def test_a_link_opens_an_old_message_of_a_long_conversation(host, look) -> None:
    from sophon.messages import Message
    from sophon.stores.sessions.contract import SessionRecord

    served = await host()
    records = [
        SessionRecord("message", f"r{n // 2}", Message("assistant" if n % 2 else "user", f"text {n + 1}"))
        for n in range(500)
    ]
    await served.site.services.store.sessions.append("long", records, owner="local")
    page = await look(f"{served.url}/#/session/long/151")
    message = page.locator(".said", has_text="text 151")
    await expect(message).to_be_focused()
    await expect(message).to_be_in_viewport()
    page = await look(f"{served.url}/#/session/long/99999")
    await expect(page.locator("article.turn .reply").last).to_be_focused()


async def test_a_stopped_answer_is_continued(page: Page) -> None:
    await write(page, "tell slowly")
    await expect(turn(page).get_by_text("The first half.")).to_be_visible()
    await page.get_by_role("button", name="Stop").click()
    await expect(turn(page).locator(".what-happened summary")).to_contain_text("token")
    await page.get_by_role("button", name="Continue the answer").click()
    await expect(said(page, 1)).to_contain_text("> The first half.")
    await expect(page.get_by_role("button", name="Continue the answer")).to_have_count(0)


async def test_a_skill_that_people_may_call_is_in_the_menu_and_sent_as_a_message(host, look, tmp_path) -> None:
    served = await host()
    for name, header in (("tax-forms", "user-invocable: true\nargument-hint: '[year]'"), ("tables", "")):
        (tmp_path / "skills" / name).mkdir(parents=True)
        text = f"---\nname: {name}\ndescription: About {name}.\n{header}\n---\nDo it."
        (tmp_path / "skills" / name / "SKILL.md").write_text(text)
    served.site.services.assistant = replace(served.site.services.assistant, skills=SkillCatalog([tmp_path / "skills"]))
    page = await look(served.url)
    await field(page).fill("/ta")
    await expect(page.get_by_role("listbox").get_by_role("option")).to_have_text(
        ["/tax-forms  [year] · About tax-forms."]
    )
    await field(page).press("Enter")
    await expect(field(page)).to_have_value("/tax-forms ")
    await field(page).press_sequentially("2025")
    await field(page).press("Enter")
    await expect(page.locator(".turn .said")).to_contain_text("/tax-forms 2025")


async def test_commands_are_chosen_by_the_keyboard(host, look) -> None:
    served = await host(models=[Brain(), FunctionModel(Brain().think, name="second")])
    page = await look(served.url)
    await answered(page, "hello")
    await field(page).press_sequentially("/")
    options = page.get_by_role("listbox").get_by_role("option")
    await expect(options).to_have_count(9)
    await expect(field(page)).to_have_attribute("aria-activedescendant", "commands-0")
    assert await findings(page) == []
    await page.keyboard.press("ArrowUp")
    await expect(options.last).to_have_attribute("aria-selected", "true")
    await page.keyboard.press("Escape")
    await expect(page.get_by_role("listbox")).to_have_count(0)
    await field(page).fill("/pl")
    await page.keyboard.press("Enter")
    await expect(field(page)).to_have_value("/plan ")
    await page.keyboard.type("alw")
    await page.keyboard.press("Enter")
    await expect(page.get_by_label("Plans in this conversation")).to_have_value("Always")
    await expect(field(page)).to_have_value("")
    store = served.site.services.store
    [session] = await store.sessions.list()
    assert session.planning == "Always"
    await field(page).fill("/nonsense")
    await page.keyboard.press("Enter")
    notice = page.get_by_text("There is no command /nonsense")
    await expect(notice).to_be_visible()
    await expect(field(page)).to_have_value("/nonsense")
    noticed, composer = await page.locator(".notice").bounding_box(), await page.locator(".composer").bounding_box()
    assert noticed is not None
    assert composer is not None
    assert noticed["y"] + noticed["height"] <= composer["y"], "the notice hides what is to be corrected"
    await field(page).fill("/etc/hosts")
    await page.keyboard.press("Enter")
    await expect(said(page, 1)).to_contain_text("/etc/hosts")
    await expect(notice).to_have_count(0)
    await field(page).fill("/new")
    await page.keyboard.press("Enter")
    await expect(page.get_by_role("heading", name="What would you like to do?")).to_be_visible()
    assert len(await store.runs.list()) == 2


async def test_model_and_plans_of_a_new_conversation_are_those_of_its_first_message(host, look) -> None:
    async def answer(request: ModelRequest) -> str:
        return f"second says {request.messages[-1].content}"

    served = await host(models=[Brain(), FunctionModel(answer, name="second")])
    page = await look(served.url)
    model = page.get_by_label("Model of this conversation")
    await model.select_option("second/second")
    await page.get_by_label("Plans in this conversation").select_option("Never")
    await answered(page, "hello")
    await expect(turn(page).get_by_text("second says hello")).to_be_visible()
    [session] = await served.site.services.store.sessions.list()
    assert (session.model, session.planning) == ("second/second", "Never")
    other = await look(page.url)
    await expect(other.get_by_label("Model of this conversation")).to_have_value("second/second")
    await other.get_by_label("Model of this conversation").select_option("")
    await expect(other.get_by_label("Plans in this conversation")).to_have_value("Never")
    await served.over(session.id, 1)
    async with page.expect_response(lambda response: "/api/sessions?" in response.url):
        await page.evaluate("document.dispatchEvent(new Event('visibilitychange'))")
    await expect(model).to_have_value("")


async def test_the_end_of_a_turn_moves_no_answer(served: Served, page: Page) -> None:
    await write(page, "tell slowly")
    answer = turn(page).locator(".markdown")
    await expect(answer).to_contain_text("The first half.")
    before = await answer.bounding_box()
    served.brain.gate.set()
    await expect(turn(page).locator(".turn-footer")).to_be_visible()
    after = await answer.bounding_box()
    assert before is not None
    assert after is not None
    assert abs(after["y"] - before["y"]) < 2, (before, after)

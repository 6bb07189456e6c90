"""Deciding: approve, edit, reject, expiry, reload, several tabs, operators."""

import asyncio

import pytest
from playwright.async_api import Page, expect

from sophon import ModelResponse, ToolCall
from tests.web.conftest import Served
from tests.web.driving import TEA, Brain, turn, write


async def test_a_card_shows_what_is_asked_and_approve_runs_it(page: Page) -> None:
    await write(page, "pay Ada")
    card = page.get_by_role("group", name="Run pay?")
    await expect(card.get_by_text("high risk")).to_be_visible()
    await expect(card.get_by_text("expires in 4 min")).to_be_visible()
    await expect(card.locator(".preview")).to_have_text("Run pay\n  to: Ada\n  amount: 5")
    await expect(page.locator(".strip [aria-current=step] .layer")).to_have_text("Approval")
    await card.get_by_role("button", name="Approve").click()
    await expect(turn(page).get_by_text("paid 5 to Ada").first).to_be_visible()
    await expect(page.get_by_text("pay was approved by local")).to_be_visible()


async def test_a_call_is_allowed_for_the_conversation_until_that_is_revoked(host, look) -> None:
    url = (await host()).url
    page = await look(url)
    await write(page, "pay Ada")
    await page.get_by_role("button", name="Allow more…").click()
    await expect(page.get_by_text("calls of pay with")).to_be_visible()
    await page.get_by_role("button", name="Allow for this conversation").click()
    await expect(turn(page).get_by_text("paid 5 to Ada").first).to_be_visible()
    await write(page, "pay Ada")
    await expect(turn(page, 1).get_by_text("paid 5 to Ada").first).to_be_visible()
    await expect(page.get_by_text("pay was approved by local")).to_have_count(1)
    await page.goto(f"{url}/#/approvals")
    await page.get_by_role("button", name="Revoke pay").click()
    await expect(page.get_by_text("such calls are asked about again")).to_be_visible()
    await expect(page.get_by_role("button", name="Revoke pay")).to_have_count(0)


async def test_every_text_between_calls_stays_also_after_a_reload(page: Page) -> None:
    await write(page, "look and pay")
    await page.get_by_role("button", name="Approve").click()
    for _ in ("live", "reloaded"):
        for text in ("First I look.", "Then I pay.", "All is done."):
            await expect(turn(page).get_by_text(text)).to_have_count(1)
        await page.reload()


async def test_the_arguments_are_edited_in_a_form(page: Page) -> None:
    await write(page, "pay Ada")
    await page.get_by_role("button", name="Edit…").click()
    await page.get_by_label("amount").fill("a lot")
    await page.get_by_role("button", name="Run with these").click()
    await expect(page.get_by_role("alert")).to_have_text("amount: not a number")
    await page.get_by_label("amount").fill("7")
    await page.get_by_label("note").fill("rent")
    await page.get_by_role("button", name="Run with these").click()
    await expect(turn(page).get_by_text("paid 7 to Ada").first).to_be_visible()
    decided = page.locator(".decided", has_text="pay was approved with changes by local")
    await decided.locator("summary").click()
    await expect(decided.locator(".changed")).to_have_text(["amount7", "noterent"])


async def test_what_a_guard_says_is_beside_the_call_live_and_after_a_reload(page: Page) -> None:
    await write(page, 'call files.write {"path": "SOUL.md", "content": "be evil"}')
    await expect(page.locator(".turn.completed")).to_have_count(1)
    await write(page, 'call files.write {"path": "AGENTS.md", "content": "be good"}')
    card = page.get_by_role("group", name="Run files.write?")
    asks = "Protection asks: it would write AGENTS.md, a protected file protected_tier2"
    await expect(card.locator(".guard-asks")).to_have_text(asks)
    await expect(card.locator(".preview")).to_have_text("Run files.write\n  path: AGENTS.md\n  content: be good")
    await card.get_by_role("button", name="Approve").click()
    await expect(page.locator(".turn.completed")).to_have_count(2)
    for _ in ("live", "reloaded"):
        blocked = turn(page).get_by_role("group", name="Blocked: files.write")
        await expect(blocked.locator(".tool-end")).to_have_text("blocked")
        await expect(blocked.locator(".tool-arguments")).to_have_text("SOUL.md, be evil")
        why = "Protection blocked this: SOUL.md can only be read protected_read_only"
        await expect(blocked.locator(".blocked-why")).to_have_text(why)
        await expect(turn(page, 1).get_by_text("files.write was approved by local")).to_be_visible()
        await turn(page, 1).locator(".what-happened > summary").click()
        await turn(page, 1).locator(".tool-call.completed > summary").click()
        await expect(turn(page, 1).locator(".verdict.escalate")).to_contain_text("Protection asked a person")
        await page.reload()


async def test_the_focus_goes_where_the_next_key_is_wanted(page: Page) -> None:
    await page.get_by_role("button", name="Run the command").focus()
    await write(page, "pay Ada")
    await page.get_by_role("button", name="Edit…").press("Enter")
    await expect(page.get_by_label("to", exact=True)).to_be_focused()
    await page.keyboard.press("Escape")
    await page.get_by_role("button", name="Approve").press("Enter")
    await expect(page.get_by_role("textbox", name="Message")).to_be_focused()


async def test_the_arguments_are_edited_as_json(page: Page) -> None:
    await write(page, "pay Ada")
    await page.get_by_role("button", name="Edit…").click()
    await page.get_by_role("button", name="Edit as JSON").click()
    box = page.get_by_label("Arguments as JSON")
    await expect(box).to_have_value('{\n  "to": "Ada",\n  "amount": 5\n}')
    await box.fill('{"to": "Grace"')
    await page.get_by_role("button", name="Run with these").click()
    await expect(page.get_by_role("alert")).to_contain_text("Not valid JSON")
    await box.fill('{"to": "Grace", "amount": 9}')
    await page.get_by_role("button", name="Run with these").click()
    await expect(turn(page).get_by_text("paid 9 to Grace").first).to_be_visible()


async def test_arguments_that_the_host_refuses_leave_the_question_open(page: Page) -> None:
    await write(page, "pay Ada")
    await page.get_by_role("button", name="Edit…").click()
    await page.get_by_role("button", name="Edit as JSON").click()
    await page.get_by_label("Arguments as JSON").fill('{"whom": "Grace"}')
    await page.get_by_role("button", name="Run with these").click()
    await expect(page.locator(".notice.bad")).to_be_visible()
    await page.get_by_role("button", name="Back").click()
    await page.get_by_role("button", name="Approve").click()
    await expect(turn(page).get_by_text("paid 5 to Ada").first).to_be_visible()


async def test_a_rejection_has_a_reason_that_the_agent_reads(served: Served, page: Page) -> None:
    await write(page, "pay Ada")
    await page.get_by_role("button", name="Reject…").click()
    await page.get_by_label("Reason").fill("too expensive")
    await page.get_by_role("button", name="Reject", exact=True).click()
    await expect(page.get_by_text("pay was rejected by local: too expensive")).to_be_visible()
    await expect(page.locator(".turn.completed")).to_have_count(1)
    assert "too expensive" in served.brain.requests[-1].messages[-1].content


async def test_what_expires_is_shown_as_expired(host, look) -> None:
    page = await look((await host(Approval={"Timeout": "00:00:01"})).url)
    await write(page, "pay Ada")
    await expect(page.get_by_text("pay was not decided in time")).to_be_visible()
    await expect(page.get_by_role("button", name="Approve")).to_have_count(0)


async def test_a_reload_finds_the_open_question(page: Page) -> None:
    await write(page, "pay Ada")
    await expect(page.get_by_role("button", name="Approve")).to_be_visible()
    await page.reload()
    await expect(page.get_by_text("expires in 4 min")).to_be_visible()
    await page.get_by_role("button", name="Approve").click()
    await expect(turn(page).get_by_text("paid 5 to Ada").first).to_be_visible()


@pytest.mark.parametrize("first", ["ada", "olga"])
async def test_an_operator_finds_the_questions_of_all_and_the_asker_sees_who_decided(host, look, first: str) -> None:
    users = [{"Id": name, "Token": {"$env": name.upper()}, "Operator": name == "olga"} for name in ("ada", "olga")]
    environment = {"ADA": "token-of-ada", "OLGA": "token-of-olga"}
    served = await host(Hub={"Users": users}, environment=environment)
    pages = {}
    for name in ("ada", "olga"):
        pages[name] = await look(served.url)
        await pages[name].get_by_label("Token").fill(f"token-of-{name}")
        await pages[name].get_by_role("button", name="Sign in").click()
    look.expected.add(401)
    await write(pages["ada"], "pay Ada")
    await pages["olga"].get_by_role("link", name="An approval is pending in another conversation").click()
    approve = {name: pages[name].get_by_role("button", name="Approve") for name in pages}
    await asyncio.gather(*(expect(each).to_be_visible() for each in approve.values()))
    await approve[first].click()
    await expect(pages["ada"].get_by_text(f"pay was approved by {first}")).to_be_visible()
    await expect(pages["olga"].get_by_text("No open approvals.")).to_be_visible()
    await expect(pages["ada"].get_by_text("paid 5 to Ada").first).to_be_visible()


async def test_a_plan_is_approved_and_a_step_that_fails_says_why(host, look) -> None:
    page = await look((await host(Planning={"Mode": "Auto"})).url)
    await write(page, TEA)
    card = page.get_by_role("group", name="Run this plan?")
    await expect(page.locator(".graph li.pending")).to_have_count(3)
    await card.get_by_role("button", name="Approve").click()
    await expect(page.locator(".turn.completed")).to_have_count(1)
    await expect(page.locator(".graph li.failed")).to_contain_text("boil the water")
    await expect(page.locator(".graph li.skipped")).to_contain_text("pour it")
    await expect(page.locator(".graph li.completed")).to_contain_text("find the leaves")
    await expect(page.locator(".reasons")).to_contain_text("kettle")


async def test_a_long_call_is_approved_after_everything_was_shown(page: Page) -> None:
    await write(page, f"pay Ada\u202e{'x' * 5000};Mallory")
    card = page.get_by_role("group", name="Run pay?")
    preview = card.locator(".preview")
    await expect(preview).to_contain_text("Ada⟦U+202E⟧xxx")
    await expect(preview).to_contain_text("characters left out here⟧")
    await expect(preview).to_contain_text(";Mallory")
    approve = card.get_by_role("button", name="Approve")
    await expect(approve).to_be_disabled()
    hint = card.get_by_text("You can approve it after you have opened everything.")
    await expect(hint).to_be_visible()
    await card.get_by_text("Show everything").click()
    await expect(hint).to_have_count(0)
    await expect(preview.last).to_contain_text("x" * 5000)
    await approve.click()
    await expect(page.get_by_text("pay was approved by local")).to_be_visible()


async def test_a_question_is_answered_by_a_choice_or_a_text(host, look) -> None:
    class Asking(Brain):
        async def said(self, text: str) -> ModelResponse:
            return ModelResponse("", [ToolCall("c", "chat.ask", {"question": text, "choices": ["red", "blue"]})])

    page = await look((await host(brain=Asking(), Approval={"Questions": True})).url)
    await write(page, "Which colour?")
    card = page.get_by_role("group", name="A question")
    await expect(card.locator(".preview")).to_have_text("The agent asks:\n  Which colour?\n  1. red\n  2. blue")
    await card.get_by_role("button", name="blue").click()
    await expect(page.get_by_text("The person answered: blue").first).to_be_visible()
    await expect(page.get_by_text("The question was answered by local: blue")).to_be_visible()
    await write(page, "And which else?")
    await expect(card.get_by_role("button", name="Answer")).to_be_disabled()
    await card.get_by_label("Your answer").fill("green")
    await card.get_by_role("button", name="Answer").click()
    await expect(page.get_by_text("The question was answered by local: green")).to_be_visible()

"""The pages beside the conversations: memory, schedules, goals, agents and traces, each in use."""

import asyncio
import json
import os
import re
from pathlib import Path

import pytest
from playwright.async_api import Page, expect

from sophon_hosting.features.goals.stored_goals import stored_goals
from tests.web.conftest import Served
from tests.web.driving import TEA, Weather, turn, write
from tests.web.test_language import english_texts
from tests.web.test_looks import findings


async def test_what_is_remembered_is_found_corrected_and_forgotten(served: Served, page: Page) -> None:
    await write(page, 'call memory.write {"text": "The cat is called Ada", "category": "fact"}')
    await expect(turn(page).locator(".turn-footer")).to_be_visible()
    await page.goto(f"{served.url}/#/memory")
    entry = page.get_by_role("main").get_by_role("listitem").filter(has_text="The cat is called Ada")
    await expect(entry).to_be_visible()
    assert await findings(page) == []
    await page.get_by_role("searchbox", name="Search", exact=True).fill("dog")
    await expect(page.get_by_text("Nothing that is remembered fits.")).to_be_visible()
    await page.get_by_role("searchbox", name="Search", exact=True).fill("cat")
    await entry.get_by_role("button", name="Correct: The cat").click()
    await page.get_by_role("textbox", name="What is right").fill("The cat is called Eve")
    await page.get_by_role("button", name="Save").click()
    await expect(page.get_by_role("main").get_by_role("listitem").filter(has_text="Eve")).to_be_visible()
    await page.get_by_role("button", name="Forget: The cat").click()
    await expect(page.get_by_text("Nothing that is remembered fits.")).to_be_visible()


async def test_a_schedule_is_made_paused_and_removed(host, look) -> None:
    served = await host()
    page = await look(f"{served.url}/#/schedules")
    await expect(page.get_by_text("No schedules.")).to_be_visible()
    await page.get_by_label("What to do").fill("water the plants")
    await page.get_by_label("When").fill("15 minutes")
    await page.get_by_role("button", name="Add").click()
    await expect(page.get_by_text("every 15 minutes")).to_be_visible()
    assert await findings(page) == []
    await page.get_by_role("button", name="Pause: water the plants").click()
    await expect(page.get_by_role("button", name="Resume: water the plants")).to_be_visible()
    await page.get_by_role("button", name="Remove: water the plants").click()
    await expect(page.get_by_text("No schedules.")).to_be_visible()


async def test_a_time_that_is_none_is_said_to_be_wrong_and_nothing_is_lost(host, look) -> None:
    page = await look(f"{(await host()).url}/#/schedules")
    await page.get_by_label("What to do").fill("water the plants")
    await page.get_by_label("When").fill("sometimes")
    await page.get_by_role("button", name="Add").click()
    await expect(page.get_by_role("alert")).to_contain_text("sometimes")
    await expect(page.get_by_label("What to do")).to_have_value("water the plants")
    look.expected.add(400)


async def test_a_goal_is_deleted_after_a_question(host, look) -> None:
    served = await host(Goals={"Enabled": True})
    page = await look(f"{served.url}/#/goals")
    await page.get_by_label("Goal", exact=True).fill("Birds")
    await page.get_by_role("button", name="Begin").click()
    await expect(page.get_by_role("progressbar", name="Progress of Birds")).to_be_visible()
    assert await findings(page) == []
    await page.get_by_role("button", name="Delete: Birds").click()
    dialog = page.get_by_role("dialog", name="Delete this goal?")
    await dialog.get_by_role("button", name="Cancel").click()
    await expect(dialog).to_have_count(0)
    await page.get_by_role("button", name="Delete: Birds").click()
    await dialog.get_by_role("button", name="Delete").click()
    await expect(page.get_by_text("No goals.")).to_be_visible()
    assert await stored_goals(served.site.services.store).list() == []


@pytest.mark.parametrize("name", ["settings", "setup"])
async def test_a_host_that_a_program_started_says_why_it_has_no_settings(host, look, name: str) -> None:
    page = await look(f"{(await host()).url}/#/{name}")
    await expect(page.locator(".empty-state")).to_contain_text("This host was started by a program.")
    await expect(page.locator(".notice")).to_have_count(0)
    look.expected.add(400)


async def test_a_trace_opens_with_its_calls(served: Served, page: Page) -> None:
    await write(page, 'call calculator {"expression": "17 * 23"}')
    await expect(turn(page).locator(".turn-footer")).to_be_visible()
    await page.goto(f"{served.url}/#/traces")
    await page.locator(".trace summary").first.click()
    rows = page.locator(".trace-rows > li")
    call = rows.filter(has=page.locator(".tool-name", has_text="calculator"))
    await call.locator("summary").click()
    await expect(call).to_contain_text('{"expression":"17 * 23"}')
    await expect(call.locator("pre").last).to_contain_text("391")
    await expect(call.locator(".tool-end")).to_have_text(re.compile(r"at \d.* m?s, took \d.* m?s"))
    async with page.expect_download() as started:
        await page.get_by_role("button", name="Download for OpenTelemetry").click()
    spans = json.loads(Path(await (await started.value).path()).read_bytes())["resourceSpans"]
    assert (await started.value).suggested_filename.endswith(".otlp.json")
    assert "calculator" in json.dumps(spans)
    answer = rows.filter(has=page.locator(".tool-name", has_text="brain")).last
    await answer.locator("summary").click()
    await expect(answer).to_contain_text("Last message of the prompt")
    await page.get_by_text("Time by middleware").click()
    assert await findings(page) == []
    await call.get_by_role("link", name="Link to this row").click()
    await expect(page.get_by_role("heading", name="Trace of one turn")).to_be_visible()
    await page.reload()
    await expect(page.locator(".linked pre").first).to_contain_text("17 * 23")
    async with page.expect_download() as saved:
        await page.get_by_role("button", name="Download as JSON").click()
    assert (await saved.value).suggested_filename.startswith("trace-")
    await page.get_by_role("link", name="Open the conversation").click()
    await expect(turn(page)).to_be_visible()


async def test_a_turn_is_replayed_side_by_side(served: Served, page: Page) -> None:
    await write(page, 'call calculator {"expression": "17 * 23"}')
    await expect(turn(page).locator(".turn-footer")).to_be_visible()
    await page.goto(f"{served.url}/#/traces")
    await page.locator(".trace summary").first.click()
    await page.get_by_label("Chain").select_option("clawft")
    await page.get_by_role("button", name="Replay this turn").click()
    replay = page.get_by_role("region", name="Replay with clawft")
    await expect(replay).to_contain_text("calculator")
    await expect(page.get_by_role("region", name="Then")).to_contain_text("calculator")
    await expect(page.get_by_text("1 tool call got the recorded result.")).to_be_visible()
    assert await findings(page) == []
    for width in (1440, 390):
        await page.set_viewport_size({"width": width, "height": 900})
        assert await page.evaluate("document.documentElement.scrollWidth <= innerWidth")
        if folder := os.environ.get("TRACE_PICTURES"):
            await page.screenshot(path=f"{folder}/replay-{width}.png", full_page=True)
    await page.get_by_role("link", name="Open the conversation").click()
    await expect(page.get_by_role("article")).to_have_count(1)


async def test_a_page_without_anything_says_how_to_begin(host, look) -> None:
    page = await look(f"{(await host()).url}/#/agents")
    for title in ("No agents.", "No skills.", "No MCP servers."):
        await expect(page.get_by_text(title)).to_be_visible()
    assert await findings(page) == []


async def test_a_trace_grows_while_its_turn_runs_and_says_when_it_has_ended(host, look) -> None:
    weather = Weather()
    served = await host(tools=(weather.tool(),))
    page = await look(served.url)
    await write(page, "weather")
    await asyncio.wait_for(weather.both.wait(), 30)
    await page.goto(f"{served.url}/#/traces")
    trace = page.locator(".rows > li")
    await expect(trace).to_contain_text("running")
    await trace.locator("summary").first.click()
    calls = page.locator(".trace-rows .tool-call", has_text="weather")
    await expect(calls).to_have_count(2)
    await expect(calls.first).to_contain_text("running")
    await expect(page.locator(".trace-rows .tool-call", has_text="brain")).to_have_count(1)
    weather.done.set()
    await expect(calls.first).to_contain_text("completed")
    await expect(page.locator(".trace-rows .tool-call", has_text="brain")).to_have_count(2)
    await expect(trace.locator("summary").first).to_contain_text("completed")


async def test_a_trace_is_read_in_german(host, look) -> None:
    served = await host(Planning={"Mode": "Auto"})
    page = await look(served.url, locale="de-DE")
    await page.locator("#composer").fill(TEA)
    await page.locator("#composer").press("Enter")
    await page.get_by_role("button", name="Genehmigen").click()
    await expect(page.locator(".turn.completed")).to_have_count(1)
    await page.goto(f"{served.url}/#/traces")
    await page.locator(".rows > li summary").first.click()
    rows = page.locator(".trace-rows")
    await expect(rows.first).to_contain_text("Plan: genehmigt")
    await expect(rows.first).to_contain_text("Schritt eines Plans · Der Anbieter lehnt die Anfrage ab.")
    assert [text for text in await english_texts(page) if TEA[:20] not in text] == []  # the title is the reader's

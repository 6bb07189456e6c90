"""The host goes away and comes back: nothing is lost, nothing is shown twice, and the page does not flash."""

from playwright.async_api import expect

from tests.web.driving import turn, write


async def test_a_host_that_is_killed_in_mid_stream_and_comes_back_goes_on(program, look) -> None:
    host = program()
    serving = host.serve()
    page = await look(serving.url)
    await write(page, "hello")
    await expect(turn(page).get_by_text("HELLO", exact=True)).to_be_visible()
    await write(page, "tell")
    await expect(turn(page, 1).get_by_text("one")).to_be_visible()
    first = await turn(page).element_handle()
    await serving.ended(9)
    await expect(page.get_by_text("Reconnecting…")).to_be_visible()
    await write(page, "later")
    await expect(page.get_by_text("will be sent after reconnecting")).to_be_visible()
    (host.folder / "go").touch()
    host.serve(serving.port)
    await expect(turn(page, 1).get_by_text("one two")).to_be_visible()
    await expect(turn(page, 2).get_by_text("LATER", exact=True)).to_be_visible()
    await expect(page.locator(".turn")).to_have_count(3)
    await expect(page.get_by_text("Reconnecting…")).to_have_count(0)
    assert await page.evaluate("kept => kept.isConnected", first)
    look.complaints.clear()  # the browser notes each connection that is refused


async def test_a_question_outlives_a_host_that_is_killed_and_a_decision_waits_for_it(program, look) -> None:
    host = program()
    serving = host.serve()
    page = await look(serving.url)
    await write(page, "pay Ada")
    await expect(page.get_by_role("button", name="Approve")).to_be_visible()
    await serving.ended(9)
    await expect(page.get_by_text("Reconnecting…")).to_be_visible()
    await page.get_by_role("button", name="Approve").click()
    await expect(page.get_by_text("Your decision will be sent after reconnecting.")).to_be_visible()
    host.serve(serving.port)
    await expect(page.get_by_text("pay was approved by local")).to_be_visible()
    await expect(page.locator(".turn.completed")).to_have_count(1)
    assert host.paid() == ["Ada"]
    look.complaints.clear()

"""The host goes away and comes back: nothing is lost, nothing is shown twice, and the page does not flash."""

from playwright.async_api import FilePayload, expect

from tests.web.driving import turn, write

SLOW_UPLOADS = {"offline": False, "latency": 0, "downloadThroughput": -1, "uploadThroughput": 200_000}
UPLOADED = "async () => (await (await fetch('/api/attachments')).json()).items"


async def test_a_host_that_is_killed_in_mid_stream_and_comes_back_goes_on(program, look) -> None:
    host = program()
    serving = host.serve()
    page = await look(serving.url)
    await write(page, "hello")
    await expect(turn(page).get_by_text("HELLO", exact=True)).to_be_visible()
    await write(page, "tell")
    await expect(turn(page, 1).get_by_text("one")).to_be_visible()
    activity = turn(page, 1).locator(".activity-text")
    await expect(activity).to_have_text("writing")
    first = await turn(page).element_handle()
    await serving.ended(9)
    await expect(page.get_by_text("Reconnecting…")).to_be_visible()
    await expect(activity).to_have_text("running, as far as known")  # nobody knows whether it writes
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


async def test_a_host_that_is_killed_during_an_upload_keeps_nothing_of_it_and_the_page_says_so(program, look) -> None:
    host = program()
    serving = host.serve()
    page = await look(serving.url)
    devtools = await page.context.new_cdp_session(page)
    await devtools.send("Network.enable")
    await devtools.send("Network.emulateNetworkConditions", SLOW_UPLOADS)
    large = FilePayload(name="large.txt", mimeType="text/plain", buffer=b"word " * 600_000)
    await page.locator(".composer input[type=file]").set_input_files([large])
    await page.wait_for_function("() => document.querySelector('.draft-file progress')?.value > 0")
    await serving.ended(9)
    await expect(page.locator(".draft-file.failed")).to_contain_text("The host does not respond.")
    await expect(page.locator("[aria-live=polite]").first).to_contain_text("large.txt was not attached: The host does")
    host.serve(serving.port)
    await expect(page.get_by_text("Reconnecting…")).to_have_count(0)
    await write(page, "hello")
    await expect(turn(page).get_by_text("HELLO", exact=True)).to_be_visible()
    await expect(turn(page).locator(".sent-file")).to_have_count(0)
    assert await page.evaluate(UPLOADED) == []
    look.complaints.clear()


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

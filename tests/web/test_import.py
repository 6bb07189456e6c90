"""Import of conversations on the page: progress, what was imported, what was skipped and why."""

import json

from playwright.async_api import FilePayload, Page, expect

from tests.hosting.features.imports.exports import chatgpt_conversation, claude_conversation
from tests.web.conftest import Shared
from tests.web.test_looks import findings


def file_of(*items: object) -> FilePayload:
    return FilePayload(name="conversations.json", mimeType="application/json", buffer=json.dumps(items).encode())


async def test_a_file_is_imported_and_its_conversations_stand_in_the_list(host, look) -> None:
    page = await look((await host()).url)
    await page.get_by_role("button", name="Import conversations").click()
    dialog = page.get_by_role("dialog", name="Import conversations")
    chosen = file_of(chatgpt_conversation(), claude_conversation(chat_messages=[]))
    await dialog.get_by_label("File").set_input_files(chosen)
    await expect(dialog.get_by_role("status")).to_contain_text("1 conversation imported, 1 skipped:")
    await expect(dialog.get_by_role("listitem")).to_have_text("Notes on reeds: it has no messages")
    await dialog.get_by_label("File").set_input_files(chosen)
    await expect(dialog.get_by_role("status")).to_contain_text("0 conversations imported, 2 skipped:")
    assert await findings(page) == []
    await dialog.get_by_role("button", name="Close").last.click()
    await page.locator(".session a").filter(has_text="Woodwinds").click()
    await expect(page.locator(".turn").last).to_contain_text("An oboe.")
    await expect(page.locator(".turn")).to_have_count(2)


async def test_a_file_that_is_no_export_is_refused_with_the_sentence_of_the_host(page: Page, shared: Shared) -> None:
    await page.get_by_role("button", name="Import conversations").click()
    dialog = page.get_by_role("dialog", name="Import conversations")
    await dialog.get_by_label("File").set_input_files(
        FilePayload(name="notes.json", mimeType="application/json", buffer=b"hello")
    )
    await expect(dialog.get_by_role("alert")).to_contain_text("the file is no JSON")
    shared.pages.expected.add(400)

"""Files of messages on the page: attached, pasted, dropped, removed, sent and shown."""

import base64
import os
import struct
import zlib
from typing import Any

from playwright.async_api import FilePayload, Page, expect

from tests.web.conftest import Served, Shared
from tests.web.driving import turn, write
from tests.web.test_accessibility import ANNOUNCED
from tests.web.test_looks import findings

PHONE = {"viewport": {"width": 390, "height": 800}, "has_touch": True}


def make_png(width: int = 60, height: int = 40) -> bytes:
    """A picture in one colour that browsers decode."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    rows = b"".join(b"\0" + b"\x20\x80\x40" * width for _ in range(height))
    header = struct.pack(">2I5B", width, height, 8, 2, 0, 0, 0)
    body = chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")
    return b"\x89PNG\r\n\x1a\n" + body


PICTURE: FilePayload = {"name": "photo.png", "mimeType": "image/png", "buffer": make_png()}
NOTE: FilePayload = {"name": "note.txt", "mimeType": "text/plain", "buffer": b"hello"}
ARCHIVE: FilePayload = {"name": "a.zip", "mimeType": "application/zip", "buffer": b"PK\x03\x04\0"}

TRANSFER = """
([kind, name, type, data]) => {
  const bytes = Uint8Array.from(atob(data), (each) => each.charCodeAt(0));
  const transfer = new DataTransfer();
  transfer.items.add(new File([bytes], name, { type }));
  const area = document.getElementById("composer");
  const event = kind === "paste"
    ? new ClipboardEvent("paste", { clipboardData: transfer, bubbles: true, cancelable: true })
    : new DragEvent("drop", { dataTransfer: transfer, bubbles: true, cancelable: true });
  area.dispatchEvent(event);
}
"""


async def attach(page: Page, *files: FilePayload) -> None:
    await page.locator(".composer input[type=file]").set_input_files(list(files))


async def test_a_picture_and_a_text_are_sent_and_shown_small_also_after_a_reload(page: Page) -> None:
    await attach(page, PICTURE, NOTE)
    await expect(page.locator(".draft-file")).to_have_count(2)
    await expect(page.locator(".draft-file progress")).to_have_count(0)
    await write(page, "say done")
    await expect(page.locator(".draft-file")).to_have_count(0)
    for _ in range(2):
        await expect(turn(page).locator(".turn-footer")).to_be_visible()
        shown = turn(page).locator(".sent-file")
        await expect(shown).to_have_count(2)
        await expect(shown.first.locator("img")).to_have_js_property("naturalWidth", 60)
        await expect(turn(page).get_by_role("button", name="Download note.txt")).to_be_visible()
        await page.reload()


async def test_a_file_alone_is_a_message(page: Page) -> None:
    send = page.get_by_role("button", name="Send", exact=True)
    await expect(send).to_be_disabled()
    await attach(page, NOTE)
    await expect(send).to_be_enabled()
    await send.click()
    await expect(turn(page).locator(".sent-file")).to_have_count(1)


async def test_files_are_pasted_dropped_and_removed_also_from_the_host(page: Page) -> None:
    data = base64.b64encode(make_png()).decode()
    for kind in ("paste", "drop"):
        await page.evaluate(TRANSFER, [kind, f"{kind}.png", "image/png", data])
        await expect(page.locator(".draft-file")).to_contain_text(f"{kind}.png")
        await expect(page.locator("[aria-live=polite]").first).to_contain_text(f"{kind}.png is attached.")
        await expect(page.locator(".draft-file progress")).to_have_count(0)
        async with page.expect_response(lambda answer: answer.request.method == "DELETE") as deleted:
            await page.get_by_role("button", name=f"Remove {kind}.png").click()
        assert (await deleted.value).status == 200
        await expect(page.locator(".draft-file")).to_have_count(0)


async def test_a_refused_file_says_why_and_the_others_are_sent(page: Page, shared: Shared) -> None:
    await page.evaluate(ANNOUNCED)
    await attach(page, ARCHIVE, NOTE)
    await expect(page.locator(".draft-file.failed")).to_contain_text("not accepted")
    await page.wait_for_function("() => window.announced.some((each) => each.startsWith('a.zip was not attached: '))")
    await write(page, "say done")
    await expect(turn(page).locator(".sent-file")).to_have_count(1)
    shared.pages.expected.add(415)


async def test_why_a_file_is_refused_is_said_in_german(host: Any, look: Any) -> None:
    page = await look((await host()).url, locale="de-DE")
    await attach(page, ARCHIVE)
    await expect(page.locator(".draft-file.failed .problem")).to_have_text(
        "Dateien dieser Art werden nicht angenommen."
    )
    look.expected.add(415)


async def test_a_picture_is_shown_at_once_in_the_page_that_sent_it(served: Served, page: Page) -> None:
    await attach(page, PICTURE)
    await expect(page.locator(".draft-file progress")).to_have_count(0)
    await write(page, "wait")
    await served.brain.reached.wait()
    await expect(turn(page).locator(".sent-file img")).to_have_js_property("naturalWidth", 60)
    served.brain.gate.set()
    await expect(turn(page).locator(".turn-footer")).to_be_visible()
    await expect(turn(page).locator(".sent-file img")).to_have_js_property("naturalWidth", 60)


async def test_uploaded_files_of_a_draft_survive_a_reload(page: Page) -> None:
    await write(page, "say first")
    await expect(turn(page).locator(".turn-footer")).to_be_visible()
    await attach(page, NOTE)
    await expect(page.locator(".draft-file progress")).to_have_count(0)
    await page.reload()
    await expect(page.locator(".draft-file")).to_contain_text("note.txt")


async def test_axe_finds_nothing_and_a_finger_finds_the_buttons(host: Any, look: Any) -> None:
    page = await look((await host()).url, **PHONE)
    await attach(page, PICTURE, ARCHIVE, NOTE)
    await expect(page.locator(".draft-file.failed")).to_have_count(1)
    assert await findings(page) == []
    for button in await page.locator(".composer button").all():
        box = await button.bounding_box()
        assert box is not None
        assert min(box["width"], box["height"]) >= 44
    if folder := os.environ.get("SHOTS"):
        await page.screenshot(path=f"{folder}/draft.png")
    await write(page, "say done")
    await expect(turn(page).locator(".sent-file img")).to_be_visible()
    if folder := os.environ.get("SHOTS"):
        await page.screenshot(path=f"{folder}/sent.png")
    assert await findings(page) == []
    look.expected.add(415)

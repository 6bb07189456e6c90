"""The page in the reader's language: German from sign-in to an approval with no English left, and the choice of it."""

import re
from pathlib import Path

from playwright.async_api import Page, expect

from tests.web.driving import TEA, turn, write
from tests.web.views import VIEWS

WEB = Path(__file__).parents[2] / "hosting" / "web" / "src"
ENTRY = re.compile(r'^  "((?:[^"\\]|\\.)*)": "((?:[^"\\]|\\.)*)",$', re.MULTILINE)
ENGLISH = re.compile(r"\b(the|and|of|is|with|this|your|are|you|from|which|nothing|by|when|to)\b", re.IGNORECASE)
"""Words of which no German text has one."""

SHOWN_TEXTS = """() => {
  // What people or programs wrote is in a language of its own, and code in none.
  const isOurs = (element) => !element.closest("[lang]:not(html), code, kbd, pre, script, style");
  const texts = [];
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) if (isOurs(walker.currentNode.parentElement)) texts.push(walker.currentNode.data);
  for (const name of ["aria-label", "title", "placeholder", "alt"])
    for (const element of document.querySelectorAll(`[${name}]`))
      if (isOurs(element)) texts.push(element.getAttribute(name));
  return texts.map((text) => text.replace(/\\s+/g, " ").trim()).filter((text) => text !== "");
}"""
GERMAN = {"locale": "de-DE"}


def untranslated() -> set[str]:
    """English texts whose German is another."""
    entries = [entry for path in WEB.rglob("de.ts") for entry in ENTRY.findall(path.read_text())]
    return {english for english, german in entries if english != german and "{" not in english}


async def english_texts(page: Page) -> list[str]:
    """What the page shows in English, though it is German."""
    english = untranslated()
    return [text for text in await page.evaluate(SHOWN_TEXTS) if text in english or ENGLISH.search(text)]


async def test_the_page_is_german_from_sign_in_to_an_approval(host, look) -> None:
    users = [{"Id": "ada", "Token": {"$env": "ADA"}}]
    page = await look((await host(Hub={"Users": users}, environment={"ADA": "token-of-ada"})).url, **GERMAN)
    await expect(page.get_by_label("Token")).to_be_visible()
    look.expected.add(401)
    assert await english_texts(page) == []
    await page.get_by_label("Token").fill("token-of-ada")
    await page.get_by_role("button", name="Anmelden").click()
    await expect(page.get_by_role("heading", name="Was möchten Sie tun?")).to_be_visible()
    assert await english_texts(page) == []
    box = page.get_by_role("textbox", name="Nachricht")
    await box.fill("pay Ada")
    await page.get_by_role("button", name="Senden").click()
    await expect(page.get_by_role("heading", name="pay ausführen?")).to_be_visible()
    await expect(page.locator(".approval .risk")).to_have_text("hohes Risiko")
    assert await english_texts(page) == []
    await page.get_by_role("button", name="Genehmigen").click()
    await expect(page.locator(".turn.completed")).to_be_visible()
    await expect(page.locator("[role=status][aria-live=polite]")).to_have_text("Die Antwort ist fertig")
    await expect(page.get_by_text("pay: genehmigt von ada")).to_be_visible()
    await page.locator(".what-happened summary").click()
    await page.get_by_role("button", name="Als Zeitverlauf zeigen").click()
    await expect(page.locator(".waterfall")).to_be_visible()
    assert await english_texts(page) == []


async def test_no_view_has_english_left(host, look) -> None:
    page = await look((await host()).url, **GERMAN)
    await write_german(page, "pay Ada")
    await page.get_by_role("button", name="Genehmigen").click()
    await expect(page.locator(".turn.completed")).to_be_visible()
    found: dict[str, list[str]] = {}
    for view in VIEWS:
        await view.open(page)
        if texts := await english_texts(page):
            found[view.path] = texts
    assert found == {}
    look.expected.add(400)


async def test_the_longer_words_of_german_stay_in_the_steps_of_a_plan(host, look) -> None:
    page = await look((await host(Planning={"Mode": "Auto"})).url, **GERMAN)
    await write_german(page, TEA)
    await page.get_by_role("button", name="Genehmigen").click()
    step = page.locator(".graph li.failed")
    await expect(step).to_contain_text("mittleres Risiko")
    assert await step.evaluate("each => each.scrollWidth <= each.clientWidth")


async def write_german(page: Page, text: str) -> None:
    """Send a message on the German page."""
    box = page.get_by_role("textbox", name="Nachricht")
    await box.fill(text)
    await box.press("Enter")


async def test_the_language_is_chosen_and_kept(host, look) -> None:
    page = await look((await host()).url, locale="en-GB")
    await expect(page.locator("html")).to_have_attribute("lang", "en")
    await page.get_by_role("combobox", name="Language").select_option("Deutsch")
    await expect(page.locator("html")).to_have_attribute("lang", "de")
    await expect(page.get_by_role("heading", name="Was möchten Sie tun?")).to_be_visible()
    await page.reload()
    await expect(page.get_by_role("combobox", name="Sprache")).to_have_value("de")


async def test_numbers_are_written_as_the_reader_writes_them(host, look) -> None:
    page = await look((await host()).url, **GERMAN)
    await write_german(page, "say hallo")
    await expect(turn(page).locator(".turn-footer")).to_contain_text(re.compile(r"0,\d+\s\$"))


async def test_what_people_write_is_not_said_to_be_in_the_language_of_the_page(page: Page) -> None:
    await write(page, "say bonjour")
    await expect(turn(page).locator(".said p")).to_have_attribute("lang", "")
    await expect(turn(page).locator(".markdown")).to_have_attribute("lang", "")


async def test_an_error_of_the_host_is_said_in_german_by_its_code(host, look) -> None:
    served = await host()
    page = await look(served.url, **GERMAN)
    await page.goto(f"{served.url}/#/session/nowhere")
    await expect(page.locator(".notice p")).to_have_text("Das gibt es nicht oder nicht mehr.")
    look.expected.add(404)

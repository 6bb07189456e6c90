"""What models, tools and people write is text on the page, whatever it would like to be."""

import re

import pytest
from playwright.async_api import Page, expect

from sophon import ModelRequest, tool
from sophon.testing import FunctionModel
from tests.web.driving import turn, write

MARKUP = '<img src=x onerror="window.hacked=1"><script>window.hacked=1</script><svg onload=alert(1)>'
LINKS = (
    "[one](javascript:window.hacked=1) [two](JaVaScRiPt:alert(1)) [three](data:text/html,hacked) "
    "[four](//evil.example/) [five](/api/sessions) ![six](https://evil.example/pixel.png) [good](https://example.org/)"
)
BIDI = "invoice\u202efdp.exe and \u2066hidden\u2069"
ESCAPES = "\x1b[31mred\x1b[0m \x1b]0;title\x07 bell\x07"


async def nothing_happened(page: Page) -> None:
    assert await page.evaluate("() => window.hacked") is None
    assert await page.locator("#page img[src='x'], #page script, #page svg[onload]").count() == 0


@pytest.mark.parametrize("text", [MARKUP, f"```html\n{MARKUP}\n```", f"| a |\n|---|\n| {MARKUP} |", f"# {MARKUP}"])
async def test_markup_of_a_model_is_shown_as_it_was_written(page: Page, text: str) -> None:
    await write(page, "say " + text) if "\n" not in text else await pasted(page, "say " + text)
    await expect(page.locator(".turn.completed .markdown")).to_contain_text("onerror")
    await nothing_happened(page)


async def pasted(page: Page, text: str) -> None:
    box = page.get_by_role("textbox", name="Message")
    await box.fill(text)
    await page.get_by_role("button", name="Send").click()


async def test_links_lead_to_the_web_or_nowhere(page: Page) -> None:
    await write(page, f"say {LINKS}")
    await expect(page.locator(".turn.completed .markdown")).to_contain_text("five")
    links = page.locator(".markdown a")
    assert [await links.nth(at).get_attribute("href") for at in range(await links.count())] == [
        "https://evil.example/pixel.png",
        "https://example.org/",
    ]
    assert await links.last.get_attribute("rel") == "noopener noreferrer nofollow"
    assert await page.locator(".markdown img").count() == 0


@pytest.mark.parametrize(
    ("text", "address"),
    [
        ("“https://example.org”", "https://example.org/"),
        ("https://example.org/a_(b)", "https://example.org/a_(b)"),
        ("www.example.org…", "http://www.example.org/"),
        ("ada@example.org", "mailto:ada@example.org"),
    ],
)
async def test_an_address_that_just_stands_there_ends_where_a_reader_sees_it_end(page: Page, text, address) -> None:
    await write(page, f"say {text}")
    link = page.locator(".turn.completed .markdown a")
    await expect(link).to_have_attribute("href", address)
    await expect(page.locator(".turn.completed .markdown")).to_have_text(text)


async def test_signs_that_turn_or_hide_text_are_shown_themselves(page: Page) -> None:
    await write(page, f"say {BIDI} {ESCAPES}")
    answer = page.locator(".turn.completed .markdown")
    await expect(answer).to_contain_text("invoice‹202E›fdp.exe")
    await expect(answer).to_contain_text("␛[31mred")
    shown = await page.locator("body").inner_text()
    assert not re.search("[\u202a-\u202e\u2066-\u2069\x1b\x07]", shown + await page.title())


async def test_names_and_results_of_tools_are_text(host, look) -> None:
    @tool()
    async def weather(city: str) -> str:
        """Look out of the window."""
        return f"{MARKUP} {BIDI} {ESCAPES} {city}"

    page = await look((await host(tools=(weather,))).url)
    await write(page, "weather")
    await expect(page.locator(".turn.completed")).to_have_count(1)
    await page.get_by_text("2 tool calls").click()
    await page.locator(".tool-call summary").first.click()
    await expect(page.get_by_role("region", name="Result")).to_contain_text("<img src=x onerror")
    await expect(page.get_by_role("region", name="Result")).to_contain_text("‹202E›")
    await nothing_happened(page)


async def test_a_title_is_text(host, look) -> None:
    served = await host()
    page = await look(served.url)
    await write(page, "hello")
    await expect(turn(page).get_by_text("You said: hello")).to_be_visible()
    [session] = await served.site.services.store.sessions.list("local")
    await served.site.services.store.sessions.rename(session.id, f"{BIDI} <b onclick=x>bold</b>")
    await page.reload()
    await expect(page.locator(".session.here .title")).to_have_text(
        "invoice‹202E›fdp.exe and ‹2066›hidden‹2069› <b onclick=x>bold</b>"
    )


async def test_the_policy_lets_nothing_in_that_is_inline_or_foreign(host, look) -> None:
    page = await look((await host()).url)
    answer = await page.request.get(page.url)
    policy = answer.headers["content-security-policy"]
    assert "unsafe" not in policy
    assert "default-src 'none'" in policy
    assert "script-src 'self'" in policy
    assert "require-trusted-types-for 'script'" in policy
    await page.evaluate(
        """() => {
            const script = document.createElement('script');
            try { script.text = "window.hacked = 1"; } catch {}
            document.body.append(script);
            try { document.body.insertAdjacentHTML('beforeend', "<img src=x onerror=\\"window.hacked=1\\">"); }
            catch {}
        }"""
    )
    await nothing_happened(page)
    assert look.complaints != []
    look.complaints.clear()


BOMB = "\n\n".join(
    (
        "a" * 60_000 + "@",
        "https://a.b/" + ")." * 30_000,
        "a" + "\u0301" * 50_000,
        "a\n\n" * 20_000,
        "|a|b|\n|-|-|\n" + "|\n" * 30_000,
        "\n" * 60_000 + "the end",
    )
)
MAX_ELEMENTS = 5000


async def test_a_text_that_is_made_to_freeze_the_page_does_not(host, look) -> None:
    async def answer(_: ModelRequest) -> str:
        return BOMB

    served = await host(models=[FunctionModel(answer, name="brain", stream=20_000)])
    page = await look(served.url)
    await write(page, "hello")
    answer = page.locator(".turn.completed .markdown")
    more = answer.get_by_role("button", name="Show more of this long text")
    await expect(more).to_be_visible()
    assert await page.locator(".markdown *").count() < MAX_ELEMENTS
    await more.click()
    assert await page.locator(".markdown *").count() < 2 * MAX_ELEMENTS
    await write(page, "again")
    # The first turn is out of sight, so it is a placeholder by now.
    await expect(page.locator(".turn.completed[aria-posinset='2']")).to_be_visible()


async def test_a_long_message_in_the_box_does_not_freeze_it(page: Page) -> None:
    box = page.get_by_role("textbox", name="Message")
    await expect(box).to_have_attribute("dir", "ltr")  # Chromium needs quadratic time for `auto`
    await box.fill("שלום")
    await expect(box).to_have_attribute("dir", "rtl")

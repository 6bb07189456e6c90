"""The page in Firefox: a message, an answer with a formula, and an approval."""

from pathlib import Path

from tests.web.driving import missing
from tests.web.firefox import firefox_program, open_firefox

ENTER = "\ue007"
RICH = "say *Words* and $x^2$"


async def test_firefox_shows_an_answer_and_runs_an_approved_call(host, tmp_path: Path) -> None:
    program = firefox_program()
    if program is None:
        missing("needs Firefox (Debian's firefox-esr): the page in a second browser")
        return
    served = await host()
    async with open_firefox(program, tmp_path / "profile", served.url) as page:
        await page.until("document.querySelector('#composer') && document.querySelector('.welcome')")
        await page.click("#composer")
        await page.press([*RICH, ENTER])
        await page.until("document.querySelector('.turn.completed em')")
        await page.until("document.querySelector('.turn.completed math msup')")
        await page.press([*"pay Ada", ENTER])
        await page.until("document.querySelector('.approval button.primary')")
        await page.click(".approval button.primary")
        await page.until("document.querySelectorAll('.turn.completed').length === 2")
        assert "paid 5 to Ada" in await page.evaluate("document.querySelectorAll('.turn')[1].innerText")
        assert await page.evaluate("document.documentElement.scrollWidth <= innerWidth")
        assert page.complaints == []

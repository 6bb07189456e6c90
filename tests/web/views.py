"""The views of the page: each is tested in each language, theme and width, and has its pictures."""

from dataclasses import dataclass

from playwright.async_api import Page, expect

GO = """(path) => new Promise((done) => {
  addEventListener("hashchange", () => requestAnimationFrame(() => requestAnimationFrame(done)), { once: true });
  location.hash = `#/${path}`;
})"""
IS_DRAWN = """() => {
  const heading = document.querySelector(".info-page h2");
  return heading !== null && heading.textContent === document.querySelector("h1").textContent;
}"""
"""A view has the title of the page as its heading."""


@dataclass(frozen=True)
class View:
    """A view beside the conversations, by its path."""

    path: str
    heading: str
    """In English."""

    polls: bool = False
    """Whether it always waits for the host, so that the network is never idle."""

    async def open(self, page: Page) -> None:
        """Go to the view and wait until it is drawn and has loaded what it shows."""
        await page.evaluate(GO, self.path)
        await page.wait_for_function(IS_DRAWN)  # its module may be loaded first
        if not self.polls:
            await page.wait_for_load_state("networkidle")
        await expect(page.locator(".info-page h2").first).to_be_visible()


VIEWS = (
    View("approvals", "Approvals"),
    View("memory", "Memory"),
    View("schedules", "Schedules"),
    View("goals", "Goals"),
    View("agents", "Agents"),
    View("traces", "Traces"),
    View("usage", "Usage"),
    View("policy", "Policy"),
    View("host", "This host"),
    View("setup", "Set up a model"),
    View("settings", "Settings"),
    View("access", "Users and tokens"),
    View("routing", "Routing"),
    View("audit", "Audit"),
    View("logs", "Log", polls=True),
)

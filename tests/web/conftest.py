"""The web page in headless Chromium, before a real host on loopback."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from playwright.async_api import Browser, BrowserContext, ConsoleMessage, Page, async_playwright, expect

from sophon import Services
from sophon.models.model import Model
from sophon_hosting.channels.channel_factory import ConfiguredChannel
from sophon_hosting.host_server import HostServer, bind_address
from sophon_hosting.http.web_page import is_page_built
from sophon_hosting.store.sql_host_store import SqlHostStore
from tests.programs import program
from tests.web.driving import SWITCHES, Brain, browser_program, missing, pay

__all__ = ["program"]

PATIENCE_MS = 30_000
expect.set_options(timeout=PATIENCE_MS)


@dataclass
class Served:
    """A host that is open."""

    site: HostServer
    url: str
    brain: Brain

    async def over(self, session_id: str, count: int) -> None:
        """Wait until so many turns of a session are over."""
        async with asyncio.timeout(PATIENCE_MS / 1000):
            runs = self.site.services.store.runs
            while sum(run.is_finished for run in await runs.list(session_id=session_id, limit=5000)) < count:
                await asyncio.sleep(0.01)


@pytest.fixture(scope="package")
async def browser() -> AsyncIterator[Browser]:
    """One browser for all tests of the page, and one driver, which takes half a second to start."""
    program = browser_program()
    if program is None:
        missing("needs Chromium: the tests of the web page")
    if not is_page_built():
        missing("needs the web page: make page")
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=program, args=SWITCHES)
        yield browser
        await browser.close()


class Pages:
    """Opens addresses, each in a browser context of its own, and notes what the pages complain of."""

    def __init__(self, browser: Browser) -> None:
        self._browser = browser
        self._contexts: list[BrowserContext] = []
        self.complaints: list[str] = []
        """Errors; a test in which the host goes away clears them."""
        self.expected: set[int] = set()
        """Status codes, which the browser notes when it likes."""

    async def __call__(self, url: str, *, context: BrowserContext | None = None, **options: Any) -> Page:
        if context is None:
            context = await self._browser.new_context(**{"viewport": {"width": 1200, "height": 800}, **options})
            self._contexts.append(context)
        page = await context.new_page()
        page.set_default_timeout(PATIENCE_MS)
        page.on("pageerror", lambda error: self.complaints.append(str(error)))
        page.on("console", self._note)
        await page.goto(url)
        return page

    def _note(self, said: ConsoleMessage) -> None:
        if said.type == "error":
            self.complaints.append(f"{said.text} {said.location}")

    def check(self) -> None:
        """A page that complains of anything fails its test."""
        complaints, expected = list(self.complaints), [f"a status of {status} " for status in self.expected]
        self.complaints.clear()
        self.expected.clear()
        assert [each for each in complaints if not any(status in each for status in expected)] == []

    async def close(self) -> None:
        for context in self._contexts:
            await context.close()


@pytest.fixture
async def look(browser: Browser, host: Callable[..., Any]) -> AsyncIterator[Pages]:
    """Opens pages of one test. They are closed before the host is, which they would miss."""
    pages = Pages(browser)
    yield pages
    await pages.close()
    pages.check()


Start = Callable[..., Awaitable[Served]]


@asynccontextmanager
async def open_hosts(files: Path) -> AsyncGenerator[Start]:
    """Starts hosts in this process."""
    async with AsyncExitStack() as stack:

        async def start(
            *,
            brain: Brain | None = None,
            tools: tuple[Any, ...] = (),
            models: list[Model] | None = None,
            environment: dict[str, str] | None = None,
            channels: Sequence[ConfiguredChannel] | None = None,
            **settings: Any,
        ) -> Served:
            brain = brain or Brain()
            services = Services(
                models=models or [brain],
                tools=[pay, *tools],
                settings={
                    "Planning": {"Mode": "Never"},
                    "AgentExecution": {"Titles": False},
                    "Tools": {"FilesRoot": str(files)},
                    **settings,
                },
                store=SqlHostStore("memory://"),
            )
            site = HostServer(services, environment or {}, channels=channels)
            address = bind_address("127.0.0.1", 0)
            await site.start(address)
            stack.push_async_callback(site.shutdown, 0)
            return Served(site, address.url, brain)

        yield start


@pytest.fixture
async def host(tmp_path: Path) -> AsyncIterator[Start]:
    """Starts hosts of one test."""
    async with open_hosts(tmp_path / "files") as start:
        yield start


@dataclass
class Shared:
    """A host, and a page of it that stays open from one test to the next."""

    served: Served
    pages: Pages
    page: Page


@pytest.fixture(scope="module")
async def shared(browser: Browser, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Shared]:
    """The host of those tests of a file that need no settings, and its page: each test begins a conversation."""
    pages = Pages(browser)
    async with open_hosts(tmp_path_factory.mktemp("files")) as start:
        served = await start()
        yield Shared(served, pages, await pages(served.url))
        await pages.close()


@pytest.fixture
async def served(shared: Shared) -> AsyncIterator[Served]:
    """The shared host."""
    shared.served.brain.begin()
    yield shared.served
    shared.served.brain.gate.set()


@pytest.fixture
async def page(shared: Shared, served: Served) -> AsyncIterator[Page]:
    """The shared page, with a new conversation."""
    page = shared.page
    await page.goto(f"{served.url}/#/new")
    await expect(page.locator(".welcome")).to_be_visible()
    await expect(page.locator(".turn")).to_have_count(0)
    yield page
    shared.pages.check()

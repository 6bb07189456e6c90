"""The web page in headless Chromium, before a real host on loopback."""

import asyncio
import subprocess
import time
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from playwright.async_api import Browser, BrowserContext, Page, async_playwright, expect

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


@pytest.fixture(scope="session")
def chromium(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Where a browser of this test run listens."""
    program = browser_program()
    if program is None:
        missing("needs Chromium: the tests of the web page")
    if not is_page_built():
        missing("needs the web page: make page")
    profile = tmp_path_factory.mktemp("chromium")
    with (profile / "log").open("w") as log:
        process = subprocess.Popen([str(program), *SWITCHES, f"--user-data-dir={profile}"], stdout=log, stderr=log)
    try:
        yield f"http://127.0.0.1:{port_of(profile)}"
    finally:
        process.kill()
        process.wait()


def port_of(profile: Path) -> int:
    """Where the browser of a profile listens, once it does."""
    told = profile / "DevToolsActivePort"
    deadline = time.monotonic() + PATIENCE_MS / 1000
    while not told.exists() or not told.read_text():
        assert time.monotonic() < deadline, (profile / "log").read_text()
        time.sleep(0.02)
    return int(told.read_text().split()[0])


@pytest.fixture(scope="module")
async def browser(chromium: str) -> AsyncIterator[Browser]:
    """The driver, which takes half a second to start: one for the tests of a file, which share its event loop."""
    async with async_playwright() as playwright:
        yield await playwright.chromium.connect_over_cdp(chromium)


@pytest.fixture
async def look(browser: Browser, host: Callable[..., Any]) -> AsyncIterator[Callable[..., Any]]:
    """Opens an address in a browser of its own; a page that complains of anything fails the test.

    It is closed before the host is, which it would miss.
    """
    contexts: list[BrowserContext] = []
    complaints: list[str] = []

    async def open_page(url: str, *, context: BrowserContext | None = None, **options: Any) -> Page:
        if context is None:
            context = await browser.new_context(**{"viewport": {"width": 1200, "height": 800}, **options})
            contexts.append(context)
        page = await context.new_page()
        page.set_default_timeout(PATIENCE_MS)
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on(
            "console", lambda said: complaints.append(f"{said.text} {said.location}") if said.type == "error" else None
        )
        await page.goto(url)
        return page

    expected: set[int] = set()
    open_page.complaints = complaints  # type: ignore[attr-defined] # for tests in which the host goes away
    open_page.expected = expected  # type: ignore[attr-defined] # status codes, which the browser notes when it likes
    yield open_page
    for context in contexts:
        await context.close()
    assert [each for each in complaints if not any(f"a status of {status} " in each for status in expected)] == []


@pytest.fixture
async def host(tmp_path: Path) -> AsyncIterator[Callable[..., Any]]:
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
                    "Tools": {"FilesRoot": str(tmp_path / "files")},
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

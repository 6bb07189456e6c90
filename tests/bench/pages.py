"""The web page in Chromium, by the browser's own counters: what it weighs, how busy it is, how soon it is there."""

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from statistics import median
from typing import Any

from playwright.async_api import Browser, CDPSession, Page, async_playwright

from sophon import ModelRequest, ModelResponse, Services
from sophon.testing import FunctionModel
from sophon_hosting.host import RunRequest
from sophon_hosting.host_server import HostServer, bind_address
from sophon_hosting.http.web_page import is_page_built
from sophon_hosting.store.sql_host_store import SqlHostStore
from tests.web.driving import SWITCHES, browser_program

CHUNKS_PER_SECOND = 200
SECONDS = 5
MESSAGES = 2000
OPENINGS = 5
CPU_TIME = {"timeDomain": "threadTicks"}
"""What the main thread itself took: other programs of the machine lengthen its tasks, too."""

WORDS = "Every message travels **through** a chain of `middlewares`, and back again.\n\n"


class Writer(FunctionModel):
    """Writes 200 pieces a second for five seconds, and keeps to that pace."""

    async def complete(self, request: ModelRequest) -> ModelResponse:
        if request.on_text is None or request.messages[-1].content != "write":
            return ModelResponse("short")
        began = time.monotonic()
        told: list[str] = []
        for number in range(CHUNKS_PER_SECOND * SECONDS):
            told.append(WORDS[number * 8 % len(WORDS) :][:8] or WORDS[:8])
            request.on_text(told[-1])
            await asyncio.sleep(max(0, began + number / CHUNKS_PER_SECOND - time.monotonic()))
        return ModelResponse("".join(told))


async def nothing(request: ModelRequest) -> str:
    return "short"


async def measure() -> None:
    """Print what the page costs, or why that cannot be told here."""
    if browser_program() is None or not is_page_built():
        print("the web page: not measured, as Chromium or the page (make page) is missing")
        return
    async with site() as (host, url), chromium() as browser:
        told("first load of the page, compressed", await weight(browser, url), "kB", "150 kB")
        busy, latency = await streaming(browser, url)
        told(f"main thread busy at {CHUNKS_PER_SECOND} chunks/s, new conversation", busy * 100, "%", "25 %")
        told_keys(latency)
        await converse(host)
        clicked, script = await opening_in_page(browser, url)
        told(f"a session of {MESSAGES:,} messages, opened in the page", clicked, "ms", "300 ms")
        told("main thread meanwhile", script, "ms", "300 ms")
        told("the same by its address, with the page itself", await opening(browser, url), "ms", "1000 ms")
        busy, latency = await streaming(browser, f"{url}/#/session/long")
        told(f"main thread busy at {CHUNKS_PER_SECOND} chunks/s in it", busy * 100, "%", "25 %")
        told_keys(latency)


def told(what: str, value: float, unit: str, target: str) -> None:
    """One figure beside its target."""
    print(f"{what:<58}{value:>10.1f} {unit:<6}target: under {target}")


@asynccontextmanager
async def site() -> AsyncIterator[tuple[HostServer, str]]:
    """A host with everything in memory."""
    settings: dict[str, Any] = {
        "Planning": {"Mode": "Never"},
        "AgentExecution": {"Titles": False},
        "Queue": {"Capacity": 2000},
    }
    opened = HostServer(
        Services(models=Writer(nothing, stream=True), settings=settings, store=SqlHostStore("memory://")), {}
    )
    address = bind_address("127.0.0.1", 0)
    await opened.start(address)
    yield opened, address.url
    await opened.shutdown(0)


@asynccontextmanager
async def chromium() -> AsyncIterator[Browser]:
    """A browser of this run."""
    async with async_playwright() as playwright:
        switches = [each for each in SWITCHES if "debugging" not in each]
        browser = await playwright.chromium.launch(executable_path=browser_program(), args=switches)
        yield browser
        await browser.close()


async def weight(browser: Browser, url: str) -> float:
    """Kilobytes over the line until the page is there, all its files together."""
    page = await browser.new_page()
    devtools = await page.context.new_cdp_session(page)
    await devtools.send("Network.enable")
    sizes: list[float] = []
    devtools.on("Network.loadingFinished", lambda event: sizes.append(event["encodedDataLength"]))
    await page.goto(url)
    await page.wait_for_selector(".welcome")
    await page.close()
    return sum(sizes) / 1000


@dataclass(frozen=True)
class KeyPresses:
    """Milliseconds of the keys that were not drawn at once, and the longest that the page itself took for one."""

    median: float
    slowest: float
    longest_handled: float


def told_keys(keys: KeyPresses) -> None:
    """The slowest waits for the processor, also while nothing is written: what the page itself took is told, too."""
    told("a key pressed meanwhile, until it is drawn: median", keys.median, "ms", "100 ms")
    told("the slowest, with what other programs took", keys.slowest, "ms", "100 ms")
    told("the longest that the page took to handle one", keys.longest_handled, "ms", "50 ms")


async def streaming(browser: Browser, url: str) -> tuple[float, KeyPresses]:
    """The share of the time in which the main thread was busy, and how long keys took meanwhile."""
    page = await browser.new_page()
    await page.goto(url)
    box = page.get_by_role("textbox", name="Message")
    await box.fill("write")
    devtools = await page.context.new_cdp_session(page)
    await devtools.send("Performance.enable", CPU_TIME)
    await page.evaluate(
        """() => {
            window.keys = [];
            const note = each => each.name === 'input' &&
                window.keys.push([each.duration, each.processingEnd - each.processingStart]);
            const observer = new PerformanceObserver(list => list.getEntries().forEach(note));
            observer.observe({type: 'event', durationThreshold: 16});
        }"""
    )
    await box.press("Enter")
    await page.locator(".turn.running .markdown").wait_for()
    before, began = await counters(devtools), time.monotonic()
    for _ in range(SECONDS - 2):
        await page.keyboard.type("hello ", delay=150)
    after, elapsed = await counters(devtools), time.monotonic() - began
    keys: list[list[float]] = await page.evaluate("() => window.keys") or [[0, 0]]
    durations = [drawn for drawn, _ in keys]
    latency = KeyPresses(median(durations), max(durations), max(handled for _, handled in keys))
    await page.locator(".turn").last.locator(".turn-footer").wait_for()
    await page.close()
    return (after["TaskDuration"] - before["TaskDuration"]) / elapsed, latency


async def counters(devtools: CDPSession) -> dict[str, float]:
    """Chromium's own, in seconds."""
    return {each["name"]: each["value"] for each in (await devtools.send("Performance.getMetrics"))["metrics"]}


async def converse(opened: HostServer) -> None:
    """Have all turns of the long session."""
    for number in range(MESSAGES // 2):
        await opened.host.accept(RunRequest(f"message {number}", session_id="long", owner="local"))
        if number % 500 == 499:
            await settled(opened, number + 1)


async def opening_in_page(browser: Browser, url: str) -> tuple[float, float]:
    """Median milliseconds from the choice of the session to its last message on the screen, and of the main thread."""
    times: list[float] = []
    busy: list[float] = []
    for _ in range(OPENINGS):
        page = await browser.new_page()
        await page.goto(url)
        await page.wait_for_selector(".session")
        await page.wait_for_load_state("networkidle")
        devtools = await page.context.new_cdp_session(page)
        await devtools.send("Performance.enable", CPU_TIME)
        before = await counters(devtools)
        began = await page.evaluate(
            "() => { const now = performance.now(); location.hash = '#/session/long'; return now; }"
        )
        times.append(await shown(page, f"message {MESSAGES // 2 - 1}") - began)
        busy.append(((await counters(devtools))["TaskDuration"] - before["TaskDuration"]) * 1000)
        await page.close()
    return median(times), median(busy)


async def opening(browser: Browser, url: str) -> float:
    """Median milliseconds from the navigation to the last message on the screen."""
    times: list[float] = []
    for _ in range(OPENINGS):
        page = await browser.new_page()
        await page.goto(f"{url}/#/session/long")
        times.append(await shown(page, f"message {MESSAGES // 2 - 1}"))
        await page.close()
    return median(times)


async def settled(opened: HostServer, count: int) -> None:
    """Wait until so many turns are over."""
    runs = opened.services.store.runs
    while sum(run.is_finished for run in await runs.list(session_id="long", limit=MESSAGES)) < count:
        await asyncio.sleep(0.05)


async def shown(page: Page, text: str) -> float:
    """When a text is in sight, in milliseconds from the navigation."""
    found = await page.wait_for_function(
        """text => [...document.querySelectorAll('.said p')].slice(-1).some(each =>
            each.textContent === text && each.getBoundingClientRect().top < innerHeight) && performance.now()""",
        arg=text,
        polling="raf",
    )
    return float(await found.json_value())

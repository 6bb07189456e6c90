"""Firefox, driven by WebDriver BiDi (W3C), which it speaks itself: no driver program is needed."""

import asyncio
import itertools
import json
import shutil
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import aiohttp

START_SECONDS = 60
PATIENCE_SECONDS = 30

PREFERENCES = {
    "app.update.enabled": False,
    "browser.shell.checkDefaultBrowser": False,
    "datareporting.policy.dataSubmissionEnabled": False,
    "network.captive-portal-service.enabled": False,
    "network.connectivity-service.enabled": False,
    "toolkit.telemetry.enabled": False,
}
"""Settings of a profile that asks no server for anything."""


def firefox_program() -> str | None:
    """Return Firefox, where this machine has it."""
    return shutil.which("firefox-esr") or shutil.which("firefox")


class FirefoxPage:
    """A tab, and what its console said."""

    def __init__(self, socket: aiohttp.ClientWebSocketResponse) -> None:
        self._socket = socket
        self._ids = itertools.count(1)
        self._context = ""
        self.complaints: list[str] = []

    async def request(self, method: str, **params: Any) -> dict[str, Any]:
        """Send a command and return its result; events that come before it are noted."""
        number = next(self._ids)
        await self._socket.send_json({"id": number, "method": method, "params": params})
        async with asyncio.timeout(PATIENCE_SECONDS):
            while True:
                message = await self._socket.receive_json()
                if message.get("method") == "log.entryAdded" and message["params"]["level"] == "error":
                    self.complaints.append(message["params"]["text"])
                if message.get("id") == number:
                    assert message["type"] == "success", message
                    return message["result"]

    async def open(self, url: str) -> None:
        """Open an address in a new session's tab."""
        await self.request("session.new", capabilities={})
        await self.request("session.subscribe", events=["log.entryAdded"])
        tree = await self.request("browsingContext.getTree")
        self._context = tree["contexts"][0]["context"]
        await self.request("browsingContext.navigate", context=self._context, url=url, wait="complete")

    async def evaluate(self, expression: str) -> Any:
        """Return the value of a JavaScript expression, as JSON has it."""
        target = {"context": self._context}
        script = f"JSON.stringify(({expression}) ?? null)"
        answer = await self.request("script.evaluate", expression=script, target=target, awaitPromise=True)
        assert answer["type"] == "success", answer
        return json.loads(answer["result"]["value"])

    async def until(self, condition: str) -> None:
        """Wait until a JavaScript expression is true."""
        async with asyncio.timeout(PATIENCE_SECONDS):
            while not await self.evaluate(f"Boolean({condition})"):
                await asyncio.sleep(0.02)

    async def press(self, keys: Sequence[str]) -> None:
        """Press keys one after the other, in the element that has the focus."""
        strokes = [{"type": kind, "value": key} for key in keys for kind in ("keyDown", "keyUp")]
        actions = [{"type": "key", "id": "keyboard", "actions": strokes}]
        await self.request("input.performActions", context=self._context, actions=actions)

    async def click(self, selector: str) -> None:
        """Click into the middle of an element."""
        await self.until(f"document.querySelector({json.dumps(selector)})")
        place = "(({x, y, width, height}) => [Math.round(x + width / 2), Math.round(y + height / 2)])"
        x, y = await self.evaluate(f"{place}(document.querySelector({json.dumps(selector)}).getBoundingClientRect())")
        steps = [
            {"type": "pointerMove", "x": x, "y": y},
            *({"type": each, "button": 0} for each in ("pointerDown", "pointerUp")),
        ]
        actions = [{"type": "pointer", "id": "mouse", "actions": steps}]
        await self.request("input.performActions", context=self._context, actions=actions)


@asynccontextmanager
async def open_firefox(program: str, profile: Path, url: str) -> AsyncGenerator[FirefoxPage]:
    """Start Firefox with a new profile, open an address, and end it afterwards."""
    profile.mkdir()
    lines = [f"user_pref({json.dumps(name)}, {json.dumps(value)});" for name, value in PREFERENCES.items()]
    (profile / "user.js").write_text("\n".join(lines))
    switches = ("--headless", "--no-remote", "--profile", str(profile), "--remote-debugging-port=0")
    pipe = asyncio.subprocess.DEVNULL
    process = await asyncio.create_subprocess_exec(program, *switches, stdout=pipe, stderr=pipe)
    try:
        async with aiohttp.ClientSession() as client, client.ws_connect(await _address(profile)) as socket:
            page = FirefoxPage(socket)
            await page.open(url)
            yield page
    finally:
        process.kill()
        await process.wait()


async def _address(profile: Path) -> str:
    """Return where the browser of a profile listens, once it does."""
    told = profile / "WebDriverBiDiServer.json"
    async with asyncio.timeout(START_SECONDS):
        while not told.exists() or not told.read_text().strip():
            await asyncio.sleep(0.05)
    found = json.loads(told.read_text())
    return f"ws://{found['ws_host']}:{found['ws_port']}/session"

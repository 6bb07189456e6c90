"""What the tests of the page share: a model that does what a message says, tools, and a person's hands."""

import asyncio
import json
import os
import shutil
from dataclasses import dataclass, field
from typing import Any

import pytest
from playwright.async_api import Locator, Page

from sophon import ModelRequest, ModelResponse, Risk, ToolCall, tool
from sophon.errors import BadRequest
from sophon.testing import FunctionModel

SWITCHES = ("--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--disable-quic")
TEA = "First find the leaves, then read the recipe, build a fire and finally write down how it went"
"""Too much for one step."""

ESSAY = "\n\n".join(f"Paragraph {number}: " + "word " * 40 for number in range(950))

STEPS = {"water": ("boil the water", "medium"), "leaves": ("find the leaves", "low"), "pour": ("pour it", "low")}
PLAN = {
    "goal": "tea",
    "steps": [
        {
            "id": name,
            "description": description,
            "depends_on": ["water"] if name == "pour" else [],
            "tool_hints": [],
            "estimated_risk": risk,
        }
        for name, (description, risk) in STEPS.items()
    ],
}


@tool(risk=Risk.HIGH, editable=True)
async def pay(to: str, amount: int, note: str = "") -> str:
    """Pay somebody.

    Args:
        to: Who gets it.
        amount: In euros.
        note: What it is for.
    """
    return f"paid {amount} to {to}"


class Brain(FunctionModel):
    """Answers as a message says; what is to go on when the test says so waits at `gate`."""

    def __init__(self, **options: Any) -> None:
        super().__init__(self.think, name="brain", **{"stream": 400, "prices": (1.0, 2.0), **options})
        self.begin()

    def begin(self) -> None:
        """Close the gate, for another test."""
        self.gate = asyncio.Event()
        self.reached = asyncio.Event()

    async def complete(self, request: ModelRequest) -> ModelResponse:
        if request.messages[-1].content == "tell slowly" and request.on_text is not None:
            request.on_text("The first half. ")
            self.reached.set()
            await self.gate.wait()
            request.on_text("The second half.")
            return ModelResponse("The first half. The second half.")
        return await super().complete(request)

    async def think(self, request: ModelRequest) -> str | ModelResponse:
        last = request.messages[-1]
        if request.purpose == "plan":
            return json.dumps(PLAN)
        if request.purpose == "step":
            return await self.step(request)
        if request.purpose == "reply" and last.role == "user" and "Step results" in last.content:
            return "Tea, partly."
        if last.role == "tool" and request.messages[-2].content == "Let me look.":
            return "It is seen."
        if request.purpose == "reply" and any(each.content == "look and pay" for each in request.messages):
            return look_and_pay(sum(each.role == "tool" for each in request.messages))
        if last.role == "tool":
            return "; ".join(each.content for each in request.messages if each.role == "tool")
        return await self.said(last.content)

    async def step(self, request: ModelRequest) -> str:
        if "boil the water" in request.messages[-1].content:
            raise BadRequest("the kettle is broken")
        return "done"

    async def said(self, text: str) -> str | ModelResponse:
        if text.startswith("pay "):
            return ModelResponse("", [ToolCall("c", "pay", {"to": text[4:], "amount": 5})])
        if text.startswith("call "):
            name, _, arguments = text[5:].partition(" ")
            return ModelResponse("", [ToolCall("c", name, json.loads(arguments))])
        if text == "look":
            return ModelResponse(
                "Let me look.", [ToolCall("c", "calculator", {"expression": "6 * 7"})], reasoning="Hm, 42"
            )
        if text == "weather":
            calls = [ToolCall(f"c{city}", "weather", {"city": city}) for city in ("Paris", "Rome")]
            return ModelResponse("", calls)
        if text == "wait":
            self.reached.set()
            await self.gate.wait()
        if text == "fail":
            raise RuntimeError("nothing that anybody foresaw")
        if text == "essay":
            return ESSAY
        if text.startswith("say "):
            return text[4:]
        return f"You said: {text}"


def look_and_pay(answered: int) -> str | ModelResponse:
    """Text before each of two rounds of calls; the second one asks a person."""
    if answered == 0:
        return ModelResponse("First I look.", [ToolCall("c1", "calculator", {"expression": "6 * 7"})])
    if answered == 1:
        return ModelResponse("Then I pay.", [ToolCall("c2", "pay", {"to": "Ada", "amount": 5})])
    return "All is done."


@dataclass
class Weather:
    """A tool whose calls wait for each other: it answers only when two run at once."""

    running: int = 0
    both: asyncio.Event = field(default_factory=asyncio.Event)
    done: asyncio.Event = field(default_factory=asyncio.Event)

    def tool(self) -> Any:
        @tool()
        async def weather(city: str) -> str:
            """Look out of the window in a city."""
            self.running += 1
            if self.running == 2:
                self.both.set()
            await self.both.wait()
            await self.done.wait()
            return f"sunny in {city}"

        return weather


def missing(what: str) -> None:
    """Skip, or where SOPHON_CI is set, fail."""
    pytest.fail(what) if os.environ.get("SOPHON_CI") else pytest.skip(what)


def browser_program() -> str | None:
    """Chromium, where this machine has it; without any window it takes half the time."""
    names = ("chromium-headless-shell", "chromium", "google-chrome")
    return next((found for name in names if (found := shutil.which(name))), None)


async def write(page: Page, text: str) -> None:
    """Type a message and send it, as a person does."""
    box = page.get_by_role("textbox", name="Message")
    await box.fill(text)
    await box.press("Enter")


def turn(page: Page, number: int = 0) -> Locator:
    """A turn of the conversation that is open, counted from its beginning."""
    return page.locator(".turn").nth(number)


def session_of(page: Page) -> str:
    """The id of the session that is open."""
    return page.url.rpartition("/")[2]

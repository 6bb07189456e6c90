"""A conversation with the offline model: tools that really do something, and the loop that runs them."""

import math
import re
from collections.abc import Callable, Sequence
from typing import Any

import orjson
import pytest

from sophon.messages import Message, ToolCall
from sophon.models.model import ModelRequest, ModelResponse, Purpose
from sophon.models.offline import OfflineModel
from sophon.tools.tool import Risk, Tool, tool
from sophon.tools.untrusted_text import fence_text

MOST_ROUNDS = 5
"""A model that wants more never ends."""

NONCE = "0123456789abcdef"


class Desk:
    """Tools with the names and answers of the built-in ones; `memory` and `files` are what they keep."""

    def __init__(self) -> None:
        self.memory: dict[str, str] = {}
        self.files: dict[str, str] = {}
        self.page = "HTTP 200 OK\n\nhello"
        self.tools: list[Tool] = [
            tool(name=name, risk=risk, group=name.partition(".")[0])(function)
            for name, risk, function in (
                ("datetime.now", Risk.NONE, self.now),
                ("calculator", Risk.NONE, self.calculate),
                ("memory.write", Risk.MEDIUM, self.remember),
                ("memory.search", Risk.NONE, self.search),
                ("memory.forget", Risk.HIGH, self.forget),
                ("files.read", Risk.LOW, self.read),
                ("files.write", Risk.HIGH, self.write),
                ("files.list", Risk.LOW, self.list),
                ("http.request", Risk.LOW, self.fetch),
                ("http.send", Risk.HIGH, self.send),
                ("system.execute", Risk.CRITICAL, self.execute),
            )
        ]

    def only(self, *names: str) -> list[Tool]:
        return [each for each in self.tools if each.name in names]

    def without(self, *names: str) -> list[Tool]:
        return [each for each in self.tools if each.name not in names]

    def now(self, timezone: str = "UTC") -> str:
        """The time."""
        return "2026-01-01T09:30:00+00:00 (Thursday)"

    def calculate(self, expression: str) -> str:
        """Arithmetic."""
        assert re.fullmatch(r"[\d\s.+*/%()sqrt-]+", expression), expression
        return f"{eval(expression, {'__builtins__': {}, 'sqrt': math.sqrt}):g}"

    def remember(self, text: str, category: str = "fact") -> str:
        """Remember."""
        self.memory[f"m{len(self.memory) + 1}"] = text
        return f"Remembered as m{len(self.memory)}."

    def search(self, query: str, limit: int = 5) -> str:
        """Recall."""
        words = [word.rstrip("s") for word in query.split()]
        found = [
            {"id": key, "text": text, "category": "fact"}
            for key, text in self.memory.items()
            if not words or any(word in text.lower() for word in words)
        ]
        return orjson.dumps(found).decode() if found else f"Nothing that matches {query!r} has been remembered."

    def forget(self, id: str) -> str:
        """Forget."""
        del self.memory[id]
        return f"Forgotten: {id}"

    def read(self, path: str) -> str:
        """Read."""
        if path not in self.files:
            return f"error: there is no file {path!r}"
        return fence_text(self.files[path], "files.read", NONCE)

    def write(self, path: str, content: str, append: bool = False) -> str:
        """Write."""
        self.files[path] = self.files.get(path, "") * append + content
        return f"Wrote {len(content)} characters to {path}."

    def list(self, path: str = ".") -> str:
        """List."""
        names = [{"name": name, "kind": "file", "bytes": len(text)} for name, text in self.files.items()]
        return fence_text(orjson.dumps(names).decode(), "files.list", NONCE)

    def fetch(self, url: str, method: str = "GET") -> str:
        """Fetch."""
        return fence_text(self.page, url, NONCE)

    def send(self, url: str, method: str = "POST", body: str = "") -> str:
        """Send."""
        return fence_text("HTTP 201 Created", url, NONCE)

    def execute(self, command: str) -> str:
        """Run."""
        return fence_text("exit code 0\n--- stdout\nLinux box 6.1", "system.execute", NONCE)


class Talk:
    """A conversation: `say` is one turn. `rounds` holds the calls of each round of the last turn."""

    def __init__(self, desk: Desk) -> None:
        self.desk = desk
        self.tools: Sequence[Tool] = desk.tools
        self.messages: list[Message] = []
        self.rounds: list[list[ToolCall]] = []
        self.refuse: dict[str, str] = {}
        self.grow: Callable[[str], Sequence[Tool]] | None = None

    async def say(self, text: str, purpose: Purpose = "reply", **changes: Any) -> str:
        self.messages.append(Message("user", text))
        self.rounds = []
        for _ in range(MOST_ROUNDS):
            response = await self.ask(purpose, **changes)
            self.messages.append(Message("assistant", response.text, response.tool_calls))
            if not response.tool_calls:
                return response.text
            self.rounds.append(response.tool_calls)
            self.messages += [Message("tool", self.run(call), tool_call_id=call.id) for call in response.tool_calls]
        raise AssertionError(f"after {MOST_ROUNDS} rounds the model still wants {self.rounds[-1]}")

    async def ask(self, purpose: Purpose = "reply", **changes: Any) -> ModelResponse:
        model = OfflineModel()
        request = ModelRequest(list(self.messages), self.tools, model.info, purpose)
        return await model.complete(request.copy_with(**changes))

    def run(self, call: ToolCall) -> str:
        if call.name in self.refuse:
            return self.refuse[call.name]
        if call.name == "load_tools" and self.grow is not None:
            self.tools = self.grow(call.arguments["group"])
            return "Available now."
        return str(next(each for each in self.tools if each.name == call.name)(**call.arguments))

    @property
    def calls(self) -> list[tuple[str, dict[str, Any]]]:
        """Every call of the last turn."""
        return [(call.name, dict(call.arguments)) for calls in self.rounds for call in calls]


@pytest.fixture
def desk() -> Desk:
    return Desk()


@pytest.fixture
def talk(desk: Desk) -> Talk:
    return Talk(desk)

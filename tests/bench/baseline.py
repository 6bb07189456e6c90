"""What a figure stands beside: the same work, written by hand with nothing to spare."""

import asyncio
import json
from collections.abc import Awaitable, Callable
from typing import Any

Layer = Callable[[dict[str, Any]], Awaitable[None]]


async def end(ctx: dict[str, Any]) -> None:
    """The innermost await of a chain of layers."""


def layered(count: int) -> Layer:
    """So many no-op layers of plain awaits, one closure each."""
    call: Layer = end
    for _ in range(count):
        call = _around(call)
    return call


def _around(inner: Layer) -> Layer:
    async def layer(ctx: dict[str, Any]) -> None:
        await inner(ctx)

    return layer


async def add(a: int, b: int) -> str:
    """The tool of the loop."""
    return str(a + b)


class Loop:
    """The smallest correct tool loop below twelve bare layers: dicts, one tool by name, nothing checked."""

    def __init__(self, rounds: int, gate: asyncio.Event | None = None) -> None:
        self._rounds = rounds
        self._gate = gate
        self._tools = {"add": add}
        self._call: Layer = self._turn
        for _ in range(12):
            self._call = _around(self._call)

    async def run(self) -> str:
        """One turn."""
        ctx: dict[str, Any] = {"messages": [{"role": "user", "content": "hello"}], "left": self._rounds}
        await self._call(ctx)
        return str(ctx["messages"][-1]["content"])

    async def _turn(self, ctx: dict[str, Any]) -> None:
        messages = ctx["messages"]
        while True:
            reply = await self._model(ctx)
            messages.append(reply)
            if not reply["tool_calls"]:
                return
            for call in reply["tool_calls"]:
                result = await self._tools[call["name"]](**json.loads(call["arguments"]))
                messages.append({"role": "tool", "tool_call_id": call["id"], "content": result})

    async def _model(self, ctx: dict[str, Any]) -> dict[str, Any]:
        if self._gate is not None:
            await self._gate.wait()
        if not ctx["left"]:
            return {"role": "assistant", "content": "done", "tool_calls": []}
        ctx["left"] -= 1
        arguments = json.dumps({"a": ctx["left"], "b": 1})
        return {"role": "assistant", "content": "", "tool_calls": [{"id": "c", "name": "add", "arguments": arguments}]}


class Stream:
    """Pieces of a reply through twelve bare layers into a list."""

    def __init__(self, pieces: int) -> None:
        self._pieces = ["word "] * pieces
        self._call: Layer = self._model
        for _ in range(12):
            self._call = _around(self._call)

    async def run(self) -> str:
        """One reply."""
        heard: list[str] = []
        await self._call({"on_text": heard.append})
        return "".join(heard)

    async def _model(self, ctx: dict[str, Any]) -> None:
        on_text = ctx["on_text"]
        for piece in self._pieces:
            on_text(piece)

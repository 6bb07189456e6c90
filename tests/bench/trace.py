"""Trace of a turn: the files and functions of the four packages that a message enters, alone and with one tool call.

`python -m tests.bench.trace` prints both by file; `--functions` adds the names.
"""

import asyncio
import sys
import tempfile
import threading
from collections import Counter, defaultdict
from pathlib import Path
from types import CodeType, FrameType

import sophon
import sophon_channels
import sophon_hosting
import sophon_middlewares
from sophon import ModelRequest, ModelResponse, Services, ToolCall, tool
from sophon.testing import FunctionModel
from sophon_hosting.events.wire_event import WireEvent
from sophon_hosting.host import Host, RunRequest
from sophon_hosting.host_chain import build_pipelines
from sophon_hosting.store.factory import host_store_from_url

HELLO, TOOL_CALL = "hello", "look, please"

TRACED_TURNS = 3

FOLDERS = [str(Path(each.__path__[0])) for each in (sophon, sophon_middlewares, sophon_channels, sophon_hosting)]

COMPREHENSIONS = {"<listcomp>", "<setcomp>", "<dictcomp>", "<genexpr>"}
"""Code objects that are a part of the function around them; most of them are gone in later Pythons."""


@tool()
async def look(what: str) -> str:
    """Look at something."""
    return f"{what} is there"


async def answer(request: ModelRequest) -> str | ModelResponse:
    """Call `look` if the user has just asked for it; else answer with a short text."""
    if request.messages[-1].content == TOOL_CALL:
        return ModelResponse("", [ToolCall("c0", "look", {"what": "a thing"})])
    return "A short answer."


class Trace:
    """Profile function that notes every code object of the four packages that is entered while `is_counting`."""

    def __init__(self) -> None:
        self.is_counting = False
        self._entered: set[CodeType] = set()
        self._in_each: set[CodeType] | None = None

    def __call__(self, frame: FrameType, event: str, argument: object) -> None:
        """Note a call."""
        if self.is_counting and event == "call":
            self._entered.add(frame.f_code)

    def end_turn(self) -> None:
        """Forget what earlier turns have entered and this one has not: another connection to the store is no turn's."""
        self._in_each = self._entered if self._in_each is None else self._in_each & self._entered
        self._entered = set()

    def take(self) -> dict[str, list[str]]:
        """Return the names of the functions that each turn has entered by file, and forget them."""
        found: dict[str, list[str]] = defaultdict(list)
        for code in self._in_each or ():
            for folder in FOLDERS:
                if code.co_filename.startswith(f"{folder}/") and code.co_name not in COMPREHENSIONS:
                    found[f"{Path(folder).name}{code.co_filename.removeprefix(folder)}"].append(code.co_qualname)
        self._in_each = None
        return {file: sorted(found[file]) for file in sorted(found)}


async def _send(host: Host, text: str) -> None:
    """Send a message, and wait until its outcome is stored and published."""
    frames: asyncio.Queue[str] = asyncio.Queue()

    def hear(frame: WireEvent) -> None:
        frames.put_nowait(frame.name)

    await host.event_bus.subscribe("s", hear)
    await host.accept(RunRequest(text, "s", "bench"))
    while await frames.get() != "task_completed":
        pass
    host.event_bus.unsubscribe("s", hear)


async def _trace_messages(trace: Trace) -> list[dict[str, list[str]]]:
    """Send both messages through a host with its default chain on a SQLite file; trace all but the first of each."""
    found: list[dict[str, list[str]]] = []
    with tempfile.TemporaryDirectory() as folder:
        store = host_store_from_url("sqlite:///trace.db", folder=Path(folder))
        services = Services(models=FunctionModel(answer), tools=[look], store=store)
        async with Host(services, build_pipelines(services)) as host:
            for text in (HELLO, TOOL_CALL):
                await _send(host, text)
                for _ in range(TRACED_TURNS):
                    trace.is_counting = True
                    await _send(host, text)
                    trace.is_counting = False
                    trace.end_turn()
                found.append(trace.take())
    return found


def trace_messages() -> list[dict[str, list[str]]]:
    """Return the names of the functions by file, for a "hello" and for a message with one tool call."""
    trace = Trace()
    threading.setprofile(trace)  # the store's threads begin with the host
    sys.setprofile(trace)
    try:
        return asyncio.run(_trace_messages(trace))
    finally:
        sys.setprofile(None)
        threading.setprofile(None)


def main(with_names: bool) -> None:
    """Print files and functions by package and file, and the two sums."""
    hello, tool_call = trace_messages()
    for file in sorted({*hello, *tool_call}):
        names = [hello.get(file, []), tool_call.get(file, [])]
        print(f"{len(names[0]):>4}{len(names[1]):>5}  {file}")
        if with_names:
            for name in sorted({*names[0], *names[1]}):
                print(f"{'+' if name in names[0] else '':>4}{'+' if name in names[1] else '':>5}      {name}")
    for what, found in (("hello", hello), ("one tool call more", tool_call)):
        folders = Counter({"/".join(file.split("/")[:2]): 0 for file in found})
        for file, functions in found.items():
            folders["/".join(file.split("/")[:2])] += len(functions)
        if not with_names:
            print(", ".join(f"{folder} {count}" for folder, count in folders.most_common()))
        print(f"{what}: {len(found)} files, {sum(map(len, found.values()))} functions")


if __name__ == "__main__":
    main("--functions" in sys.argv)

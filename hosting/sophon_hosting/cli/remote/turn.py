"""One turn with a host over Socket.IO: send, show what comes, answer what is asked, come again after a break."""

import asyncio
from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any

from sophon.approvals import ApprovalRequest, Decision
from sophon.events import (
    ApprovalRequested,
    ApprovalResolved,
    Event,
    StreamChunk,
    StreamReset,
    TaskCancelled,
    TaskCompleted,
    TaskFailed,
    from_wire,
)
from sophon.messages import Response
from sophon.tools.tool import Risk
from sophon_hosting.cli.asking import TerminalGate
from sophon_hosting.cli.conversation import Choices
from sophon_hosting.cli.remote.line import HostRefused, Line

MISFIT = "invalid_arguments"
"""The host's word for an edit that does not fit, after which the question is still open."""


class RemoteTurn:
    """A connection for each turn: nothing of it need be kept alive while a person thinks at the prompt.

    `show` is given each event of the turn once, in order, whatever breaks in between.
    """

    def __init__(
        self,
        url: str,
        token: str | None,
        gate: TerminalGate,
        show: Callable[[Event], None],
        say: Callable[[str], None],
    ) -> None:
        self._url, self._auth = url, {"token": token} if token else {}
        self._gate, self._show, self._say = gate, show, say

    async def try_out(self) -> None:
        """Whether the host lets us in. Raises HostRefused."""
        line = Line(self._url, self._auth)
        await line.open()
        await line.close()

    async def say(self, text: str, choices: Choices) -> Response:
        """Send a message, and give how its turn ended. Cancelled, it stops the turn. Raises HostRefused."""
        line = Line(self._url, self._auth, on_break=lambda: self._say("the connection is lost; trying again"))
        await line.open()
        task_id = ""
        try:
            sent = await line.ask("send_message", _message(text, choices))
            task_id, line.session = sent["task_id"], sent["session_id"]
            return await self._follow(line, task_id)
        except asyncio.CancelledError:
            if task_id:
                await asyncio.shield(line.try_ask("cancel_task", {"task_id": task_id}))
            raise
        finally:
            await asyncio.shield(line.close())

    async def _follow(self, line: Line, task_id: str) -> Response:
        shown = Shown()
        asking: dict[str, asyncio.Task[None]] = {}
        try:
            while True:
                name, data = await line.frames.get()
                event = from_wire(name, data) if data.get("task_id") == task_id else None
                event = shown.news(event) if event is not None else None
                if event is None:
                    continue
                self._show(event)
                if isinstance(event, ApprovalRequested):
                    asking[event.approval_id] = asyncio.create_task(self._decide(line, event))
                if isinstance(event, ApprovalResolved) and event.approval_id in asking:
                    asking.pop(event.approval_id).cancel()
                response = _end_of(event)
                if response is not None:
                    return response
        finally:
            for each in asking.values():
                each.cancel()
            await asyncio.gather(*asking.values(), return_exceptions=True)

    async def _decide(self, line: Line, event: ApprovalRequested) -> None:
        """Ask until the host takes the answer: arguments that do not fit leave the question open."""
        while not await self._decided(line, event, await self._gate.request(_request(event))):
            continue

    async def _decided(self, line: Line, event: ApprovalRequested, decision: Decision) -> bool:
        payload: dict[str, Any] = {"approval_id": event.approval_id, "decision": decision.verdict}
        if decision.verdict == "edit":
            payload["arguments"] = dict(decision.arguments)
        if decision.reason:
            payload["reason"] = decision.reason
        try:
            await line.ask("decide_approval", payload)
        except HostRefused as refused:
            self._say(str(refused))
            return refused.code != MISFIT
        return True


class Shown:
    """What of a turn was shown: an event with a number once, and of a text what is beyond its end."""

    def __init__(self) -> None:
        self._seq = 0
        self._epoch = 0
        self._length = 0

    def news(self, event: Event) -> Event | None:
        """The event, or what is new of it; None for what was shown before a connection broke."""
        if event.seq is not None:
            if event.seq <= self._seq:
                return None
            self._seq = event.seq
        if isinstance(event, StreamReset):
            if event.epoch <= self._epoch:
                return None
            self._epoch, self._length = event.epoch, 0
        if isinstance(event, StreamChunk):
            beyond = event.text[max(self._length - event.offset, 0) :]
            self._length = max(self._length, event.offset + len(event.text))
            if not beyond:
                return None
            event.text = beyond
        return event


def _message(text: str, choices: Choices) -> Mapping[str, Any]:
    payload: dict[str, Any] = {"content": text, "session_id": choices.session, "stream": choices.stream}
    if choices.model is not None:
        payload["model"] = choices.model
    if choices.planning is not None:
        payload["planning"] = choices.planning
    return payload


def _request(event: ApprovalRequested) -> ApprovalRequest:
    """What the gate of the terminal asks; the digest stays with the host, which checks it."""
    return ApprovalRequest(
        id=event.approval_id,
        kind="plan" if event.kind == "plan" else "tool",
        run_id=event.run_id,
        call_id="",
        tool=event.tool,
        arguments=event.arguments,
        risk=Risk.parse(event.risk),
        digest="",
        preview=event.preview,
        editable=event.editable,
        expires_at=datetime.fromisoformat(event.expires_at) if event.expires_at else None,
    )


def _end_of(event: Event) -> Response | None:
    if isinstance(event, TaskCompleted):
        return Response(event.text, event.finish_reason, event.usage)
    if isinstance(event, TaskFailed):
        return Response(event.text, "error", event.usage, detail=dict(event.error))
    if isinstance(event, TaskCancelled):
        return Response(event.text, "cancelled", event.usage)
    return None

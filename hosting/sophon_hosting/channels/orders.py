"""Commands in a chat, carried out at once: neither queue nor model is asked."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass

from sophon.approvals import Decision
from sophon.errors import SophonError
from sophon.stores.run_contracts import Run
from sophon_channels.contract import Written
from sophon_channels.rules.commands import Command, help_text
from sophon_hosting.channels.chats import Chats
from sophon_hosting.channels.questions import Questions
from sophon_hosting.host import Host

log = logging.getLogger("sophon")

AUTO = "auto"
STOP_SECONDS = 0.1
"""What does not end at once ends behind the answer: the platform waits for this."""

MICROS = 1_000_000


@dataclass(frozen=True, slots=True)
class Order:
    """A command, who gave it where, and the session that the chat is in. `may_decide`: for others, too."""

    command: Command
    message: Written
    session: str
    may_decide: bool


class Orders:
    """What the commands of one channel do; each gives the text of its answer."""

    def __init__(self, host: Host, chats: Chats, questions: Questions) -> None:
        self._host, self._chats, self._questions = host, chats, questions
        self._store = host.services.store
        self._stopping: set[asyncio.Task[Run]] = set()
        self._do: dict[str, Callable[[Order], Awaitable[str]]] = {
            "new": self._new,
            "stop": self._stop,
            "status": self._status,
            "model": self._model,
            "usage": self._usage,
            "pending": self._pending,
            "approve": self._approve,
            "reject": self._reject,
            "help": self._help,
        }

    async def carry_out(self, order: Order) -> str:
        """The answer; a mistake is one, too."""
        do = self._do.get(order.command.name)
        if do is None:
            return f"There is no command /{order.command.name}. /help shows those there are."
        try:
            return await do(order)
        except SophonError as error:
            return f"⚠️ {error}"

    async def _new(self, order: Order) -> str:
        await self._chats.begin_session(order.message.place, order.message.external_id)
        return "This is a new conversation. What was said before is kept, and no longer read."

    async def _stop(self, order: Order) -> str:
        who = self._chats.identity(order.message.person)
        found = [
            run
            for run in await self._unfinished(order)
            if (order.may_decide or run.owner == who) and not _is_younger(run, order.message)
        ]
        if not found:
            return "Nothing is running."
        stopped = await self._stopped(found)
        if stopped < len(found):
            return "⏹ Stopping."
        return "⏹ Stopped." if stopped == 1 else f"⏹ Stopped {stopped} tasks."

    async def _stopped(self, runs: Sequence[Run]) -> int:
        """How many have ended at once. That all are to end is kept before this returns."""
        for run in runs:
            await self._store.runs.request_cancel(run.id)
        tasks = [asyncio.create_task(self._host.cancel(run.id)) for run in runs]
        for task in tasks:
            self._stopping.add(task)
            task.add_done_callback(self._ended)
        try:
            async with self._host.services.clock.timeout(STOP_SECONDS):
                await asyncio.wait(tasks)
        except TimeoutError:
            pass
        return sum(task.done() and task.exception() is None and task.result().over for task in tasks)

    def _ended(self, task: asyncio.Task[Run]) -> None:
        self._stopping.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            log.error("what was to be stopped could not be: %s", error)

    async def _status(self, order: Order) -> str:
        lines = [f"{_state(run)}: {run.text[:60]}" for run in await self._unfinished(order)]
        statistics = await self._host.queue.statistics()
        lines = lines or ["Nothing is running in this conversation."]
        return "\n".join([*lines, f"{statistics.waiting} of {statistics.capacity} places in the queue are taken."])

    async def _model(self, order: Order) -> str:
        session = await self._ensured(order)
        wanted = order.command.rest
        if wanted:
            model = None if wanted.lower() == AUTO else wanted
            if model is not None:
                self._host.services.gateway.find(model)
            await self._store.sessions.choose_model(session, model)
            return f"{model} answers from now on." if model else "The host chooses the model from now on."
        chosen = (await self._store.sessions.get(session)).model
        known = [each.info.id for each in self._host.services.gateway.candidates()]
        return f"{chosen or 'The host chooses the model'}. There are: {', '.join(known)}"

    async def _usage(self, order: Order) -> str:
        rows = await self._store.usage.totals(session_id=order.session)
        if not rows:
            return "This conversation has used nothing yet."
        tokens = sum(row.usage.input_tokens + row.usage.output_tokens for row in rows)
        dollars = sum(row.usage.cost_micros for row in rows) / MICROS
        return f"This conversation has used {tokens:,} tokens, ${dollars:.4f}."

    async def _pending(self, order: Order) -> str:
        found = await self._questions.pending(order.message.place)
        lines = [f"{code}: {record.request.preview.splitlines()[0]}" for code, record in found]
        return "\n".join([*lines, "/approve ID or /reject ID REASON"]) if lines else "Nothing waits for a decision."

    async def _approve(self, order: Order) -> str:
        code, _, _ = order.command.rest.partition(" ")
        return await self._decided(order, code, Decision.approve())

    async def _reject(self, order: Order) -> str:
        code, _, reason = order.command.rest.partition(" ")
        return await self._decided(order, code, Decision.reject(reason.strip()))

    async def _decided(self, order: Order, code: str, decision: Decision) -> str:
        if not code:
            return f"Which one? /{order.command.name} ID; /pending shows the ids."
        return await self._questions.decide(code, decision, order.message.person, order.message.place)

    async def _help(self, order: Order) -> str:
        return help_text()

    async def _unfinished(self, order: Order) -> list[Run]:
        """Of the chat: what a conversation before /new has begun goes on in it."""
        keys = await self._chats.keys(order.message.place)
        return [
            run
            for run in await self._store.runs.unfinished()
            if run.session_id == order.session
            or (self._chats.is_of_channel(run) and str(run.origin.get("chat")) in keys)
        ]

    async def _ensured(self, order: Order) -> str:
        return await self._chats.ensure(order.session, order.message.place, order.message.person)


def _is_younger(run: Run, message: Written) -> bool:
    """Whether it was begun after a message that was written long ago, and cannot be meant by it."""
    return message.late and run.created_at is not None and run.created_at > message.at


def _state(run: Run) -> str:
    return {"queued": "waits", "running": "runs", "suspended": "waits for a decision"}.get(run.status, run.status)

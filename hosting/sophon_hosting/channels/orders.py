"""Chat commands: executed at once, without queue and model."""

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
"""Argument of /model with which the host selects the model."""
STOP_SECONDS = 0.1
"""How long /stop waits for tasks to end, as the platform waits for the response; the rest ends in the background."""

MICROS = 1_000_000
"""Micro-dollars per dollar."""


@dataclass(frozen=True, slots=True)
class Order:
    """A command with its message and the chat's session id. `may_decide`: the person may stop tasks of others too."""

    command: Command
    message: Written
    session: str
    may_decide: bool


class Orders:
    """Handler of the commands of one channel; each returns the text of its reply."""

    def __init__(self, host: Host, chats: Chats, questions: Questions) -> None:
        self._host, self._chat_state, self._approval_prompts = host, chats, questions
        self._store = host.services.store
        self._stop_tasks: set[asyncio.Task[Run]] = set()
        self._handlers: dict[str, Callable[[Order], Awaitable[str]]] = {
            "new": self._start_new_session,
            "stop": self._stop_tasks_of_chat,
            "status": self._show_status,
            "model": self._select_model,
            "usage": self._show_usage,
            "pending": self._list_pending,
            "approve": self._approve,
            "reject": self._reject,
            "help": self._show_help,
        }

    async def carry_out(self, order: Order) -> str:
        """Execute a command and return the reply; errors of the user are replies too."""
        handler = self._handlers.get(order.command.name)
        if handler is None:
            return f"There is no command /{order.command.name}. /help lists the commands."
        try:
            return await handler(order)
        except SophonError as error:
            return f"⚠️ {error}"

    async def _start_new_session(self, request: Order) -> str:
        await self._chat_state.begin_session(request.message.place, request.message.external_id)
        return "This is a new conversation. The previous messages are kept, but no longer read."

    async def _stop_tasks_of_chat(self, request: Order) -> str:
        user_id = self._chat_state.identity(request.message.person)
        runs = [
            run
            for run in await self._unfinished_runs(request)
            if (request.may_decide or run.owner == user_id) and not _started_after(run, request.message)
        ]
        if not runs:
            return "Nothing is running."
        stopped_count = await self._stop_runs(runs)
        if stopped_count < len(runs):
            return "⏹ Stopping."
        return "⏹ Stopped." if stopped_count == 1 else f"⏹ Stopped {stopped_count} tasks."

    async def _stop_runs(self, runs: Sequence[Run]) -> int:
        """Request cancellation of all runs durably; return how many ended within `STOP_SECONDS`."""
        for run in runs:
            await self._store.runs.request_cancel(run.id)
        tasks = [asyncio.create_task(self._host.cancel(run.id)) for run in runs]
        for task in tasks:
            self._stop_tasks.add(task)
            task.add_done_callback(self._stop_finished)
        try:
            async with self._host.services.clock.timeout(STOP_SECONDS):
                await asyncio.wait(tasks)
        except TimeoutError:
            pass
        return sum(task.done() and task.exception() is None and task.result().over for task in tasks)

    def _stop_finished(self, task: asyncio.Task[Run]) -> None:
        self._stop_tasks.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            log.error("a task could not be stopped: %s", error)

    async def _show_status(self, request: Order) -> str:
        lines = [f"{_format_status(run)}: {run.text[:60]}" for run in await self._unfinished_runs(request)]
        statistics = await self._host.queue.statistics()
        lines = lines or ["Nothing is running in this conversation."]
        return "\n".join([*lines, f"{statistics.waiting} of {statistics.capacity} places in the queue are in use."])

    async def _select_model(self, request: Order) -> str:
        session = await self._ensure_session(request)
        argument = request.command.rest
        if argument:
            model = None if argument.lower() == AUTO else argument
            if model is not None:
                self._host.services.gateway.find(model)
            await self._store.sessions.choose_model(session, model)
            return f"{model} answers from now on." if model else "The host chooses the model from now on."
        selected = (await self._store.sessions.get(session)).model
        model_ids = [each.info.id for each in self._host.services.gateway.candidates()]
        return f"{selected or 'The host chooses the model'}. There are: {', '.join(model_ids)}"

    async def _show_usage(self, request: Order) -> str:
        rows = await self._store.usage.totals(session_id=request.session)
        if not rows:
            return "This conversation has used nothing yet."
        tokens = sum(row.usage.input_tokens + row.usage.output_tokens for row in rows)
        dollars = sum(row.usage.cost_micros for row in rows) / MICROS
        return f"This conversation has used {tokens:,} tokens, ${dollars:.4f}."

    async def _list_pending(self, request: Order) -> str:
        pending = await self._approval_prompts.pending(request.message.place)
        lines = [f"{code}: {record.request.preview.splitlines()[0]}" for code, record in pending]
        return "\n".join([*lines, "/approve ID or /reject ID REASON"]) if lines else "Nothing waits for a decision."

    async def _approve(self, request: Order) -> str:
        code, _, _ = request.command.rest.partition(" ")
        return await self._decide(request, code, Decision.approve())

    async def _reject(self, request: Order) -> str:
        code, _, reason = request.command.rest.partition(" ")
        return await self._decide(request, code, Decision.reject(reason.strip()))

    async def _decide(self, request: Order, code: str, decision: Decision) -> str:
        if not code:
            return f"Which one? /{request.command.name} ID; /pending shows the ids."
        return await self._approval_prompts.decide(code, decision, request.message.person, request.message.place)

    async def _show_help(self, request: Order) -> str:
        return help_text()

    async def _unfinished_runs(self, request: Order) -> list[Run]:
        """Return the unfinished runs of the chat, including those of its earlier sessions."""
        keys = await self._chat_state.keys(request.message.place)
        return [
            run
            for run in await self._store.runs.unfinished()
            if run.session_id == request.session
            or (self._chat_state.is_of_channel(run) and str(run.origin.get("chat")) in keys)
        ]

    async def _ensure_session(self, request: Order) -> str:
        return await self._chat_state.ensure(request.session, request.message.place, request.message.person)


def _started_after(run: Run, message: Written) -> bool:
    """Return whether the run started after a late message was written; the message cannot refer to such a run."""
    return message.late and run.created_at is not None and run.created_at > message.at


def _format_status(run: Run) -> str:
    return {"queued": "waits", "running": "runs", "suspended": "waits for a decision"}.get(run.status, run.status)

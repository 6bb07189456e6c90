"""Chat commands: executed at once, without queue and model."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence

from sophon.approvals import Decision
from sophon.errors import SophonError
from sophon.messages import Usage, images_from_json
from sophon.preferences import PREFERENCE_NAMES, describe_preferences, parse_preference_command
from sophon.stores.sessions.contract import SessionBranch
from sophon.tools.untrusted_text import unfence_text
from sophon.turn.chat_overrides import OVERRIDE_NAMES, build_chat_section
from sophon_channels.chat_commands import format_greeting, format_help
from sophon_channels.contract import InboundMessage, OutboundMessage
from sophon_channels.text.single_line import to_single_line
from sophon_hosting.channels.approval_prompts import ApprovalPrompts
from sophon_hosting.channels.argument_edit_dialogues import EditDialogues
from sophon_hosting.channels.chat_state import ChatState
from sophon_hosting.channels.direct_chat_recipients import recipient_in_chat
from sophon_hosting.channels.effective_chat_overrides import EffectiveChatOverrides, find_model
from sophon_hosting.channels.inbound.commands.command_request import ChatCommandRequest
from sophon_hosting.channels.inbound.commands.override_commands import OverrideCommands, require_feature
from sophon_hosting.channels.outbound.message_entries import OutboundWriter
from sophon_hosting.channels.outbound.undelivered_answers import UndeliveredAnswers
from sophon_hosting.host import Host, RunRequest
from sophon_hosting.queue.errors import QueueUnavailable
from sophon_hosting.rendering.value_formatting import format_usage_cost
from sophon_hosting.runs.data_owner_and_chat_overrides import OVERRIDES, overrides_to_origin
from sophon_hosting.runs.run_kinds import is_direct_call
from sophon_hosting.store.contract import host_store
from sophon_hosting.store.runs.contract import Run

MAX_RUNS_SEARCHED = 20
"""Number of runs in which /last looks for an answer, newest first."""

GRANT_WORDS = ("chat", "session")
"""Words behind the id with which /approve also approves later calls of the conversation."""

NO_OFF_THE_RECORD = "This host has no conversations off the record."
"""Reply to /otr of a host without them; otherwise `ChatsOffTheRecord` executes it."""

NOTHING_TO_ANSWER = "There is no message of yours to answer again."

STILL_RUNNING = "Your last message is still being answered; /stop stops it."

OTHERS_WROTE = "Somebody else has written since; send your message again."

log = logging.getLogger("sophon")

STOP_TIMEOUT_SECONDS = 0.1
"""How long /stop waits for tasks to end, as the platform waits for the response; the rest ends in the background."""


class ChatCommandHandler:
    """Handler of the commands of one channel; each returns the text of its reply."""

    def __init__(
        self,
        host: Host,
        chat_state: ChatState,
        approval_prompts: ApprovalPrompts,
        writer: OutboundWriter,
        undelivered: UndeliveredAnswers,
        chat_overrides: EffectiveChatOverrides,
        dialogues: EditDialogues,
    ) -> None:
        self._host, self._chat_state, self._approval_prompts = host, chat_state, approval_prompts
        self._dialogues = dialogues
        self._writer, self._undelivered = writer, undelivered
        self._store = host_store(host.services)
        self._retry = AnswerAgain(host, chat_state, chat_overrides)
        overrides = OverrideCommands(host, chat_state, chat_overrides)
        self._stopper = TaskStopper(host)
        self._handlers: dict[str, Callable[[ChatCommandRequest], Awaitable[str]]] = {
            "start": self._show_greeting,
            "new": self._start_new_session,
            "stop": self._stop_tasks_of_chat,
            "retry": self._answer_again,
            "status": self._show_status,
            **dict.fromkeys(OVERRIDE_NAMES, overrides.execute),
            "preferences": self._change_preferences,
            "usage": self._show_usage,
            "last": self._send_last_answer,
            "pending": self._list_pending,
            "approve": self._approve,
            "reject": self._reject,
            "edit": self._edit,
            "cancel": self._cancel_editing,
            "answer": self._answer,
            "otr": self._refuse_off_the_record,
            "help": self._show_help,
        }

    async def execute(self, request: ChatCommandRequest) -> str:
        """Execute a command and return the reply; errors of the user are replies too."""
        handler = self._handlers.get(request.command.name)
        if handler is None:
            return f"There is no command /{request.command.name}. /help lists the commands."
        try:
            return await handler(request)
        except SophonError as error:
            return f"⚠️ {error}"

    async def _start_new_session(self, request: ChatCommandRequest) -> str:
        await self._chat_state.start_new_session(request.message.location, request.message.external_id)
        return "This is a new conversation. The previous messages are kept, but no longer read."

    async def _stop_tasks_of_chat(self, request: ChatCommandRequest) -> str:
        user_id = self._chat_state.user_id(request.message.person)
        runs = [
            run
            for run in await self._unfinished_runs(request)
            if (request.is_approver or run.owner == user_id) and not _started_after(run, request.message)
        ]
        return describe_stop(runs, await self._stopper.stop(runs))

    async def _answer_again(self, request: ChatCommandRequest) -> str:
        return await self._retry.accept(request.message, request.session_id)

    async def _show_status(self, request: ChatCommandRequest) -> str:
        position = self._host.find_position
        lines = [
            f"{_format_status(run, await position(run.id))}: {to_single_line(unfence_text(run.text), 60)}"
            for run in await self._unfinished_runs(request)
        ]
        lines = lines or ["Nothing is running in this conversation."]
        try:
            statistics = await self._host.queue.statistics()
        except QueueUnavailable:
            return "\n".join([*lines, "The queue cannot be reached now; messages are accepted and wait."])
        return "\n".join([*lines, f"{statistics.waiting} of {statistics.capacity} places in the queue are in use."])

    async def _change_preferences(self, request: ChatCommandRequest) -> str:
        store, location = self._store.preferences, request.message.location
        if location.kind == "group":
            return "Preferences are yours alone: write to me directly."
        person = self._chat_state.user_id(request.message.person)
        found = await store.get(person)
        changed = parse_preference_command(request.command.arguments)
        if changed is not None:
            if changed[0] == "model" and changed[1]:
                await require_feature(self._host.services, self._chat_state, request.message, "ChooseModel")
                self._host.services.gateway.find(changed[1])
            found = found.change(*changed)
            await store.put(person, found)
        lines = describe_preferences(found) or ["You have no preferences."]
        return "\n".join([*lines, f"/preferences NAME VALUE changes one: {', '.join(PREFERENCE_NAMES)}."])

    async def _show_usage(self, request: ChatCommandRequest) -> str:
        rows = await self._store.usage.list_totals(session_id=request.session_id)
        if not rows:
            return "This conversation has used nothing yet."
        tokens = sum(row.usage.input_tokens + row.usage.output_tokens for row in rows)
        cost = format_usage_cost(sum((row.usage for row in rows), Usage()))
        return f"This conversation has used {tokens:,} tokens, {cost}."

    async def _send_last_answer(self, request: ChatCommandRequest) -> str:
        """Send the undelivered answers of the chat again, or else the last answer of the conversation."""
        message = request.message
        count = await self._undelivered.redeliver(message.location, message.person)
        if count:
            return f"{'The undelivered answer was' if count == 1 else f'{count} undelivered answers were'} sent again."
        text = await self._find_last_answer(request.session_id)
        if not text:
            return "There is no answer in this conversation yet."
        name = f"last:{message.location.key}:{message.external_id}"
        recipient = recipient_in_chat(self._chat_state.channel_name, message.location, message.person)
        await self._writer.write(message.location.key, name, OutboundMessage(text), "note", recipient=recipient)
        return "That was the last answer of this conversation; all were delivered."

    async def _find_last_answer(self, session_id: str) -> str:
        """Return the text of the newest completed run of a session, "" without one."""
        for run in await self._store.runs.list(session_id=session_id, limit=MAX_RUNS_SEARCHED):
            text = str((run.response or {}).get("text") or "").strip()
            if text:
                return text
        return ""

    async def _list_pending(self, request: ChatCommandRequest) -> str:
        location, person = request.message.location, request.message.person
        pending = await self._approval_prompts.list_pending(location, person)
        lines = [f"{code}: {record.request.preview.splitlines()[0]}" for code, record in pending]
        lines += ["/approve ID or /reject ID REASON" if lines else "Nothing waits for a decision."]
        if elsewhere := await self._approval_prompts.count_elsewhere(location, person):
            number = "1 waits" if elsewhere == 1 else f"{elsewhere} wait"
            lines.append(f"In other conversations {number}: decide there, on the web page, or with `sophon approvals`.")
        return "\n".join(lines)

    async def _approve(self, request: ChatCommandRequest) -> str:
        code, _, scope = request.command.arguments.partition(" ")
        scope = scope.strip().casefold()
        if scope not in ("", *GRANT_WORDS):
            return f"/approve {code} approves this call, /approve {code} chat also later ones like it."
        return await self._decide(request, code, Decision.approve(grant="session" if scope else None))

    async def _edit(self, request: ChatCommandRequest) -> str:
        code, _, text = request.command.arguments.partition(" ")
        if not code:
            return "Which one? /edit ID; /pending shows the ids."
        message = request.message
        return await self._dialogues.begin(code, message.person, message.location, message.external_id, text.strip())

    async def _cancel_editing(self, request: ChatCommandRequest) -> str:
        return await self._dialogues.cancel(request.message.person, request.message.location)

    async def _reject(self, request: ChatCommandRequest) -> str:
        code, _, reason = request.command.arguments.partition(" ")
        return await self._decide(request, code, Decision.reject(reason.strip()))

    async def _answer(self, request: ChatCommandRequest) -> str:
        code, _, text = request.command.arguments.partition(" ")
        if code and not text.strip():
            return f"What is the answer? /answer {code} TEXT"
        return await self._decide(request, code, Decision.answer(text.strip()))

    async def _decide(self, request: ChatCommandRequest, code: str, decision: Decision) -> str:
        if not code:
            return f"Which one? /{request.command.name} ID; /pending shows the ids."
        return await self._approval_prompts.decide(code, decision, request.message.person, request.message.location)

    async def _show_greeting(self, request: ChatCommandRequest) -> str:
        return format_greeting(in_group=request.message.location.kind == "group")

    async def _refuse_off_the_record(self, request: ChatCommandRequest) -> str:
        return NO_OFF_THE_RECORD

    async def _show_help(self, request: ChatCommandRequest) -> str:
        return format_help()

    async def _unfinished_runs(self, request: ChatCommandRequest) -> list[Run]:
        """Return the unfinished runs of the chat, including those of its earlier sessions; in a direct chat only those
        of the person: the platform may have given the chat to somebody else.
        """
        location = request.message.location
        keys = await self._chat_state.chat_keys(location)
        user_id = self._chat_state.user_id(request.message.person)
        return [
            run
            for run in await self._store.runs.list_unfinished()
            if (location.kind != "direct" or run.owner == user_id)
            and (
                (self._chat_state.is_channel_run(run) and run.session_id == request.session_id)
                or (self._chat_state.is_own_run(run) and str(run.origin.get("chat")) in keys)
            )
        ]


def _started_after(run: Run, message: InboundMessage) -> bool:
    """Return whether the run started after a late message was written; the message cannot refer to such a run."""
    return message.is_late and run.created_at is not None and run.created_at > message.sent_at


def _format_status(run: Run, position: int | None) -> str:
    waits = f"waits, {position} ahead" if position else "waits"
    return {"queued": waits, "running": "runs", "suspended": "waits for a decision"}.get(run.status, run.status)


class AnswerAgain:
    """Begins the last turn of a chat again. The chat goes on in the branch; the first answer stays in the old one."""

    def __init__(self, host: Host, chat_state: ChatState, chat_overrides: EffectiveChatOverrides) -> None:
        self._host, self._chat_state, self._store = host, chat_state, host_store(host.services)
        self._chat_overrides = chat_overrides

    async def accept(self, message: InboundMessage, session_id: str) -> str:
        """Accept the last message of the chat once more; return the reply to the command. Raises SophonError.

        In a group only the newest message is answered again: a branch before an older one would leave out what others
        wrote.
        """
        newest = await self._store.runs.list(session_id=session_id, limit=1, whole=False)
        if not newest or is_direct_call(newest[0]) or not self._chat_state.is_own_run(newest[0]):
            return NOTHING_TO_ANSWER
        run = await self._store.runs.get(newest[0].id)
        if run.owner != self._chat_state.user_id(message.person):
            return OTHERS_WROTE
        if not run.is_finished:
            return STILL_RUNNING
        turn = await self._store.sessions.list_turn(session_id, run.id)
        if not turn:
            return NOTHING_TO_ANSWER
        branch_id = self._chat_state.derive_session(message.location, message.external_id)
        await self._host.accept(await self._build_request(message, run, branch_id, turn[0].seq))
        await self._chat_state.switch_session(message.location, branch_id)
        return "I answer your last message again."

    async def _build_request(self, message: InboundMessage, run: Run, branch_id: str, seq: int) -> RunRequest:
        session, options = await self._store.sessions.get(run.session_id), run.options
        overrides = await self._chat_overrides.find(message.location, message.person)
        origin = {key: value for key, value in run.origin.items() if key != OVERRIDES}
        return RunRequest(
            text=run.text,
            session_id=branch_id,
            session_owner=session.owner,
            owner=run.owner,
            channel=run.channel,
            account=str(run.origin.get("account", "")),
            external_id=message.external_id,
            origin={**origin, **overrides_to_origin(overrides), "reply_to": message.message_id},
            stream=bool(options.get("stream")),
            model=None if session.model else find_model(self._host.services, overrides),
            instructions=build_chat_section(overrides) or None,
            planning=options.get("planning"),
            images=images_from_json(options["images"]) if options.get("images") else (),
            sent_at=message.sent_at,
            branch=SessionBranch(session.id, seq - 1),
        )


class TaskStopper:
    """Cancels tasks of one host."""

    def __init__(self, host: Host) -> None:
        self._host = host
        self._tasks: set[asyncio.Task[Run]] = set()

    async def stop(self, runs: Sequence[Run]) -> int:
        """Request cancellation of all runs durably; return how many ended within `STOP_TIMEOUT_SECONDS`."""
        if not runs:
            return 0
        for run in runs:
            await host_store(self._host.services).runs.request_cancel(run.id)
        tasks = [asyncio.create_task(self._host.cancel(run.id)) for run in runs]
        for task in tasks:
            self._tasks.add(task)
            task.add_done_callback(self._finish)
        try:
            async with self._host.services.clock.timeout(STOP_TIMEOUT_SECONDS):
                await asyncio.wait(tasks)
        except TimeoutError:
            pass
        return sum(task.done() and task.exception() is None and task.result().is_finished for task in tasks)

    def _finish(self, task: asyncio.Task[Run]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            log.error("a task could not be stopped: %s", error)


def describe_stop(runs: Sequence[Run], stopped_count: int) -> str:
    """Return what /stop answers."""
    if not runs:
        return "Nothing is running."
    if stopped_count < len(runs):
        return "⏹ Stopping."
    return "⏹ Stopped." if stopped_count == 1 else f"⏹ Stopped {stopped_count} tasks."

"""Chat session in this process: runs one turn after another through the chain and renders how each ends."""

import asyncio
import logging
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import replace
from typing import Any, TypeVar

from sophon.attachment_inspection import check_attachment_count, inspect_file
from sophon.attachments import Attachment
from sophon.errors import InputError, NotFound, SophonError
from sophon.messages import Message, Response
from sophon.operator_policy import OperatorPolicy
from sophon.preferences import Preferences
from sophon.principals import LOCAL_USER
from sophon.security import describe_error
from sophon.services import Services
from sophon.stores.sessions.contract import SessionRecord
from sophon_hosting.cli.error_reporting import EXIT_FAILURE, error_lines
from sophon_hosting.host_chain import build_pipelines
from sophon_hosting.programs.chat.chat_session import (
    SHORT_ID_CHARACTERS,
    CallableSkill,
    Chat,
    ChatFrontend,
    TurnChoices,
)
from sophon_hosting.rendering.value_formatting import format_count
from sophon_hosting.store.contract import host_store

T = TypeVar("T")

log = logging.getLogger("sophon.cli")


class LocalChat(Chat):
    """Chat session that runs turns through the configured chain, one at a time; Ctrl-C cancels the running turn.

    The constructor raises what `build_pipelines` raises.
    """

    def __init__(self, runner: asyncio.Runner, services: Services, choices: TurnChoices, front: ChatFrontend) -> None:
        super().__init__(runner, choices, front)
        # Whoever has this terminal is an operator; with four eyes they still need another one.
        policy = OperatorPolicy(frozenset((LOCAL_USER,)), four_eyes=services.settings.approval.four_eyes)
        self.services = services.with_parts(security=replace(services.security, operator_policy=policy))
        self._pipeline = build_pipelines(self.services)

    def run_turn(self, text: str) -> int:
        """See `Chat.run_turn`."""
        return self._run(self._run_chain(text, self.take_attached()))

    def prepare_regeneration(self, model: str) -> Callable[[], int]:
        """See `Chat.prepare_regeneration`. Raises InputError if nothing was written yet, NotFound for a model."""
        if model:
            self.services.gateway.find(model)
            self.choices.model = model
        last = self._branch_before_last_message(self.services.clock.new_id()[:SHORT_ID_CHARACTERS])
        return lambda: self._run(self._run_chain(last.content, last.attachments))

    def attach(self, name: str, content: bytes) -> None:
        """See `Chat.attach`."""
        self.attached.append(self.run_coroutine(self._store_file(name, content)))

    def list_callable_skills(self) -> Sequence[CallableSkill]:
        """See `Chat.list_callable_skills`."""
        if self.services.assistant.skills is None:
            return []
        enabled = self.services.assistant.skills.read().enabled.values()
        return [CallableSkill(each.name, each.argument_hint, each.description) for each in enabled if each.is_callable]

    def get_preferences(self) -> Preferences:
        """See `Chat.get_preferences`."""
        return self.run_coroutine(host_store(self.services).preferences.get(LOCAL_USER))

    def set_preferences(self, preferences: Preferences) -> Preferences:
        """See `Chat.set_preferences`."""
        if preferences.model:
            self.services.gateway.find(preferences.model)
        self.run_coroutine(host_store(self.services).preferences.put(LOCAL_USER, preferences))
        return preferences

    def enter_session(self, session_id: str) -> None:
        """Go on in a session that exists. Raises NotFound."""
        self.run_coroutine(host_store(self.services).sessions.get(session_id))
        super().enter_session(session_id)

    def describe_session(self) -> str:
        """See `Chat.describe_session`."""
        return f"{super().describe_session()}, {format_count(self.count_messages(), 'message')}"

    def run_coroutine(self, coroutine: Coroutine[Any, Any, T]) -> T:
        """Run a coroutine outside of any turn on the same event loop."""
        return self._runner.run(coroutine)

    def count_messages(self) -> int:
        """Return the number of messages of the session; 0 if the session does not exist yet."""
        try:
            return self.run_coroutine(host_store(self.services).sessions.get(self.choices.session)).message_count
        except NotFound:
            return 0

    def _branch_before_last_message(self, branch_id: str) -> Message:
        """Go to a new branch of the session, which ends before its last message, and return that message.

        Raises InputError if there is none.
        """
        sessions = host_store(self.services).sessions
        # A session exists from its first message on.
        records = self.run_coroutine(sessions.list_records(self.choices.session)) if self.count_messages() else []
        last = next((each for each in reversed(records) if _is_of_user(each)), None)
        if last is None or last.message is None:
            raise InputError("you have written nothing in this session yet, so there is nothing to answer again")
        self.run_coroutine(sessions.fork(self.choices.session, branch_id, upto=last.seq - 1, branch=True))
        self.choices.session = branch_id
        return last.message

    def is_last_turn_unfinished(self) -> bool:
        """Return whether the last turn has neither an answer nor an outcome, because the program ended during it."""
        sessions = host_store(self.services).sessions
        count = self.count_messages()
        # Every message is an entry of the log, so the last entry is never before the last message.
        tail = self.run_coroutine(sessions.list_records(self.choices.session, count - 1)) if count else []
        last = tail[-1].message if tail else None
        return last is not None and (last.role != "assistant" or bool(last.tool_calls))

    async def _store_file(self, name: str, content: bytes) -> Attachment:
        services, settings = self.services, self.services.settings.attachments
        check_attachment_count(len(self.attached) + 1, settings)
        attachment = inspect_file(content, name, services.clock.new_id(), settings, services.gateway.tokens.count_text)
        store, most = host_store(services).attachments, settings.max_total_bytes
        await store.add(attachment, content, owner=LOCAL_USER, max_total_bytes=most)
        return attachment

    async def _link_files(self, attachments: Sequence[Attachment]) -> None:
        """Give files to the session: its turns may read only those that it has."""
        store = host_store(self.services)
        await store.sessions.get_or_create(self.choices.session, LOCAL_USER)
        for each in attachments:
            content = await store.attachments.read(each.id)
            if content is not None:
                await store.attachments.add(each, content, owner=LOCAL_USER, session_id=self.choices.session)

    async def _run_chain(self, text: str, attachments: Sequence[Attachment]) -> Response:
        if attachments:
            await self._link_files(attachments)
        ctx = self.services.turn(
            text,
            attachments=attachments,
            session_id=self.choices.session,
            stream=self.choices.stream,
            model=self.choices.model,
            planning=self.choices.planning,
            channel="cli",
            principal=LOCAL_USER,
        )
        response = await self._pipeline.run(ctx)
        while response.finish_reason == "suspended":
            # An approval expired and Approval.OnTimeout is Park: restore the turn and ask again.
            ctx = self.services.restore(ctx.state())
            response = await self._pipeline.run(ctx)
        return response

    def _report_failure(self, error: Exception) -> int:
        log.error("the turn failed", exc_info=error)
        code = error.code if isinstance(error, SophonError) else "internal"
        payload = {"code": code, "message": describe_error(error)}
        self._finish_turn(Response(finish_reason="error", detail={"error": payload}))
        for line in error_lines(error):
            self.frontend.write_error(line)
        return EXIT_FAILURE


def _is_of_user(record: SessionRecord) -> bool:
    message = record.message
    return record.kind == "message" and message is not None and message.role == "user" and not message.origin

"""Conversations off the record in the direct chats of one channel: `/otr` begins one, `/new` ends it.

The host off the record runs their turns, and its outbox, in memory, has their answers. Stored are the mark of the chat,
so that no message of such a chat is ever taken for one of the kept conversation, and the platform's ids of the
messages, so that none is read twice.
"""

import logging
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import asdict
from typing import Final

from sophon.approvals import Decision
from sophon.errors import InputError, NotFound, SessionTaken, SophonError
from sophon.events import event_type
from sophon.failure_log import log_failure
from sophon.turn.chat_overrides import build_chat_section
from sophon_channels.contract import Channel, ChatLocation, InboundMessage, Person
from sophon_channels.outbound_entry import OutboundEntry
from sophon_hosting.background_tasks import BackgroundTasks
from sophon_hosting.channels.chat_state import ChatState
from sophon_hosting.channels.effective_chat_overrides import EffectiveChatOverrides, find_model
from sophon_hosting.channels.inbound.commands.chat_command_handler import TaskStopper, describe_stop
from sophon_hosting.channels.inbound.commands.command_request import ChatCommandRequest
from sophon_hosting.channels.inbound.message_acceptance import build_message_origin, format_rejection
from sophon_hosting.channels.inbound.turn_text import build_turn_text
from sophon_hosting.channels.outbound.message_entries import OutboundWriter
from sophon_hosting.channels.outbound.outbox_worker import OutboxWorker
from sophon_hosting.channels.outbound.typing_and_preview import TypingAndPreview
from sophon_hosting.events.wire_event import WireEvent
from sophon_hosting.host import RunRequest
from sophon_hosting.observability.log_context import OFF_THE_RECORD, log_context
from sophon_hosting.off_the_record.errors import OffTheRecordFull
from sophon_hosting.off_the_record.host import OffTheRecordHost
from sophon_hosting.queue.errors import TryLater
from sophon_hosting.runs.data_owner_and_chat_overrides import overrides_to_origin
from sophon_hosting.runs.session_deletion import Busy
from sophon_hosting.store.channel_state.channel_state_entry import ChannelStateEntry
from sophon_hosting.store.contract import HostStore, host_store
from sophon_hosting.store.runs.contract import Run

log = logging.getLogger("sophon")

MARK_KIND: Final = "off_the_record"
"""Kind of the stored mark of a chat; its value is the id of the session off the record."""

BEGUN = (
    "🔒 Off the record until /new, or until an hour has passed without a message. This host stores nothing of what is "
    "said, remembers nothing, and its tools only read. This platform keeps its messages, and the model's provider "
    "reads them."
)
NOT_IN_GROUPS = "In a group others keep what is said. Write to me directly, and send /otr there."
NOT_HERE = (
    "Not in this chat: several processes of the host receive its messages, and what is off the record is in the memory "
    'of one. On the host\'s web page, "Talk off the record" begins such a conversation.'
)
ENDED = (
    "🔒 The conversation off the record has ended, and this message was neither read nor stored. /otr begins another, "
    "/new goes back to the kept conversation."
)
TEXT_ONLY = "🔒 Off the record I read text only; this message was neither read nor stored. /new goes back."
NO_EDITS = "🔒 Off the record an edit is not read; send the text again."
NOT_OFF_THE_RECORD = "This is about the kept conversation: /new goes back to it."
NOBODY_TO_ASK = "nobody can be asked in a chat off the record"

KEPT_COMMANDS: Final = frozenset({"retry", "last", "usage"})
"""Commands about the kept conversation, refused meanwhile: an answer of it would look like one off the record."""


class ChatsOffTheRecord:
    """Conversations off the record of one channel's direct chats.

    `worker` sends their answers; it runs in the process that leads the channel. `is_available`: messages arrive in that
    process only, whose memory has the conversations. A chat shows that an answer is being written; it is not streamed.
    """

    def __init__(
        self,
        host: OffTheRecordHost,
        channel: Channel,
        store: HostStore,
        chat_state: ChatState,
        writer: OutboundWriter,
        chat_overrides: EffectiveChatOverrides,
        *,
        is_available: bool,
        on_unauthorized: Callable[[], None],
    ) -> None:
        self._host, self._channel, self._store = host, channel, store
        self._chat_state, self._writer, self._chat_overrides = chat_state, writer, chat_overrides
        own, clock = host_store(host.services), host.services.clock
        self._typing = TypingAndPreview({channel.name: channel}, own, clock)
        self.worker = OutboxWorker(
            channel,
            own.outbox,
            clock,
            migrate_chat=chat_state.migrate_chat,
            refresh_payload=self._end_typing,
            on_unauthorized=on_unauthorized,
            changes=host.outbox_changes,
        )
        self._is_available, self._stopper = is_available, TaskStopper(host)
        self._background = BackgroundTasks()
        """Rejections of questions, and deletions of conversations that have ended."""

    def start(self) -> None:
        """Follow the events of the host off the record."""
        self._host.event_bus.subscribe_all(self._handle_event)

    async def stop(self) -> None:
        """Follow them no more."""
        self._host.event_bus.unsubscribe_all(self._handle_event)
        await self._typing.stop()
        await self._background.wait()

    async def send(self) -> None:
        """Send the answers until cancelled; the log has no details of them."""
        with log_context(**{OFF_THE_RECORD: "yes"}):
            await self.worker.run()

    async def is_off_the_record(self, location: ChatLocation) -> bool:
        """Return whether a chat is off the record, also if its conversation has ended meanwhile."""
        return location.kind == "direct" and await self._find_mark(location) is not None

    async def take(self, messages: Sequence[InboundMessage]) -> list[InboundMessage]:
        """Accept the messages of chats off the record, or answer them; return the others. Raises StoreError."""
        keys = {each.location.key for each in messages if each.location.kind == "direct"}
        name, account = self._channel.name, self._channel.account
        marked = await self._store.channel_state.find_keys(name, account, MARK_KIND, keys) if keys else frozenset[str]()
        taken = [each for each in messages if each.location.key in marked and each.location.kind == "direct"]
        for message in taken:
            session = await self._find_mark(message.location)
            if (problem := await self._accept(message, session or "")) is not None:
                await self._reply(message, problem)
        if not taken:
            return list(messages)
        await self._chat_state.mark_all_processed([each.external_id for each in taken])
        ids = {each.external_id for each in taken}
        return [each for each in messages if each.external_id not in ids]

    async def execute(self, request: ChatCommandRequest) -> str | None:
        """Execute a command that is about a conversation off the record; return the reply, or None if another handler
        has to execute it.
        """
        name, location = request.command.name, request.message.location
        if name == "otr":
            return await self._begin(location, request.message.person)
        session = await self._find_mark(location) if location.kind == "direct" else None
        if session is None:
            return None
        if name == "new":
            await self._end(location, session)
            return None
        if name in KEPT_COMMANDS:
            return NOT_OFF_THE_RECORD
        if name == "stop":
            return await self._stop_tasks(session)
        if name == "status":
            return f"🔒 Off the record. {await self._describe_tasks(session)}"
        return None

    async def _begin(self, location: ChatLocation, person: Person) -> str:
        if location.kind != "direct":
            return NOT_IN_GROUPS
        if not self._is_available:
            return NOT_HERE
        if (earlier := await self._find_mark(location)) is not None:
            await self._end(location, earlier)
        owner = self._chat_state.user_id(person)
        try:
            await self._host.check_room(owner)
        except OffTheRecordFull as error:
            return f"🚦 {error}."
        session = await host_store(self._host.services).sessions.get_or_create(self._host.new_session_id(), owner)
        await self._store.channel_state.put(
            ChannelStateEntry(
                self._channel.name, self._channel.account, MARK_KIND, location.key, {"session": session.id}
            )
        )
        return BEGUN

    async def _end(self, location: ChatLocation, session: str) -> None:
        runs = await host_store(self._host.services).runs.list_unfinished(session)
        if await self._stop_runs(runs) == len(runs):
            await self._delete(session)
        else:
            self._background.start(self._delete(session))
        await self._store.channel_state.remove(self._channel.name, self._channel.account, MARK_KIND, location.key)

    async def _delete(self, session: str) -> None:
        with suppress(NotFound, Busy):  # one that still runs ends with the idle ones
            await self._host.delete_session(session)

    async def _accept(self, message: InboundMessage, session: str) -> str | None:
        """Accept a message; return why it was not, as a text for the chat."""
        services = self._host.services
        owner = self._chat_state.user_id(message.person)
        found = await host_store(services).sessions.find(session)
        if found is None or found.owner != owner:
            return ENDED
        if message.attachments or message.unreadable or message.media_group_id is not None:
            return TEXT_ONLY
        overrides = await self._chat_overrides.find(message.location, message.person)
        try:
            await self._host.check_length(session)
            await self._host.accept(
                RunRequest(
                    text=build_turn_text(message, services.clock.new_nonce),
                    session_id=session,
                    session_owner=owner,
                    owner=owner,
                    channel=self._channel.name,
                    account=self._channel.account,
                    external_id=message.external_id,
                    model=find_model(services, overrides),
                    origin={
                        "chat": message.location.key,
                        "kind": message.location.kind,
                        "data_owner": owner,
                        "place": asdict(message.location),
                        **overrides_to_origin(overrides),
                        **build_message_origin(message),
                    },
                    instructions=build_chat_section(overrides) or None,
                    sent_at=message.sent_at,
                )
            )
        except SessionTaken:  # it has ended meanwhile
            return ENDED
        except OffTheRecordFull as error:
            return f"🚦 {error}."
        except TryLater as error:
            return format_rejection(error, 1)
        except InputError as error:
            return f"⚠️ {error}"
        return None

    async def _stop_tasks(self, session: str) -> str:
        runs = await host_store(self._host.services).runs.list_unfinished(session)
        return describe_stop(runs, await self._stop_runs(runs))

    async def _stop_runs(self, runs: Sequence[Run]) -> int:
        with log_context(**{OFF_THE_RECORD: "yes"}):
            return await self._stopper.stop(runs)

    async def _describe_tasks(self, session: str) -> str:
        count = len(await host_store(self._host.services).runs.list_unfinished(session))
        return "Nothing is running." if not count else f"{count} unfinished."

    async def _reply(self, message: InboundMessage, text: str) -> None:
        name = f"otr:{self._channel.name}:{self._channel.account}:{message.external_id}"
        await self._writer.write_reply(message.location, message.person, name, text, message.message_id)

    async def _find_mark(self, location: ChatLocation) -> str | None:
        """Return the id of the session off the record of a chat; None if the chat is on the record."""
        mark = await self._store.channel_state.get(self._channel.name, self._channel.account, MARK_KIND, location.key)
        return None if mark is None else str(mark.value.get("session", ""))

    def _handle_event(self, event: WireEvent) -> None:
        with log_context(**{OFF_THE_RECORD: "yes"}):  # of the tasks that it starts, too
            self._typing.handle_event(event)
        if event_type(event.name).is_final:
            self.worker.wake()
        elif event.name == "approval_requested":
            self._background.start(self._reject(str(event.data["approval_id"]), event.task_id))

    async def _end_typing(self, entry: OutboundEntry) -> None:
        """Refresh nothing: what is not streamed has no preview that the answer would replace."""
        if entry.run_id is not None:
            await self._typing.wait_until_idle(entry.run_id)

    async def _reject(self, approval_id: str, task_id: str) -> None:
        """Reject what would have to wait for a person of this channel; questions on the page are left alone."""
        try:
            run = await host_store(self._host.services).runs.find(task_id)
            if run is not None and run.channel == self._channel.name:
                await self._host.approvals.decide(approval_id, Decision.reject(NOBODY_TO_ASK), run.owner)
        except SophonError as error:
            log_failure(log, error, "%s: a question off the record was not rejected", self._channel.name)

"""Inbound handler: access check, then dispatch to the queue, a chat command, a media group or an approval."""

import logging
from collections.abc import Mapping, Sequence
from dataclasses import field, replace
from functools import partial
from itertools import groupby

from sophon._python.lazy_dataclass import dataclass, new_dict
from sophon.errors import StoreError
from sophon.learning.feedback import value_of_emojis
from sophon_channels.access_policy import AccessPolicy
from sophon_channels.approval_buttons import parse_callback_data
from sophon_channels.chat_commands import ChatCommand, parse_command
from sophon_channels.contract import (
    ButtonPress,
    Channel,
    ChatMigrated,
    DeliveryReceipt,
    IdentityChanged,
    InboundEvent,
    InboundMessage,
    MessageEdited,
    MessageReaction,
)
from sophon_hosting.channels.approval_prompts import VERDICT_MARKS, ApprovalPrompts
from sophon_hosting.channels.argument_edit_dialogues import WRITE_NOTE, EditDialogues
from sophon_hosting.channels.chat_state import ChatState
from sophon_hosting.channels.effective_chat_overrides import EffectiveChatOverrides
from sophon_hosting.channels.identity_links import IdentityLinks
from sophon_hosting.channels.inbound.button_acknowledgements import ButtonAcknowledger
from sophon_hosting.channels.inbound.commands.chat_command_handler import ChatCommandHandler
from sophon_hosting.channels.inbound.commands.command_request import ChatCommandRequest
from sophon_hosting.channels.inbound.commands.off_the_record_chats import NO_EDITS, ChatsOffTheRecord
from sophon_hosting.channels.inbound.delivery_receipts import DeliveryReceiptHandler
from sophon_hosting.channels.inbound.expected_texts import ANSWER_NOT_EDITED, ExpectedTexts
from sophon_hosting.channels.inbound.group_history import GroupHistory
from sophon_hosting.channels.inbound.message_acceptance import AckReactions, MessageAcceptor
from sophon_hosting.channels.inbound.message_edits import EditHandler
from sophon_hosting.channels.inbound.message_lookup import MessageLookup
from sophon_hosting.channels.inbound.message_merging import MessageMerger, is_quick
from sophon_hosting.channels.inbound.sender_access import SenderAccessControl, update_operator
from sophon_hosting.channels.inbound.unreadable_notices import UnreadableNotices, has_readable_content, without_voice
from sophon_hosting.channels.outbound.message_entries import OutboundWriter
from sophon_hosting.channels.outbound.undelivered_answers import UndeliveredAnswers
from sophon_hosting.channels.pairing import PairingService
from sophon_hosting.host import Host
from sophon_hosting.store.contract import host_store

log = logging.getLogger("sophon")

PRESS_FAILED_NOTE = "this did not work; the host's log has the error"
"""Note at a button whose press could not be handled."""

OTHER_BOT_MESSAGE = "This command is addressed to @{name}, and was not executed here. Send it without the name."
"""Answer in a direct chat to a command that names another bot; in a group it is ignored."""

EDITED_COMMAND_MESSAGE = "A command is not executed by an edit; send it as a new message."
"""Answer to a message that became a command."""

MAY_NOT_WRITE_NOTE = "you may not decide this"
"""Note at a button that was pressed by somebody who may not write in the chat."""


@dataclass(frozen=True, slots=True)
class InboundOptions:
    """How a channel's messages are read.

    Texts of a person are joined that come within `debounce_seconds`; 0: never. `group_history` states by the id of a
    group how many messages that were not addressed to the bot a turn sees. `ack_reaction` is the emoji with which each
    accepted message is acknowledged, "" for none.
    """

    debounce_seconds: float = 0.0
    group_history: Mapping[str, int] = field(default_factory=new_dict)
    ack_reaction: str = ""


class InboundHandler:
    """`Inbox` of one channel. An event that is received repeatedly is processed once.

    Messages that arrive together are stored together.
    """

    def __init__(
        self,
        host: Host,
        channel: Channel,
        policy: AccessPolicy,
        *,
        chat_state: ChatState,
        writer: OutboundWriter,
        approval_prompts: ApprovalPrompts,
        pairing: PairingService,
        undelivered: UndeliveredAnswers,
        receipts: DeliveryReceiptHandler,
        options: InboundOptions,
        chat_overrides: EffectiveChatOverrides,
        off_the_record: ChatsOffTheRecord | None = None,
        reads_voice: bool = False,
    ) -> None:
        store, clock = host_store(host.services), host.services.clock
        self._channel, self._policy, self._chat_state = channel, policy, chat_state
        self._writer, self._approval_prompts, self._undelivered = writer, approval_prompts, undelivered
        self.edit_dialogues = EditDialogues(host, channel, chat_state, writer, approval_prompts)
        self._expected = ExpectedTexts(
            channel,
            store,
            chat_state=chat_state,
            prompts=approval_prompts,
            dialogues=self.edit_dialogues,
            writer=writer,
        )
        self._commands = ChatCommandHandler(
            host, chat_state, approval_prompts, writer, undelivered, chat_overrides, self.edit_dialogues
        )
        self.identities = IdentityLinks(
            channel,
            store,
            chat_state,
            partial(update_operator, policy, host.services.security.operator_policy, channel.name),
        )
        history = GroupHistory(channel, store, clock, chat_state, options.group_history)
        self._admission = SenderAccessControl(
            channel,
            policy,
            chat_state=chat_state,
            identities=self.identities,
            pairing=pairing,
            writer=writer,
            record_ignored=history.record,
        )
        reactions = AckReactions(channel, options.ack_reaction)
        self._acceptor = MessageAcceptor(
            host, channel, chat_state, writer, MessageLookup(store), history, chat_overrides, reactions
        )
        self.merger = MessageMerger(
            channel, store, clock, self._handle_media_group, debounce_seconds=options.debounce_seconds
        )
        self._edits = EditHandler(host, channel, chat_state, self.merger, self._acceptor)
        self._acknowledgements = ButtonAcknowledger(channel, clock)
        self._unreadable_notices = UnreadableNotices(writer, clock)
        self._receipts = receipts
        self._reactions = ReactionHandler(host, channel, chat_state)
        self._accepts_events, self._reads_voice = True, reads_voice
        self._off_the_record = off_the_record

    async def receive(self, events: Sequence[InboundEvent]) -> None:
        """Handle the events in their order, as `Inbox.receive`."""
        if not self._accepts_events:
            raise StoreError(self._channel.name, "the host is shutting down; deliver the event again later")
        for are_messages, group in groupby(events, _is_plain_message):
            if are_messages:
                await self._handle_messages([event for event in group if isinstance(event, InboundMessage)])
            else:
                for event in group:
                    await self._handle_safely(event)

    def open(self) -> None:
        """Take events, also again after `close`."""
        self._accepts_events = True

    async def close(self) -> None:
        """Reject further events, so that the platform delivers them again later."""
        self._accepts_events = False
        await self.merger.stop()
        await self._acceptor.stop()
        await self._acknowledgements.stop()

    async def _handle_safely(self, event: InboundEvent) -> None:
        """Handle one event; of errors only StoreError is raised."""
        try:
            await self._handle(event)
        except StoreError:
            raise
        except Exception:  # a redelivery would fail again, and block all later events
            log.exception("%s: the event %s could not be handled", self._channel.name, event.external_id)

    async def _handle(self, event: InboundEvent) -> None:
        match event:
            case InboundMessage():
                await self._handle_command(event)
            case MessageEdited():
                await self._handle_edit(event)
            case ButtonPress():
                await self._handle_press(event)
            case MessageReaction():
                await self._handle_reaction(event)
            case ChatMigrated():
                await self._chat_state.migrate_chat(event.old_chat, event.new_chat)
            case IdentityChanged():
                if not await self._chat_state.is_processed(event.external_id):
                    await self.identities.change(event)
                    await self._chat_state.mark_processed(event.external_id)
            case DeliveryReceipt():
                await self._receipts.handle(event)

    async def _handle_reaction(self, reaction: MessageReaction) -> None:
        admission = await self._admission.admit(reaction, mentioned=True)
        if admission.decision == "let_in":
            identified = replace(reaction, person=admission.person, location=admission.location)
            await self._reactions.handle(identified)

    async def _handle_edit(self, edit: MessageEdited) -> None:
        if await self._chat_state.is_processed(edit.external_id):
            return
        message = edit.message
        # Of an album one piece mentions the bot; an edit of another is one of an accepted message, or has no effect.
        mentioned = message.is_mention or await self._chat_state.is_processed(message.external_id)
        admission = await self._admission.admit(message, mentioned=mentioned)
        if admission.decision == "let_in":
            identified = replace(message, person=admission.person, location=admission.location)
            if self._off_the_record is not None and await self._off_the_record.is_off_the_record(identified.location):
                await self._reply_to_edit(edit, identified, NO_EDITS)
            elif await self._chat_state.was_taken(message.external_id):
                await self._reply_to_edit(edit, identified, ANSWER_NOT_EDITED)
            elif _command_of(message) is None:
                await self._edits.handle(replace(edit, message=identified))
            else:  # the first version may have been executed
                await self._reply_to_edit(edit, identified, EDITED_COMMAND_MESSAGE)
        await self._chat_state.mark_processed(edit.external_id)

    async def _reply_to_edit(self, edit: MessageEdited, message: InboundMessage, text: str) -> None:
        name = f"edit:{self._channel.name}:{self._channel.account}:{edit.external_id}"
        await self._writer.write_reply(message.location, message.person, name, text, message.message_id)

    async def _handle_messages(self, messages: Sequence[InboundMessage]) -> None:
        try:
            await self._store_messages(messages)
        except StoreError:
            raise
        except Exception:
            log.exception("%s: %d messages could not be handled", self._channel.name, len(messages))
            if len(messages) > 1:  # the others need not suffer for one
                for message in messages:
                    await self._handle_messages([message])

    async def _store_messages(self, messages: Sequence[InboundMessage]) -> None:
        """Store messages that are no commands: as runs, or as pieces of media groups."""
        admitted = await self._admission.admit_messages(await self._without_processed(messages))
        if self._off_the_record is not None:
            admitted = await self._off_the_record.take(admitted)
        for location, person in dict.fromkeys((message.location, message.person) for message in admitted):
            await self._undelivered.announce(location, person)
        admitted = await self._expected.take(admitted)
        grouped = [self.merger.assign_quick_group(message) for message in admitted]
        for _, together in groupby(grouped, is_quick):  # what is not joined must not overtake what is
            await self._store_together(list(together))

    async def _store_together(self, messages: Sequence[InboundMessage]) -> None:
        whole = [message for message in messages if message.media_group_id is None]
        await self.merger.add_pieces([message for message in messages if message.media_group_id is not None])
        for message in whole:
            await self.merger.flush_quick_messages(message)
        await self._accept_or_answer(whole)
        # A redelivery must not meet a full queue and be reported as rejected.
        await self._chat_state.mark_all_processed([message.external_id for message in whole])

    async def _without_processed(self, messages: Sequence[InboundMessage]) -> list[InboundMessage]:
        processed = await self._chat_state.find_processed([message.external_id for message in messages])
        by_id = {message.external_id: message for message in reversed(messages)}
        return [by_id[key] for key in dict.fromkeys(each.external_id for each in messages) if key not in processed]

    async def _handle_media_group(self, message: InboundMessage, pieces: Sequence[InboundMessage]) -> None:
        decision = await self._admission.decide_access(message.person, message.location, mentioned=message.is_mention)
        if decision == "let_in":
            await self._accept_or_answer([message], pieces)
        else:
            await self._admission.note_ignored(message)

    async def _accept_or_answer(
        self, messages: Sequence[InboundMessage], pieces: Sequence[InboundMessage] = ()
    ) -> None:
        """Accept the messages that a model can read; answer the others. `pieces` are what a single one consists of."""
        messages = messages if self._reads_voice else [without_voice(each) for each in messages]
        readable = [each for each in messages if not each.unreadable or has_readable_content(each)]
        await self._acceptor.accept(readable, pieces)
        for message in messages:
            if message.unreadable and not has_readable_content(message):
                await self._unreadable_notices.send(message, f"unread:{self._event_name(message)}")

    async def _handle_command(self, message: InboundMessage) -> None:
        command = _command_of(message)
        if command is None or await self._chat_state.is_processed(message.external_id):
            return
        identified = await self._admission.admit_message(message)
        if identified is None:
            return
        await self.merger.flush_quick_messages(identified)
        await self._undelivered.announce(identified.location, identified.person)
        if command.bot_name:  # the channel removes its own bot's name
            if message.location.kind == "direct":
                await self._reply(identified, OTHER_BOT_MESSAGE.format(name=command.bot_name))
            return
        if not command.is_known and await self._expected.take_one(identified):
            return  # a value such as /tmp
        session = await self._chat_state.find_session(identified.location, identified.person)
        may_decide = self._policy.is_approver(identified.person)
        request = ChatCommandRequest(command, identified, session, may_decide)
        reply = None if self._off_the_record is None else await self._off_the_record.execute(request)
        if reply is None:
            reply = await self._commands.execute(request)
        if reply:
            await self._reply(identified, reply)
        else:  # the command has written into the chat
            await self._chat_state.mark_processed(message.external_id)

    async def _reply(self, message: InboundMessage, text: str) -> None:
        """Answer a command, which is processed then."""
        name = f"order:{self._event_name(message)}"
        await self._writer.write_reply(message.location, message.person, name, text, message.message_id)
        await self._chat_state.mark_processed(message.external_id)

    async def _handle_press(self, press: ButtonPress) -> None:
        """Handle a button press; every press is acknowledged once, or the button would show progress forever."""
        try:
            note = await self._decide_press(press)
        except StoreError:
            raise  # the press is delivered again
        except Exception:
            log.exception("%s: the button press %s could not be handled", self._channel.name, press.external_id)
            note = PRESS_FAILED_NOTE
        await self._acknowledgements.start(press, note)

    async def _decide_press(self, press: ButtonPress) -> str:
        """Decide by a press, and return the note for the person."""
        admission = await self._admission.admit(press, mentioned=True)
        if admission.decision != "let_in":
            return MAY_NOT_WRITE_NOTE
        identified = replace(press, person=admission.person, location=admission.location)
        pressed = parse_callback_data(press.data)
        is_editing = pressed is not None and pressed.verdict in ("edit", "cancel", "field")
        if pressed is not None and is_editing:
            note = await self.edit_dialogues.press(pressed, identified.person, identified.location, press.external_id)
            is_shown = note.startswith(WRITE_NOTE)  # the question is in the chat
        else:
            note = await self._approval_prompts.decide_by_press(identified)
            is_shown = note.startswith(tuple(VERDICT_MARKS.values()))  # a decision is shown in the chat anyway
        if not is_shown and (is_editing or not self._channel.supports_press_notes):
            # A press without effect must be reported there too.
            name = f"pressed:{self._channel.name}:{self._channel.account}:{press.external_id}"
            await self._writer.write_reply(identified.location, identified.person, name, note)
        return note

    def _event_name(self, message: InboundMessage) -> str:
        return f"{self._channel.name}:{self._channel.account}:{message.external_id}"


def _command_of(message: InboundMessage) -> ChatCommand | None:
    """Return the command of a message; what somebody else wrote, and was forwarded, is none."""
    return None if message.is_forwarded else parse_command(message.text)


def _is_plain_message(event: InboundEvent) -> bool:
    return isinstance(event, InboundMessage) and _command_of(event) is None


class ReactionHandler:
    """Records the reactions of people who may write in the chat as their feedback.

    A reaction to anything but an answer is ignored. One that says nothing, and none at all, take back what the person
    said before.
    """

    def __init__(self, host: Host, channel: Channel, chat_state: ChatState) -> None:
        self._host, self._channel, self._chat_state = host, channel, chat_state

    async def handle(self, reaction: MessageReaction) -> None:
        """Record a reaction; `reaction.person` is identified. Raises StoreError."""
        store = host_store(self._host.services)
        entry = await store.outbox.find_by_platform_id(
            self._channel.name, self._channel.account, reaction.message_id, chat=reaction.chat or None
        )
        run = await store.runs.find(entry.run_id) if entry is not None and entry.run_id is not None else None
        if run is None or not run.is_finished:
            log.debug("%s: a reaction to no answer of a task", self._channel.name)
            return
        await self._host.feedback.record(
            run,
            self._chat_state.user_id(reaction.person),
            value_of_emojis(reaction.emojis) or 0.0,
            source=self._channel.name,
        )

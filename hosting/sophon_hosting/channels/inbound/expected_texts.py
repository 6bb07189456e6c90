"""Texts that the host waits for in a chat: values of an editing dialogue, and answers to questions of the agent."""

from collections.abc import Mapping, Sequence
from datetime import timedelta

from sophon.approvals import Decision
from sophon_channels.contract import Channel, InboundMessage
from sophon_hosting.channels.approval_prompts import VERDICT_MARKS, ApprovalPrompts
from sophon_hosting.channels.argument_edit_dialogues import EditDialogues, dialogue_key
from sophon_hosting.channels.chat_state import DIALOGUE_KIND, ChatState, question_key
from sophon_hosting.channels.outbound.message_entries import OutboundWriter
from sophon_hosting.store.approvals.approval_record import ApprovalRecord
from sophon_hosting.store.channel_state.channel_state_entry import ChannelStateEntry
from sophon_hosting.store.contract import HostStore

CLOCK_TOLERANCE = timedelta(seconds=2)
"""How much earlier than the question an answer may be dated: platforms state whole seconds."""
SEVERAL_QUESTIONS = "Several questions wait for an answer: reply to one of them, or write /answer ID TEXT."
"""Answer to a text that may answer any of several questions."""
ANSWER_NOT_EDITED = "An answer or a value is not changed by an edit: it has been read."
"""Answer to the edit of a text that was taken here."""


class ExpectedTexts:
    """Expected texts of one channel. A message that is delivered again is taken again, with the same effect."""

    def __init__(
        self,
        channel: Channel,
        store: HostStore,
        *,
        chat_state: ChatState,
        prompts: ApprovalPrompts,
        dialogues: EditDialogues,
        writer: OutboundWriter,
    ) -> None:
        self._channel, self._store, self._chat_state = channel, store, chat_state
        self._prompts, self._dialogues, self._writer = prompts, dialogues, writer

    async def take(self, messages: Sequence[InboundMessage]) -> list[InboundMessage]:
        """Take the expected texts among the messages; return the others. Costs one read if nothing is expected."""
        waiting = await self._find_waiting(messages)
        if not waiting:
            return list(messages)
        return [message for message in messages if not await self.take_one(message, waiting)]

    async def take_one(self, message: InboundMessage, waiting: frozenset[str] | None = None) -> bool:
        """Take a message if it is expected; return whether it was, and is processed."""
        if not may_be_expected(message):
            return False
        if waiting is None:
            waiting = await self._find_waiting([message])
        taken = dialogue_key(message.location, message.person) in waiting and await self._dialogues.take(message)
        if not taken and question_key(message.location.key) in waiting:
            taken = await self._take_answer(message)
        if taken:
            await self._chat_state.mark_taken(message.external_id)
        return taken

    async def _find_waiting(self, messages: Sequence[InboundMessage]) -> frozenset[str]:
        keys = {question_key(each.location.key) for each in messages}
        keys |= {dialogue_key(each.location, each.person) for each in messages}
        return await self._store.channel_state.find_keys(self._channel.name, self._channel.account, DIALOGUE_KIND, keys)

    async def _take_answer(self, message: InboundMessage) -> bool:
        """Answer a question with a text: the one that it replies to, in a direct chat the only one of the session."""
        key = (self._channel.name, self._channel.account, DIALOGUE_KIND, question_key(message.location.key))
        note = await self._store.channel_state.get(*key)
        if note is None:
            return False
        if note.value.get("last") == message.external_id:  # taken before, by a process that was killed then
            await self._decide(message, str(note.value["code"]))
            return True
        pending = await self._prompts.list_pending(message.location, message.person)
        questions = {code: record for code, record in pending if record.request.kind == "question"}
        if not questions:
            await self._store.channel_state.remove(*key)
            return False
        codes = await self._find_questions(message, questions)
        if len(codes) > 1:
            await self._reply(message, SEVERAL_QUESTIONS)
        if len(codes) != 1:
            return bool(codes)
        value = {"last": message.external_id, "code": codes[0]}
        await self._store.channel_state.put(ChannelStateEntry(*key, value))
        await self._decide(message, codes[0])
        return True

    async def _find_questions(self, message: InboundMessage, questions: Mapping[str, ApprovalRecord]) -> list[str]:
        """Return the codes of the questions that the message may answer."""
        if message.reply_to_message_id:
            by_id = {record.request.id: code for code, record in questions.items()}
            replied = await self._prompts.find_prompt_by_message(message.reply_to_message_id, by_id)
            return [by_id[replied]] if replied else []
        if message.location.kind != "direct" or message.is_late:
            return []
        session = await self._chat_state.find_session(message.location, message.person)
        return [
            code
            for code, record in questions.items()
            if record.request.session_id == session and message.sent_at >= record.asked_at - CLOCK_TOLERANCE
        ]

    async def _decide(self, message: InboundMessage, code: str) -> None:
        """Give the answer; one that does not count is reported, an answer that does is shown with the question."""
        decision = Decision.answer(message.text.strip())
        outcome = await self._prompts.decide(code, decision, message.person, message.location)
        if not outcome.startswith((*VERDICT_MARKS.values(), "already answered")):
            await self._reply(message, outcome)

    async def _reply(self, message: InboundMessage, text: str) -> None:
        name = f"answer:{self._channel.name}:{self._channel.account}:{message.external_id}"
        await self._writer.write_reply(message.location, message.person, name, text, message.message_id)


def may_be_expected(message: InboundMessage) -> bool:
    """Return whether a message is a text of its sender alone, addressed to the bot. Pure."""
    is_addressed = message.location.kind == "direct" or message.is_mention
    return (
        is_addressed
        and bool(message.text.strip())
        and not (message.attachments or message.shared or message.unreadable)
        and not (message.is_forwarded or message.media_group_id)
    )

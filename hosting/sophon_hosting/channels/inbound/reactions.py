"""Reactions: an emoji at an answer of the bot is feedback on it."""

import logging

from sophon.learning.feedback import value_of_emojis
from sophon_channels.contract import Channel, MessageReaction
from sophon_hosting.channels.chat_state import ChatState
from sophon_hosting.host import Host

log = logging.getLogger("sophon")


class ReactionHandler:
    """Records the reactions of people who may write in the chat as their feedback.

    A reaction to anything but an answer is ignored. One that says nothing, and none at all, take back what the person
    said before.
    """

    def __init__(self, host: Host, channel: Channel, chat_state: ChatState) -> None:
        self._host, self._channel, self._chat_state = host, channel, chat_state

    async def handle(self, reaction: MessageReaction) -> None:
        """Record a reaction; `reaction.person` is identified. Raises StoreError."""
        store = self._host.services.store
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

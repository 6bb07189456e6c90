"""Edits: the new text of a message replaces it while its turn has not begun, and is a new turn afterwards."""

import logging
from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta

from sophon._python.lazy_dataclass import dataclass
from sophon_channels.contract import Channel, InboundMessage, MessageEdited
from sophon_hosting.channels.chat_state import ChatState
from sophon_hosting.channels.inbound.message_acceptance import EDITED, MessageAcceptor
from sophon_hosting.channels.inbound.message_json import message_from_json
from sophon_hosting.channels.inbound.message_merging import MessageMerger, merge_pieces
from sophon_hosting.host import Host
from sophon_hosting.runs.own_text import PIECES, own_text_of_run
from sophon_hosting.store.contract import host_store
from sophon_hosting.store.runs.contract import InboundKey, Run

log = logging.getLogger("sophon")

MAX_AGE_OF_UNKNOWN = timedelta(minutes=10)
"""Age up to which an edited message that was not accepted before is a message: in a group, a mention was added."""


@dataclass(frozen=True, slots=True)
class _Accepted:
    """The run that has the text of a message, that text, and the pieces that the run's message was merged from."""

    run: Run
    text: str
    pieces: Sequence[InboundMessage] = ()


class EditHandler:
    """Handler of one channel's edits; the caller has checked that the sender may write.

    An edit that leaves the text as it is has no effect: platforms report invisible changes too. What a turn has read
    cannot be taken back, so a later edit is a turn of its own, which says so.
    """

    def __init__(
        self,
        host: Host,
        channel: Channel,
        chat_state: ChatState,
        groups: MessageMerger,
        acceptor: MessageAcceptor,
    ) -> None:
        self._host, self._channel, self._chat_state = host, channel, chat_state
        self._groups, self._acceptor = groups, acceptor

    async def handle(self, edit: MessageEdited) -> None:
        """Apply an edit; one that is delivered again has no effect. Raises StoreError."""
        message = edit.message
        if not message.text.strip() or await self._groups.replace_piece(message):
            return
        accepted = await self._find_accepted(message)
        if accepted is None:
            await self._accept_unknown(message)
        elif accepted.text != message.text.strip() and not await self._replace(accepted, message):
            await self._acceptor.accept([replace(message, external_id=edit.external_id, is_edited=True)])
            await self._chat_state.record_accepted_id(message.external_id, edit.external_id)

    async def _find_accepted(self, message: InboundMessage) -> _Accepted | None:
        accepted_id = await self._chat_state.find_accepted_id(message.external_id)
        key = InboundKey(self._channel.name, self._channel.account, accepted_id)
        run = await host_store(self._host.services).runs.find_by_key(key)
        if run is None or run.owner != self._chat_state.user_id(message.person):
            return None
        pieces = [message_from_json(piece) for piece in run.origin.get(PIECES, ())]
        for piece in pieces:
            if piece.external_id == message.external_id:
                return _Accepted(run, piece.text.strip(), pieces)
        return _Accepted(run, own_text_of_run(run).strip())

    async def _replace(self, accepted: _Accepted, message: InboundMessage) -> bool:
        """Replace the message of the run; return False if its turn has begun."""
        pieces = [
            replace(message, media_group_id=piece.media_group_id) if piece.external_id == message.external_id else piece
            for piece in accepted.pieces
        ]
        # The new version of a message that was read before is still one.
        is_edited = bool(accepted.run.origin.get(EDITED))
        whole = merge_pieces(pieces) if pieces else replace(message, is_edited=is_edited)
        return await self._acceptor.replace(accepted.run, whole, pieces)

    async def _accept_unknown(self, message: InboundMessage) -> None:
        """Accept a message that was ignored before its edit, if it is new: nobody waits for an answer to an old one."""
        if self._host.services.clock.now() - message.sent_at > MAX_AGE_OF_UNKNOWN:
            log.info("%s: ignored the edit of a message that is no task", self._channel.name)
            return
        await self._acceptor.accept([message])
        await self._chat_state.mark_processed(message.external_id)

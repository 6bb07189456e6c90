"""Previews that chats show: the message id of each is stored, so that the answer replaces it also after a kill."""

import logging
from collections import OrderedDict

from sophon.errors import StoreError
from sophon.stores.channel_state.contract import ChannelStateEntry
from sophon.stores.contract import Store
from sophon_channels.contract import Channel

log = logging.getLogger("sophon")

PREVIEW_KIND = "preview"
"""Kind of the note that stores the message id of a run's preview."""

MAX_REMEMBERED_PREVIEWS = 1000
"""Number of runs whose preview is remembered; those of others are read from the store."""


class ShownPreviews:
    """Previews of all channels by run. The id is written once, when the message is created."""

    def __init__(self, store: Store) -> None:
        self._notes = store.channel_state
        self._previews: OrderedDict[str, str] = OrderedDict()

    def find(self, run_id: str) -> str | None:
        """Return the message id of the run's preview as far as it is remembered; `load` reads it from the store."""
        return self._previews.get(run_id)

    async def load(self, channel: Channel, run_id: str) -> str | None:
        """Return the message id of the run's preview, also if an earlier process has shown it."""
        if run_id not in self._previews:
            note = await self._notes.get(channel.name, channel.account, PREVIEW_KIND, run_id)
            if note is not None:
                self._remember(run_id, str(note.value["message"]))
        return self._previews.get(run_id)

    async def record(self, channel: Channel, run_id: str, message_id: str) -> None:
        """Record the message of the preview; a new id is durable on return, unless the store fails."""
        known = self._previews.get(run_id)
        self._remember(run_id, message_id)
        if known != message_id:
            note = ChannelStateEntry(channel.name, channel.account, PREVIEW_KIND, run_id, {"message": message_id})
            try:
                await self._notes.put(note)
            except StoreError as error:  # only a kill before the answer would leave the preview
                log.warning("%s: the preview of run %s could not be stored: %s", channel.name, run_id, error)

    def _remember(self, run_id: str, message_id: str) -> None:
        self._previews[run_id] = message_id
        self._previews.move_to_end(run_id)
        while len(self._previews) > MAX_REMEMBERED_PREVIEWS:
            self._previews.popitem(last=False)

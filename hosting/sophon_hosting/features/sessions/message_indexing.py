"""Background work on the search index of messages: those that are not indexed are, deleted words are removed."""

import logging
from typing import Final

from sophon.clock import Clock
from sophon.errors import StoreError
from sophon_hosting.store.message_search.sql import MessageSearch

log = logging.getLogger("sophon")

PAUSE_SECONDS: Final = 0.05
"""Pause between two parts of the messages, so that turns can write in between."""

INTERVAL_SECONDS: Final = 600.0
"""Pause after the last part: a damaged index is filled again, and words of deleted messages are removed."""


class MessageIndexing:
    """Fills the index of a store in parts of 200 messages, and then keeps it clean."""

    def __init__(self, search: MessageSearch, clock: Clock) -> None:
        self._search, self._clock = search, clock

    async def run_forever(self) -> None:
        """Index and clean until cancelled; while the store is unavailable, try again later."""
        while True:
            try:
                count = await self._index_all()
                await self._search.purge()
            except StoreError as error:
                log.debug("the search index of the messages was not updated, trying again later: %s", error)
            else:
                if count:
                    log.info("%d messages are in the search index now", count)
            await self._clock.sleep(INTERVAL_SECONDS)

    async def _index_all(self) -> int:
        count = 0
        while part := await self._search.index_missing():
            count += part
            await self._clock.sleep(PAUSE_SECONDS)
        return count

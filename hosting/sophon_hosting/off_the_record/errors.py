"""Error of conversations off the record that have no room."""

from typing import Final

from sophon.errors import SophonError
from sophon_hosting.queue.errors import TryLater

SWEEP_INTERVAL_SECONDS: Final = 60
"""Interval at which idle conversations are ended."""


class OffTheRecordFull(TryLater):
    """Error: there are as many conversations off the record, or messages in one, as may be (code `otr_full`)."""

    code = "otr_full"

    def __init__(self, what: str, remedy: str) -> None:
        self.retry_after_seconds = SWEEP_INTERVAL_SECONDS
        SophonError.__init__(self, f"{what}; {remedy}")

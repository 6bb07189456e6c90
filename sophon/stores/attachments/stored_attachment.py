"""Stored attachments: the bytes of files, who owns them, and the sessions whose messages have them.

A file is stored in one transaction: it is there whole, or not at all. As long as no session uses it, it is unsent and
expires; afterwards it lives as long as one of its sessions.
"""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

from sophon._python.lazy_dataclass import dataclass
from sophon.attachments import Attachment
from sophon.errors import InputError, NotFound

KEEP_UNSENT = timedelta(days=1)
"""After that time a file that no message has is deleted: a draft is sent on the same day, or never."""


@dataclass(frozen=True, slots=True)
class StoredAttachment:
    """A stored file without its bytes. `sessions` are the ids of those that use it, oldest first."""

    attachment: Attachment
    owner: str
    created_at: datetime
    sessions: tuple[str, ...] = ()


class TooManyBytes(InputError):
    """Error: the files of a person would exceed their limit (code `attachments_full`). Sizes are in bytes."""

    code = "attachments_full"

    def __init__(self, stored: int, size: int, limit: int) -> None:
        self.stored, self.size, self.limit = stored, size, limit
        super().__init__(
            f"no room for a file of {size:,} bytes: your files have {stored:,} of {limit:,} bytes "
            "(Attachments.MaxTotalBytes); delete conversations with files that you no longer need"
        )


def ids_in_options(options: Mapping[str, Any]) -> list[str]:
    """Return the ids of the attachments that the options of a run name, each once."""
    return list(dict.fromkeys(str(each["id"]) for each in options.get("attachments") or ()))


def check_usable(wanted: Sequence[str], found: Iterable[tuple[str, str]], owner: str) -> None:
    """Raise NotFound unless each wanted id is among those found, (id, owner), with that owner."""
    own = {attachment_id for attachment_id, its_owner in found if its_owner == owner}
    for attachment_id in wanted:
        if attachment_id not in own:
            raise NotFound("attachment", attachment_id)

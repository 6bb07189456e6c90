"""Session ids of conversations off the record, which a host knows after a restart, too."""

from typing import Final

from sophon._python.lazy_pattern import lazy_pattern
from sophon.clock import Clock

_GENERATED_ID: Final = lazy_pattern(r"otr-[0-9a-f]{20}")


def new_off_the_record_id(clock: Clock) -> str:
    """Return the id of a new conversation off the record."""
    return f"otr-{clock.new_id()}"


def is_generated_id(session_id: str) -> bool:
    """Return whether a host made this id for a conversation off the record, in this process or an earlier one."""
    return _GENERATED_ID.fullmatch(session_id) is not None

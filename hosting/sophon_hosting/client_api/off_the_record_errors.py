"""Errors of conversations off the record: one of the other mode, and one that has ended."""

from sophon.errors import InputError, SophonError


class OtherMode(InputError):
    """Error: a session is on or off the record from its start, and the message, schedule or goal is of the other mode
    (code `other_mode`).
    """

    code = "other_mode"

    def __init__(self, session_id: str, *, is_off_the_record: bool, remedy: str = "") -> None:
        here, there = ("off", "otr") if is_off_the_record else ("on", "normal")
        remedy = remedy or f"send with mode {there!r}, or to a new session"
        super().__init__(f"session {session_id!r} is {here} the record from its start: {remedy}")


class OffTheRecordLost(SophonError):
    """Error: the conversation off the record has ended; nothing of it is left (code `otr_lost`)."""

    code = "otr_lost"

    def __init__(self, session_id: str) -> None:
        super().__init__(
            f"the conversation {session_id!r} was off the record and has ended (deleted, idle for an hour, or the host "
            "was restarted); nothing of it is left: begin a new one"
        )

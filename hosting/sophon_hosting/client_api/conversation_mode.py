"""Routing of sessions and tasks: to the host that stores, or to that of conversations off the record."""

from collections.abc import Awaitable, Callable, Coroutine
from functools import wraps
from typing import Any, Concatenate, ParamSpec, Protocol, TypeVar, cast

from sophon.errors import InputError, SophonError


class OffTheRecordLookup(Protocol):
    """What a user has off the record."""

    async def has_session(self, session_id: str) -> bool: ...


class Routed(Protocol):
    """The operations of a user on one host, and those on the host off the record, which are of the same type."""

    @property
    def operations_off_the_record(self) -> OffTheRecordLookup | None: ...


H = TypeVar("H", bound=Routed)
P = ParamSpec("P")
T = TypeVar("T")


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


def by_session(
    method: Callable[Concatenate[H, str, P], Awaitable[T]],
) -> Callable[Concatenate[H, str, P], Coroutine[Any, Any, T]]:
    """Call a method on the host that has the session, which the first argument names."""
    return _route(method, lambda off, session_id: off.has_session(session_id))


def _route(
    method: Callable[Concatenate[H, str, P], Awaitable[T]],
    has: Callable[[OffTheRecordLookup, str], Awaitable[bool]],
) -> Callable[Concatenate[H, str, P], Coroutine[Any, Any, T]]:
    """Call a method on the host off the record if it has what the first argument names, else on the other one."""

    @wraps(method)
    async def routed(authorized: H, subject_id: str, /, *arguments: P.args, **named: P.kwargs) -> T:
        off = authorized.operations_off_the_record
        chosen = cast(H, off) if off is not None and await has(off, subject_id) else authorized
        return await method(chosen, subject_id, *arguments, **named)

    return routed

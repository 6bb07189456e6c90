"""Explanation of a turn that ended without a response: which middleware is at fault. Nothing here runs before that."""

from collections.abc import Iterator, Sequence
from types import CodeType
from typing import TypeGuard

from sophon.chain.order_constraints import get_middleware_name
from sophon.chain.source_checks import get_code
from sophon.context import Context
from sophon.messages import Message


def explain_missing_response(ctx: Context, middlewares: Sequence[object]) -> str:
    """Return the sentence of the ChainError, with the names of those at fault.

    What `next` has raised is in `ctx.next_error`, whose traceback begins where it was caught.
    """
    last, error = ctx.current_middleware, ctx.next_error
    if ctx.unawaited_in:
        return (
            f"the turn ended with no response, because {last} never ended: {ctx.unawaited_in} called next(ctx) and did "
            f"not await it"
        )
    if any(ctx.open_in):
        culprit = next(filter(None, ctx.open_in))
        return (
            f"the turn ended with no response, because {culprit} left next(ctx) to a task, in which {last} still runs, "
            f"and did not wait for its end"
        )
    if error is None and ctx.answered_to:
        return f"the turn ended with no response: {ctx.answered_to} set ctx.response to None after next(ctx)"
    if error is None:
        return (
            f"the turn ended in {last} with no response: it returned without calling next(ctx) and without setting "
            f"ctx.response"
        )
    codes = [*_list_codes(error)]
    names = {code: get_middleware_name(each) for each in middlewares if (code := get_code(each)) is not None}
    catcher = names.get(codes[0], "") if codes else "a middleware"
    if not catcher:  # a function such as asyncio.wait_for, called by the middleware whose `next` has raised
        catcher = codes[0].co_qualname + (f" in {ctx.answered_to}" if ctx.answered_to else "")
    raiser = next((names[each] for each in reversed(codes[1:]) if each in names), last)
    return (
        f"the turn ended with no response: {catcher} caught {error!r:.200} of {raiser} and returned without raising it "
        f"and without setting ctx.response"
    )


def _list_codes(error: BaseException) -> Iterator[CodeType]:
    """Yield the code of each frame between where the exception was caught and where it was raised."""
    trace = error.__traceback__
    while trace is not None:
        yield trace.tb_frame.f_code
        trace = trace.tb_next


def note_foreign_messages(ctx: Context, error: Exception) -> None:
    """Add a note to an error that may come from something among the messages that is no Message."""
    messages: object = ctx.messages
    found = [messages]
    if _is_list(messages):
        found = [each for each in messages if not isinstance(each, Message)]
    if found:
        error.add_note(f"ctx.messages is or has {found[0]!r:.60}: a middleware puts Message(role, text) there")


def _is_list(value: object) -> TypeGuard[list[object]]:
    return isinstance(value, list)

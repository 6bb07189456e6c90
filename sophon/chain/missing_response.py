"""Explanation of a turn that ended without a response: which middleware is at fault. Nothing here runs before that."""

from collections.abc import Sequence

from sophon.chain.next_calls import get_code, swallows_exceptions
from sophon.chain.order_constraints import get_middleware_name, read_order_constraints
from sophon.context import Context


def explain_missing_response(ctx: Context, middlewares: Sequence[object]) -> str:
    """Return the sentence of the ChainError, with the names of those at fault.

    A failed model call leaves its exception in `ctx.failed_call`, whose traceback begins where it was caught.
    """
    last, error = ctx.current_middleware, ctx.failed_call
    if error is not None:
        return (
            f"the turn ended with no response: {_find_catcher(middlewares, error)} caught {error!r:.200} of {last} and "
            f"returned without raising it and without setting ctx.response"
        )
    index = next((i for i, each in enumerate(middlewares) if get_middleware_name(each) == last), None)
    swallowing = [get_middleware_name(each) for each in middlewares[:index] if swallows_exceptions(each)]
    if index and read_order_constraints(middlewares[index]).terminal:
        # A terminal that runs sets a response or raises.
        before = next(each for each in reversed(middlewares[:index]) if not _is_passed_by(each, ctx))
        reason = f"{get_middleware_name(before)} called next(ctx) and did not await it"
        if swallowing:
            reason = f"{' or '.join(swallowing)} swallowed an exception of {last}, or {reason}"
        return f"the turn ended with no response, because {last} never ended: {reason}"
    more = f", or it raised and {' or '.join(swallowing)} swallowed the exception" if swallowing else ""
    return (
        f"the turn ended in {last} with no response: it returned without calling next and without setting "
        f"ctx.response{more}"
    )


def _find_catcher(middlewares: Sequence[object], error: BaseException) -> str:
    caught_in = None if error.__traceback__ is None else error.__traceback__.tb_frame.f_code
    for each in middlewares:
        if caught_in is not None and get_code(each) is caught_in:
            return get_middleware_name(each)
    return "a middleware" if caught_in is None else f"{caught_in.co_qualname}"


def _is_passed_by(middleware: object, ctx: Context) -> bool:
    return read_order_constraints(middleware).settling_only and not ctx.settling

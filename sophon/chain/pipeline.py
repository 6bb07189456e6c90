"""Pipeline: middlewares composed once into one callable, which is itself a middleware."""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Protocol, TypeAlias, overload

from sophon.chain.explanation import explain_chain
from sophon.chain.order_constraints import (
    acts_in_settling_only,
    check_chain_order,
    check_middleware,
    get_middleware_name,
    is_shipped,
)
from sophon.context import Context
from sophon.context.reply_stream import complete_stream
from sophon.errors import ChainError, CompositionError, TurnAlreadyRun
from sophon.messages import Response, collect_earlier_texts
from sophon.models.model import CURRENT_METER

if TYPE_CHECKING:
    from sophon.traces.recorder import TraceRecorder

Next: TypeAlias = Callable[[Context], Awaitable[None]]
"""The rest of the chain. A middleware may call it never (and set `ctx.response`), once, or several times, one
call after the other."""

CONCURRENT_NEXT = (
    "the same turn runs twice at the same time: a middleware called next(ctx) again before an earlier call of it had "
    "returned; await one call after the other"
)
"""Text of the ChainError of what cannot run twice at the same time in one turn: a model pass, and a tool call."""


class Middleware(Protocol):
    """Protocol of a middleware; a plain async function with the same two parameters satisfies it.

    One instance serves all turns concurrently, so it must not keep per-turn state on `self`. A class may declare order
    constraints as class attributes; see `sophon.chain.order_constraints.OrderConstraints`.
    """

    async def __call__(self, ctx: Context, next: Next, /) -> None:
        """Run code before and after `await next(ctx)`; the results of the turn are stored on `ctx`."""
        ...


class Pipeline(Sequence[Middleware]):
    """Sequence of middlewares, checked and composed at construction; see `compose`.

    A pipeline is itself a middleware: `compose` flattens it, and `await inner(ctx, next)` continues with `next` after
    its last middleware.
    """

    __slots__ = ("_call", "_callers", "_middlewares")

    def __init__(self, middlewares: Iterable[Middleware], *others: Middleware) -> None:
        if others:
            raise CompositionError("Pipeline takes one list and checks nothing: write Pipeline.compose(...)")
        self._middlewares: tuple[Middleware, ...] = tuple(middlewares)
        self._callers = _find_own_callers(self._middlewares)
        self._call = self._fold(_raise_end_of_chain)

    @classmethod
    def compose(cls, *middlewares: Middleware) -> "Pipeline":
        """Compose a chain; the first middleware is the outermost.

        Raises CompositionError that names the offending middleware: not callable with (ctx, next), not async, a missing
        requirement, a wrong order, a middleware in front of one that must be first or after a terminal one, a duplicate
        of a unique one, a last middleware that is known to call next.
        """
        flat = _flatten(middlewares)
        check_chain_order(flat)
        return cls(flat)

    @classmethod
    def fragment(cls, *middlewares: Middleware) -> "Pipeline":
        """Compose a part of a chain, as an argument of `compose` or to be called as `await fragment(ctx, next)`.

        Raises CompositionError as `compose` does, but not for what the rest of the chain may provide: a requirement and
        the terminal.
        """
        flat = _flatten(middlewares)
        check_chain_order(flat, is_fragment=True)
        return cls(flat)

    async def run(self, ctx: Context) -> Response:
        """Run one turn through the chain and return its response.

        Raises what a middleware raises, CompositionError if the settings limit what a turn spends and the chain has no
        Budget, TurnAlreadyRun for a turn that runs in another task and for a restored one that
        has ended, is running or was suspended anew, and ChainError if the turn ended without a response or was
        cancelled before. Cancelling the surrounding scope cancels the turn, also if a middleware swallows the
        cancellation; a CancelledError that a middleware raises although nobody cancelled becomes a ChainError.
        """
        if not isinstance(ctx, Context):  # pyright: ignore[reportUnnecessaryIsInstance] - of callers without types
            raise ChainError(f"{ctx!r:.60} is not a turn: write pipeline.run(services.turn({_to_argument(ctx)}))")
        try:
            task, outer = asyncio.current_task(), ctx.running_task
        except RuntimeError:  # of trio
            raise ChainError("a turn runs on asyncio, and no asyncio loop runs here: trio is not supported") from None
        if outer is not None and outer is not task:
            raise TurnAlreadyRun(ctx.run_id, "running")
        if ctx.services.expected_stages and not ctx.depth:
            from sophon.chain.missing_stages import check_expected_stages  # lazy: programs with such settings are few

            is_within_turn = ctx.meter is not None or CURRENT_METER.get() is not None
            check_expected_stages(self._middlewares, ctx.services.expected_stages, is_within_turn=is_within_turn)
        ctx.running_task, ctx.pipeline = task, self
        try:
            is_continued = ctx.resumed or (ctx.response is not None and ctx.response.finish_reason == "suspended")
            if is_continued and not ctx.depth:
                async with ctx.services.turn_log.claim(ctx):
                    return await self._run(ctx)
            return await self._run(ctx)
        finally:
            ctx.running_task = outer

    async def _run(self, ctx: Context) -> Response:
        if not ctx.depth:
            if ctx.meter is None:  # of the turn that has started this one, whichever services it uses
                ctx.meter = CURRENT_METER.get()
            await ctx.cancellation.begin()
        try:  # `cancellation.enforce` without a context manager, which costs more than a middleware
            await self._call(ctx)
        except (Exception, asyncio.CancelledError) as error:
            ctx.next_error = None  # its traceback holds the turn
            if isinstance(error, AttributeError | TypeError):
                from sophon.chain.missing_response import note_foreign_messages  # lazy, as below

                note_foreign_messages(ctx, error)
            await ctx.cancellation.enforce_after(error, whole_turn=not ctx.depth)
            raise
        if not ctx.cancellation.is_end_recorded:
            await ctx.cancellation.enforce_after(None, whole_turn=not ctx.depth)
        return complete_response(ctx)

    async def __call__(self, ctx: Context, next: Next, /) -> None:
        await _watch(ctx, self._fold(next))

    def explain(self) -> str:
        """Return the chain as a text table: order, name, zone and actions of each middleware."""
        return explain_chain(self._middlewares)

    def explain_missing_response(self, ctx: Context) -> str:
        """Return which middleware is at fault that a turn of this chain has ended without a response."""
        from sophon.chain.missing_response import explain_missing_response  # lazy: chains that work never need it

        return explain_missing_response(ctx, self._middlewares)

    def _fold(self, last: Next) -> Next:
        call = last
        is_timed = any(getattr(each, "times_stages", False) for each in self._middlewares)
        settled_by: Next | None = None  # entry of a run of middlewares that act in settling passes only
        for middleware, caller in zip(reversed(self._middlewares), reversed(self._callers), strict=True):
            is_passed_by = acts_in_settling_only(middleware)
            if settled_by is not None and not is_passed_by:
                call, settled_by = _choose_by_pass(settled_by, call), None
            bind = _bind_timed if is_timed and getattr(middleware, "is_timed", True) else _bind
            bound = bind(middleware, call if settled_by is None else settled_by)
            if caller:
                bound = _bind_watched(get_middleware_name(middleware), bound, caller)
            if is_passed_by:
                settled_by = bound
            else:
                call = bound
        return call if settled_by is None else _choose_by_pass(settled_by, call)

    def __len__(self) -> int:
        return len(self._middlewares)

    def __iter__(self) -> Iterator[Middleware]:
        return iter(self._middlewares)

    @overload
    def __getitem__(self, index: int) -> Middleware: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Middleware]: ...
    def __getitem__(self, index: int | slice) -> Middleware | Sequence[Middleware]:
        return self._middlewares[index]

    def __repr__(self) -> str:
        return f"Pipeline({', '.join(get_middleware_name(m) for m in self._middlewares)})"


def _flatten(middlewares: Sequence[Middleware]) -> list[Middleware]:
    flat: list[Middleware] = []
    for position, middleware in enumerate(middlewares, start=1):
        if isinstance(middleware, Pipeline):
            flat.extend(middleware)
        else:
            check_middleware(middleware, position)
            _check_source(middleware, position)
            flat.append(middleware)
    return flat


def _find_own_callers(middlewares: Sequence[Middleware]) -> list[str]:
    """Return for each middleware the name of one of the program's own whose `next` may enter it; "" without one."""
    callers: list[str] = []
    before = ""
    for middleware in middlewares:
        callers.append(before)
        if not is_shipped(middleware):
            before = get_middleware_name(middleware)
        elif not acts_in_settling_only(middleware):
            before = ""
    return callers


def _check_source(middleware: Middleware, position: int) -> None:
    if is_shipped(middleware):
        return
    from sophon.chain.source_checks import discards_next, find_unused_block  # lazy: what ships has nothing to check

    what = f"argument {position} of compose, {get_middleware_name(middleware)},"
    if discards_next(middleware):
        raise CompositionError(f"{what} calls next(ctx) and does not await it: write `await next(ctx)`")
    if block := find_unused_block(middleware):
        raise CompositionError(
            f"{what} calls ctx.{block}(...) alone, which does nothing: write `with ctx.{block}(...): await next(ctx)`"
        )


def _bind(middleware: Middleware, next: Next) -> Next:
    name = get_middleware_name(middleware)
    # Bound once and without a wrapping coroutine: a middleware costs one call and one await.
    enter = middleware.__call__ if not hasattr(middleware, "__code__") else middleware

    def call(ctx: Context) -> Awaitable[None]:
        ctx.current_middleware = name
        return enter(ctx, next)

    call.__qualname__ = "next"  # for the TypeError of a middleware that calls `next()`
    return call


def _bind_watched(name: str, enter: Next, caller: str) -> Next:
    """Bind what a middleware of the program's own calls as its `next`: what it raises there, that it is not awaited,
    and whether it brought a response, is kept, because without one nothing else tells who is at fault.
    """

    def call(ctx: Context) -> Awaitable[None]:
        if not isinstance(ctx, Context):  # pyright: ignore[reportUnnecessaryIsInstance] - of callers without types
            raise ChainError(f"{caller} called next({ctx!r:.60}): write `await next(ctx)`")
        ctx.current_middleware, ctx.unawaited_in = name, caller
        return _watch(ctx, enter, caller)

    call.__qualname__ = "next"
    return call


async def _watch(ctx: Context, enter: Next, caller: str = "") -> None:
    ctx.unawaited_in, ctx.next_error, ctx.answered_to = "", None, ""
    ctx.open_in.append(caller)
    try:
        await enter(ctx)
    except BaseException as error:
        ctx.next_error, ctx.answered_to = error, caller
        raise
    finally:
        ctx.open_in.remove(caller)
    if ctx.response is not None:
        ctx.answered_to = caller


def _bind_timed(middleware: Middleware, next: Next) -> Next:
    """Bind as `_bind` does; a turn with a recorder is timed in each stage."""
    name, zone = get_middleware_name(middleware), getattr(middleware, "zone", None) or ""
    enter = middleware.__call__ if not hasattr(middleware, "__code__") else middleware

    def call(ctx: Context) -> Awaitable[None]:
        ctx.current_middleware = name
        recorder = ctx.recorder
        if recorder is None:
            return enter(ctx, next)
        return _time_stage(ctx, recorder, name, zone, enter, next)

    call.__qualname__ = "next"
    return call


async def _time_stage(
    ctx: Context,
    recorder: "TraceRecorder",
    name: str,
    zone: str,
    enter: Callable[[Context, Next], Awaitable[None]],
    next: Next,
) -> None:
    outer = ctx.stage_frame
    ctx.stage_frame = frame = recorder.stages.enter()
    try:
        await enter(ctx, next)
    except BaseException as error:
        ctx.stage_frame = outer
        recorder.stages.leave(name, zone, ctx.depth, frame, outer, error)
        raise
    ctx.stage_frame = outer
    recorder.stages.leave(name, zone, ctx.depth, frame, outer)


def _choose_by_pass(settle: Next, ask: Next) -> Next:
    """Return a `next` that leads to `settle` in a settling pass, and past those middlewares to `ask` in any other."""

    def call(ctx: Context) -> Awaitable[None]:
        return settle(ctx) if ctx.settling else ask(ctx)

    call.__qualname__ = "next"
    return call


async def _raise_end_of_chain(ctx: Context) -> None:
    raise ChainError(
        f"the turn ran off the end of the chain after {ctx.current_middleware}: the last middleware must not call "
        f"next, or a terminal such as LlmInvoker() must follow it"
    )


def _to_argument(value: object) -> str:
    return repr(value)[:60] if isinstance(value, str) else "..."


def complete_response(ctx: Context) -> Response:
    """Return the turn's response, completed with usage and, in a streaming turn, streamed; idempotent.

    Raises ChainError if no middleware has set a response.
    """
    if ctx.response is None:
        if ctx.pipeline is None:
            raise ChainError(f"the turn ended in {ctx.current_middleware} with no response")
        raise ChainError(ctx.pipeline.explain_missing_response(ctx))
    ctx.next_error = None
    response, usage = ctx.response, ctx.tally.usage
    if not isinstance(response, Response) or not isinstance(response.text, str):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise ChainError(f"ctx.response is {response!r:.60}: a middleware sets ctx.response = Response(text)")
    if ctx.cancellation.is_end_recorded and response.usage is usage:
        return response  # concluded before its end was recorded
    earlier = [] if response.finish_reason == "suspended" else collect_earlier_texts(ctx.messages)
    rounds, attempts, model = ctx.tally.tool_rounds, ctx.tally.fallback_attempts, ctx.tally.model
    if (
        response.usage is not usage
        or response.earlier_texts != earlier
        or response.tool_rounds != rounds
        or response.fallback_attempts != attempts
        or response.model != model
    ):
        response = ctx.response = response.copy_with(
            usage=usage, earlier_texts=earlier, tool_rounds=rounds, fallback_attempts=attempts, model=model
        )
    if ctx.stream and not ctx.depth and response.finish_reason != "suspended":
        complete_stream(ctx, response.text)
    return response

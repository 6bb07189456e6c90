"""The chain: middlewares folded once into one callable, which is itself a middleware."""

from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence
from typing import Protocol, TypeAlias, overload

from sophon.context import Context
from sophon.errors import ChainError
from sophon.explanation import explain
from sophon.messages import Response
from sophon.placement import check_chain, check_middleware, name_of

Next: TypeAlias = Callable[[Context], Awaitable[None]]
"""The rest of the chain. Call it never (and set `ctx.response`), once, or many times."""


class Middleware(Protocol):
    """One layer of the onion; a plain async function with the same two parameters is one too.

    One instance serves all turns at once, so nothing of a turn is kept on `self`. A class may declare its place as
    data, by name; see `sophon.placement.Place`.
    """

    async def __call__(self, ctx: Context, next: Next, /) -> None:
        """Do what comes before, `await next(ctx)`, do what comes after. What the turn produces lives on `ctx`."""
        ...


class Pipeline(Sequence[Middleware]):
    """A chain of middlewares, checked and folded when it is made; see `compose`.

    It is a sequence of its middlewares, and a middleware: among the arguments of `compose` it is flattened, called as
    `await inner(ctx, next)` it goes on to `next` behind its last one.
    """

    __slots__ = ("_call", "_middlewares")

    def __init__(self, middlewares: Iterable[Middleware]) -> None:
        self._middlewares: tuple[Middleware, ...] = tuple(middlewares)
        self._call = self._fold(_fell_off_the_end)

    @classmethod
    def compose(cls, *middlewares: Middleware) -> "Pipeline":
        """Make a chain; the first is the outermost.

        Raises CompositionError, naming the culprit: something that cannot be called with (ctx, next) or is not async,
        a missing requirement, a wrong order, something behind a terminal, a duplicate that must be unique.
        """
        flat: list[Middleware] = []
        for position, middleware in enumerate(middlewares, start=1):
            if isinstance(middleware, Pipeline):
                flat.extend(middleware)
            else:
                check_middleware(middleware, position)
                flat.append(middleware)
        check_chain(flat)
        return cls(flat)

    async def run(self, ctx: Context) -> Response:
        """Send one turn through the chain and give its response.

        Raises what a middleware raises, and ChainError when the turn ended with no response. Cancelling the
        surrounding scope cancels the turn.
        """
        ctx.pipeline = self
        await self._call(ctx)
        return ctx.conclude()

    async def __call__(self, ctx: Context, next: Next, /) -> None:
        await self._fold(next)(ctx)

    def explain(self) -> str:
        """The chain as a table: order, name, zone, and what each layer does on which call."""
        return explain(self._middlewares)

    def _fold(self, last: Next) -> Next:
        call = last
        for middleware in reversed(self._middlewares):
            call = _bind(middleware, call)
        return call

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
        return f"Pipeline({', '.join(name_of(m) for m in self._middlewares)})"


def _bind(middleware: Middleware, next: Next) -> Next:
    name = name_of(middleware)
    # Bound once, and no coroutine of our own in between: a layer costs one call and one await.
    enter = middleware.__call__ if not hasattr(middleware, "__code__") else middleware

    def call(ctx: Context) -> Awaitable[None]:
        ctx.place = name
        return enter(ctx, next)

    return call


async def _fell_off_the_end(ctx: Context) -> None:
    raise ChainError(
        f"the turn ran off the end of the chain behind {ctx.place}: the last middleware must not call next, or a "
        f"terminal such as LlmInvoker() must stand behind it"
    )

"""Middlewares that act in settling passes only: a model pass goes past them, a settling pass through all in order."""

from sophon import Context, Next, Pipeline, Response, Services
from tests.tables import table


class Noted:
    """Notes that it was entered."""

    def __init__(self, name: str, entered: list[str]) -> None:
        self._name, self._entered = name, entered

    async def __call__(self, ctx: Context, next: Next, /) -> None:
        self._entered.append(self._name)
        await next(ctx)


class Settling(Noted):
    """Declares with its own `__call__` that it acts in settling passes only."""

    settling_only = True

    async def __call__(self, ctx: Context, next: Next, /) -> None:
        await super().__call__(ctx, next)


class Watching(Settling):
    """Acts in every pass: its `__call__` is not the one of which its base class says that it settles only."""

    async def __call__(self, ctx: Context, next: Next, /) -> None:
        await super().__call__(ctx, next)


async def answer(ctx: Context, next: Next) -> None:
    ctx.response = Response("done")


@table(("settling", "expected"), [(True, "abcde"), (False, "be")])
async def test_only_a_settling_pass_enters_them(settling: bool, expected: str) -> None:
    entered = list[str]()
    chain = Pipeline.compose(
        Settling("a", entered),
        Noted("b", entered),
        Settling("c", entered),
        Settling("d", entered),
        Watching("e", entered),
        answer,
    )
    ctx = Services().turn("go")
    ctx.settling = settling
    assert (await chain.run(ctx)).text == "done"
    assert "".join(entered) == expected


async def test_one_that_ends_a_fragment_stays_in_the_table() -> None:
    entered = list[str]()
    chain = Pipeline.compose(Pipeline.fragment(Noted("a", entered), Settling("b", entered)), answer)
    assert "Settling" in chain.explain()
    await chain.run(Services().turn("go"))
    assert entered == ["a"]

"""Cancelling the scope around a turn cancels the turn; nothing swallows it, and what must happen still happens."""

import anyio

from sophon import Context, Next, Pipeline, Response, Services


async def hang(ctx: Context, next: Next) -> None:
    await anyio.sleep_forever()


async def test_an_await_in_a_shielded_finally_completes() -> None:
    log: list[str] = []

    async def recording(ctx: Context, next: Next) -> None:
        try:
            await next(ctx)
        finally:
            with anyio.CancelScope(shield=True):
                await anyio.lowlevel.checkpoint()
                log.append("recorded")

    with anyio.CancelScope() as scope:
        scope.cancel()
        await Pipeline.compose(recording, hang).run(Services().turn("x"))

    assert log == ["recorded"]


async def test_a_turn_that_ends_before_the_cancellation_is_an_ordinary_one() -> None:
    async def answer(ctx: Context, next: Next) -> None:
        ctx.response = Response("done")

    with anyio.CancelScope() as scope:
        response = await Pipeline.compose(answer).run(Services().turn("x"))
        scope.cancel()

    assert response.text == "done"

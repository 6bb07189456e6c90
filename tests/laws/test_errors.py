"""Errors leave a chain as themselves, through every layer, innermost first."""

import pytest

from sophon import Context, Next, Pipeline, Response, Services
from sophon.errors import SophonError


def guarded(name: str, log: list[str]):
    async def middleware(ctx: Context, next: Next) -> None:
        try:
            await next(ctx)
        except SophonError:
            log.append(f"{name} saw it")
            raise
        finally:
            log.append(f"{name} cleaned up")

    middleware.__name__ = name
    return middleware


async def fail(ctx: Context, next: Next) -> None:
    raise SophonError("boom")


async def test_an_error_passes_every_layer_innermost_first() -> None:
    log: list[str] = []

    with pytest.raises(SophonError, match="boom"):
        await Pipeline.compose(guarded("a", log), guarded("b", log), fail).run(Services().turn("x"))

    assert log == ["b saw it", "b cleaned up", "a saw it", "a cleaned up"]


async def test_a_layer_may_turn_an_error_into_a_response() -> None:
    async def rescue(ctx: Context, next: Next) -> None:
        try:
            await next(ctx)
        except SophonError as error:
            ctx.response = Response(f"sorry: {error}", "error")

    response = await Pipeline.compose(rescue, fail).run(Services().turn("x"))

    assert response.text == "sorry: boom"


async def test_a_layer_may_try_again() -> None:
    tries: list[int] = []

    async def retry(ctx: Context, next: Next) -> None:
        for _ in range(3):
            try:
                await next(ctx)
            except SophonError:
                continue
            return

    async def flaky(ctx: Context, next: Next) -> None:
        tries.append(1)
        if len(tries) < 3:
            raise SophonError("not yet")
        ctx.response = Response("at last")

    assert (await Pipeline.compose(retry, flaky).run(Services().turn("x"))).text == "at last"


async def test_an_error_after_next_replaces_no_earlier_one() -> None:
    async def careless(ctx: Context, next: Next) -> None:
        try:
            await next(ctx)
        finally:
            ctx.text = "touched"

    ctx = Services().turn("x")

    with pytest.raises(SophonError, match="boom"):
        await Pipeline.compose(careless, fail).run(ctx)

    assert ctx.text == "touched"

"""A pipeline is a middleware, and a nested chain obeys the laws of a flat one."""

from sophon import Context, Next, Pipeline, Response, Services


def mark(name: str, log: list[str]):
    async def middleware(ctx: Context, next: Next) -> None:
        log.append(name)
        await next(ctx)

    middleware.__name__ = name
    return middleware


async def answer(ctx: Context, next: Next) -> None:
    ctx.response = Response("done")


async def stop(ctx: Context, next: Next) -> None:
    ctx.response = Response("stopped", "rejected")


async def test_a_pipeline_among_the_arguments_is_flattened() -> None:
    inner = Pipeline.compose(mark("b", []), mark("c", []))

    outer = Pipeline.compose(mark("a", []), inner, answer)

    assert [m.__name__ for m in outer] == ["a", "b", "c", "answer"]


async def test_a_nested_chain_goes_on_to_what_stands_behind_it() -> None:
    log: list[str] = []
    inner = Pipeline.compose(mark("b", log), mark("c", log))

    await Pipeline.compose(mark("a", log), inner, mark("d", log), answer).run(Services().turn("x"))

    assert log == ["a", "b", "c", "d"]


async def test_a_nested_gate_that_stops_does_stop() -> None:
    log: list[str] = []
    inner = Pipeline.compose(mark("b", log), stop)

    response = await Pipeline.compose(inner, mark("never", log), answer).run(Services().turn("x"))

    assert (response.text, log) == ("stopped", ["b"])


async def test_a_pipeline_called_by_a_middleware_binds_next_for_that_call() -> None:
    log: list[str] = []
    inner = Pipeline.compose(mark("b", log), mark("c", log))

    async def wrapper(ctx: Context, next: Next) -> None:
        await inner(ctx, next)
        log.append("back")

    await Pipeline.compose(wrapper, mark("d", log), answer).run(Services().turn("x"))

    assert log == ["b", "c", "d", "back"]


async def test_a_gate_in_a_pipeline_called_by_a_middleware_stops_the_turn() -> None:
    log: list[str] = []
    inner = Pipeline.compose(stop)

    async def wrapper(ctx: Context, next: Next) -> None:
        await inner(ctx, next)

    response = await Pipeline.compose(wrapper, mark("never", log), answer).run(Services().turn("x"))

    assert (response.text, log) == ("stopped", [])


async def test_nesting_any_depth_changes_nothing() -> None:
    log: list[str] = []
    chain = Pipeline.compose(mark("0", log))
    for depth in range(1, 6):
        chain = Pipeline.compose(chain, mark(str(depth), log))

    await Pipeline.compose(chain, answer).run(Services().turn("x"))

    assert log == ["0", "1", "2", "3", "4", "5"]

"""Cost of the five chains: CPU time per turn, and the time of each stage itself: `python -m tests.bench.chains [NAME]`.

A plain turn is one reply, the other has one round of one call of a tool that does nothing, and in openparallax before
it one that loads the tool; model and store are in memory. Repetitions of the chains alternate, and the fastest
counts: what else runs on the machine only adds to a time. Call layers (the window, the bridge, the budget of
requests) work within the invoker and count there. With a name, the stages of that chain only.
"""

import asyncio
import sys
import time
from collections.abc import Callable, Sequence

from sophon import Context, ModelRequest, ModelResponse, Next, Pipeline, Risk, Services, ToolCall, tool
from sophon.chain.order_constraints import acts_in_settling_only, get_middleware_name
from sophon.chain.pipeline import Middleware
from sophon.testing import FunctionModel
from sophon_middlewares.chains import CHAINS

TURNS, REPETITIONS = 60, 15
TEXT = "hello there my friend"
UNLIMITED = {"Guards": {"RateLimit": {"CallsPerMinute": 1_000_000}}}
"""A call beyond the limit would be blocked, and cost less."""


@tool(name="lookup", group="demo", risk=Risk.NONE)
async def lookup(question: str) -> str:
    """Look something up."""
    return "found"


async def answer(request: ModelRequest) -> ModelResponse:
    """Call the tool once if the message asks for it, then answer."""
    last, offered = request.messages[-1], {each.name for each in request.tools}
    if (last.role == "user" and "look" in last.content) or "Available now" in last.content:
        if "lookup" not in offered:
            return ModelResponse("", [ToolCall("l", "load_tools", {"groups": ["demo"]})])
        return ModelResponse("", [ToolCall("c", "lookup", {"question": "x"})])
    return ModelResponse("I found what you wanted to know about it.")


class Timed:
    """Middleware that adds up the time of another one without what follows it."""

    def __init__(self, inner: Middleware) -> None:
        self.inner, self.seconds = inner, 0.0

    async def __call__(self, ctx: Context, next: Next, /) -> None:
        within = 0.0

        async def timed_next(ctx: Context) -> None:
            nonlocal within
            began = time.thread_time()
            try:
                await next(ctx)
            finally:
                within += time.thread_time() - began

        began = time.thread_time()
        try:
            await self.inner(ctx, timed_next)
        finally:
            self.seconds += time.thread_time() - began - within


class TimedSettling(Timed):
    """The same for a middleware that acts in settling passes only."""

    settling_only = True

    async def __call__(self, ctx: Context, next: Next, /) -> None:
        await super().__call__(ctx, next)


def build_services() -> Services:
    """Return services in memory, without listeners."""
    return Services(models=FunctionModel(answer), tools=[lookup], settings={"Planning": {"Mode": "Never"}, **UNLIMITED})


async def seconds_per_turn(compose: Callable[[Services], Pipeline], text: str) -> float:
    """Return the CPU seconds of a turn in a session of its own."""
    services = build_services()
    chain = compose(services)
    await chain.run(services.turn(text))
    began = time.process_time()
    for _ in range(TURNS):
        await chain.run(services.turn(text))
    return (time.process_time() - began) / TURNS


async def stage_seconds(compose: Callable[[Services], Pipeline], text: str) -> list[tuple[str, float]]:
    """Return the seconds per turn of each middleware itself, outermost first."""
    services = build_services()
    parts = [(TimedSettling if acts_in_settling_only(each) else Timed)(each) for each in compose(services)]
    chain = Pipeline(parts)
    await chain.run(services.turn(text))
    for part in parts:
        part.seconds = 0.0
    for _ in range(TURNS):
        await chain.run(services.turn(text))
    return [(get_middleware_name(part.inner), part.seconds / TURNS) for part in parts]


async def measure(names: Sequence[str] = ()) -> None:
    """Print both tables."""
    texts = {"plain": TEXT, "one call": "look it up for me"}
    if not names:
        found: dict[tuple[str, str], list[float]] = {}
        for _ in range(REPETITIONS):
            for name, compose in CHAINS.items():
                for what, text in texts.items():
                    found.setdefault((name, what), []).append(await seconds_per_turn(compose, text))
        base = {what: min(found["twelve", what]) for what in texts}
        for name in CHAINS:
            costs = [(what, min(found[name, what])) for what in texts]
            line = "".join(f"{what:>10}{cost * 1e6:>9,.0f} us{cost / base[what]:>7.2f}x" for what, cost in costs)
            print(f"{f'a turn of {name}':<28}{line}  of twelve")
    for name in names or CHAINS:
        best: dict[int, tuple[str, float]] = {}
        for _ in range(REPETITIONS):
            for number, (part, cost) in enumerate(await stage_seconds(CHAINS[name], texts["one call"])):
                best[number] = (part, min(cost, best.get(number, (part, cost))[1]))
        stages = ", ".join(f"{part} {cost * 1e6:.1f}" for part, cost in best.values())
        print(f"{name}, us of each in a turn with one call: {stages}")


if __name__ == "__main__":
    asyncio.run(measure(sys.argv[1:]))

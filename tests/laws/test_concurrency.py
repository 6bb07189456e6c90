"""A thousand turns through one pipeline share nothing."""

import asyncio

from sophon import Context, Message, ModelRequest, ModelResponse, Next, Pipeline, Response, Services, ToolCall, tool
from sophon.testing import FunctionModel
from sophon_middlewares.chains import twelve


async def test_a_thousand_turns_through_one_chain_keep_to_themselves() -> None:
    async def enter(ctx: Context, next: Next) -> None:
        ctx.messages.append(Message("user", ctx.text))
        await asyncio.sleep(0)
        await next(ctx)

    async def echo(ctx: Context, next: Next) -> None:
        await asyncio.sleep(0)
        ctx.response = Response(ctx.messages[-1].content)

    services = Services()
    pipeline = Pipeline.compose(enter, echo)

    responses = await asyncio.gather(*(pipeline.run(services.turn(f"turn {n}")) for n in range(1000)))

    assert [response.text for response in responses] == [f"turn {n}" for n in range(1000)]


async def test_a_thousand_turns_through_the_twelve_see_only_their_own_words() -> None:
    @tool
    async def shout(text: str) -> str:
        """Say it louder."""
        await asyncio.sleep(0)
        return text.upper()

    async def answer(request: ModelRequest) -> str | ModelResponse:
        own = [m.content for m in request.messages if m.role == "user"]
        assert len(own) == 1, own
        if request.messages[-1].role == "tool":
            return request.messages[-1].content
        return ModelResponse(tool_calls=[ToolCall("c", "shout", {"text": own[0]})])

    services = Services(models=FunctionModel(answer), tools=[shout])
    pipeline = twelve(services)
    turns = [services.turn(f"word{n}") for n in range(1000)]

    responses = await asyncio.gather(*(pipeline.run(ctx) for ctx in turns))

    assert [response.text for response in responses] == [f"WORD{n}" for n in range(1000)]
    assert len({ctx.run_id for ctx in turns}) == 1000

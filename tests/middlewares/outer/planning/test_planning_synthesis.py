"""The final call of a plan."""

from sophon import Message
from sophon.errors import BadRequest
from sophon.events import StreamChunk
from sophon.models.model import ModelResponse


async def test_one_final_call_answers_from_what_the_steps_came_to(stage, plan):
    s = stage(plans=[plan(a="", b="a")])
    ctx = s.turn()
    response = await s.go(ctx)
    (final,) = s.asked("reply")
    assert (final.tools, final.tool_choice) == ((), "none")
    assert ctx.text in [message.content for message in final.messages]
    assert "do a done" in final.messages[-1].content
    assert "do b done" in final.messages[-1].content
    assert (response.text, response.finish_reason) == ("the answer", "stop")
    assert ctx.messages[-1] == Message("assistant", "the answer")


async def test_the_conversation_keeps_request_and_answer_and_nothing_of_the_plans_prompts(stage, plan):
    s = stage(plans=[plan(a="", b="a")])
    ctx = s.turn()
    await s.go(ctx)
    assert [message.role for message in ctx.messages] == ["user", "assistant"]


async def test_the_answer_streams_when_the_turn_does_and_nothing_else_does(stage, plan):
    s = stage(plans=[plan(a="", b="a")], replies=["this is the answer"], stream=True)
    await s.run(stream=True)
    assert [chunk.text for chunk in s.events.of(StreamChunk)] == ["this ", "is ", "the ", "answer"]
    assert [request.purpose for request in s.model.requests if request.on_text] == ["reply"]


async def test_a_turn_that_does_not_stream_shows_no_pieces(stage, plan):
    s = stage(plans=[plan(a="", b="")], stream=True)
    await s.run()
    assert not s.events.of(StreamChunk)


async def test_when_every_step_failed_the_person_learns_why(stage, plan):
    s = stage(plans=[plan(a="", b="a")], work={"do a": [BadRequest("the door is shut")]})
    response = await s.run()
    assert "the door is shut" in s.prompts("reply")[0]
    assert "skipped" in s.prompts("reply")[0]
    assert response.text == "the answer"


async def test_an_answer_that_was_cut_off_says_so(stage, plan):
    s = stage(plans=[plan(a="", b="")], replies=[ModelResponse("half an ans", finish_reason="length")])
    response = await s.run()
    assert response.finish_reason == "length"


async def test_the_answer_of_a_plan_within_a_step_is_a_step_and_does_not_stream(stage, plan):
    several = {"description": "first read it and then write it"}
    s = stage(plans=[plan(a=several, b=""), plan(c="", d="")], stream=True)
    await s.run(stream=True)
    assert len(s.asked("reply")) == 1
    assert "".join(chunk.text for chunk in s.events.of(StreamChunk)) == "the answer"


async def test_many_long_results_fit_a_small_window_together(stage, plan):
    names = [f"s{n}" for n in range(20)]
    s = stage(
        plans=[plan(**dict.fromkeys(names[1:], ""), s0=" ".join(names[1:]))],
        work={f"do {name}": ["word " * 4000] for name in names},
        window=16_000,
    )
    await s.run()
    tokens = s.services.gateway.tokens
    assert s.steps("completed")[-1] == "s0"
    assert max(tokens.count_text(prompt) for prompt in s.prompts("step")) < 16_000 / 2
    assert tokens.count_text(s.prompts("reply")[0]) < 16_000 / 2

"""Models that a test writes itself: they play what they are given, and fail when the turn does something else."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sophon import Message, ModelRequest, ModelResponse, Services, ToolCall, Usage
from sophon.errors import RateLimited
from sophon.models.call_cost import cost_micros
from sophon.models.model import ModelInfo
from sophon.testing import EventRecorder, FunctionModel, ScriptedModel
from sophon.testing.fake_models import split_text
from tests.tables import table


def request(on_text: Any = None) -> ModelRequest:
    return ModelRequest([Message("user", "x")], [], ModelInfo("m", "m"), on_text=on_text)


async def test_a_function_gives_a_text_or_a_whole_response() -> None:
    async def text(request: ModelRequest) -> str:
        return request.messages[-1].content.upper()

    async def whole(request: ModelRequest) -> ModelResponse:
        return ModelResponse("x", [ToolCall("c", "t")], Usage(1, 2))

    assert (await FunctionModel(text).complete(request())).text == "X"
    assert (await FunctionModel(whole).complete(request())).usage == Usage(1, 2)


def test_what_is_known_of_the_model_is_as_it_was_said() -> None:
    async def answer(request: ModelRequest) -> str:
        return ""

    info = FunctionModel(
        answer, name="tiny", context_window=2000, function_calling=False, capabilities=["code"], prices=(1.5, 3)
    ).info

    assert (info.id, info.context_window, info.function_calling, info.streaming) == ("tiny/tiny", 2000, False, False)
    assert info.capabilities == {"code"}
    assert cost_micros(info, 1000, 100) == 1800


async def test_a_script_is_played_step_by_step() -> None:
    with ScriptedModel(["a", [ToolCall("c", "t")], ModelResponse("b"), RateLimited("slow down"), "z"]) as model:
        assert (await model.complete(request())).text == "a"
        assert (await model.complete(request())).tool_calls == [ToolCall("c", "t")]
        assert (await model.complete(request())).text == "b"
        with pytest.raises(RateLimited):
            await model.complete(request())
        assert (await model.complete(request())).text == "z"
    assert len(model.requests) == 5


async def test_a_call_too_many_fails_and_says_so() -> None:
    model = ScriptedModel([], name="short")
    with pytest.raises(AssertionError, match="the script of 'short' has 0 steps; this is a call more"):
        await model.complete(request())


async def test_steps_left_over_fail_at_the_end() -> None:
    with pytest.raises(AssertionError, match="2 of 2 steps left over"), ScriptedModel(["a", "b"]):
        pass
    services = Services(models=ScriptedModel(["a"]))
    with pytest.raises(AssertionError, match="1 of 1"):
        await services.close()


async def test_an_error_of_the_test_itself_is_not_hidden_by_the_rest_of_the_script() -> None:
    with pytest.raises(KeyError), ScriptedModel(["a"]):
        raise KeyError("the test's own")


@table(("stream", "heard"), [(True, ["one ", "two"]), (3, ["one", " tw", "o"]), (False, []), (1, list("one two"))])
async def test_a_text_is_given_in_pieces(stream: bool | int, heard: list[str]) -> None:
    said: list[str] = []
    with ScriptedModel(["one two"], stream=stream) as model:
        await model.complete(request(said.append))
    assert said == heard


@given(st.text(), st.one_of(st.just(True), st.integers(1, 9)))
def test_the_pieces_make_up_the_text_and_none_is_empty(text: str, size: bool | int) -> None:
    made = list(split_text(text, size))
    assert "".join(made) == text
    assert all(made)


def test_a_recorder_keeps_the_order_and_finds_by_class() -> None:
    from sophon.events import StreamChunk, TaskCancelled

    recorder, chunk, end = EventRecorder(), StreamChunk(epoch=1, text="x"), TaskCancelled()
    recorder.emit(chunk)
    recorder.emit(end)
    assert recorder.events == [chunk, end]
    assert recorder.of(TaskCancelled) == [end]


async def test_a_function_that_is_not_async_is_told() -> None:
    model = FunctionModel(lambda request: "hi")  # type: ignore[arg-type, return-value] - the mistake
    with pytest.raises(TypeError, match="not async: write `async def`"):
        await model.complete(request())


def test_a_text_is_no_script() -> None:
    with pytest.raises(TypeError, match="takes a list of steps, not 'done'"):
        ScriptedModel("done")


async def test_a_step_that_is_none_is_told() -> None:
    with pytest.raises(TypeError, match="step 1 of the script is None"):
        await ScriptedModel([None]).complete(request())  # type: ignore[list-item] - the mistake

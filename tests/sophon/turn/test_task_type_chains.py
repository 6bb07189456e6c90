"""Laws of the pipeline registry: which chain runs a turn, and what a replacement does to turns that run."""

import anyio
import pytest

from sophon import Context, Next, Pipeline, PipelineRegistry, Response, Services
from sophon.errors import CompositionError
from sophon.routing.context_keys import TASK_PROFILE
from tests.tables import table


def chain(name: str) -> Pipeline:
    async def answer(ctx: Context, next: Next) -> None:
        ctx.response = Response(name)

    return Pipeline.compose(answer)


async def ask(registry: PipelineRegistry, text: str) -> str:
    return (await registry.run(Services().turn(text))).text


async def test_a_task_type_has_its_chain_and_the_others_the_default_one() -> None:
    registry = PipelineRegistry(chain("default"), {"code_review": chain("review")})
    assert await ask(registry, "please review this") == "review"
    assert await ask(registry, "hello") == "default"
    assert registry.find("research") is registry.default


async def test_without_chains_by_task_type_nothing_is_classified() -> None:
    ctx = Services().turn("please review this")
    await PipelineRegistry(chain("default")).run(ctx)
    assert ctx.get(TASK_PROFILE) is None


async def test_a_replacement_loses_no_turn_and_turns_that_run_keep_their_chain() -> None:
    entered, release = anyio.Event(), anyio.Event()

    async def wait(ctx: Context, next: Next) -> None:
        entered.set()
        await release.wait()
        # The steps of its plan run through `ctx.pipeline`.
        assert ctx.pipeline is old
        await next(ctx)

    old = Pipeline.compose(wait, *chain("old"))
    registry = PipelineRegistry(chain("default"), {"code_review": old})
    answers: list[str] = []

    async def turn() -> None:
        answers.append(await ask(registry, "review it"))

    async with anyio.create_task_group() as group:
        group.start_soon(turn)
        await entered.wait()
        assert registry.replace(chain("new"), "code_review") is old
        assert await ask(registry, "review it") == "new"
        removed = registry.remove("code_review")
        assert removed is not None
        assert await ask(registry, "review it") == "default"
        release.set()
    assert answers == ["old"]


async def test_the_default_chain_is_replaced_too_and_a_change_returns_what_was_there() -> None:
    first = chain("first")
    registry = PipelineRegistry(first)
    assert registry.replace(chain("second")) is first
    assert registry.replace(chain("creative"), "creative") is None
    assert [await ask(registry, text) for text in ("hello", "write a poem")] == ["second", "creative"]
    assert registry.remove("research") is None


async def test_a_turn_that_has_its_type_is_not_classified_again() -> None:
    registry = PipelineRegistry(chain("default"), {"code_review": chain("review"), "chat": chain("chat")})
    ctx = Services().turn("review it")
    await registry.run(ctx)
    restored = Services().restore(ctx.state())
    restored.response = None
    profile = restored.get(TASK_PROFILE)
    assert profile is not None
    assert profile.task_type == "code_review"


@table(("chosen", "kind"), [(object(), None), (object(), "chat"), (chain("x"), "poetry")])
def test_what_is_no_chain_or_no_task_type_is_refused_and_changes_nothing(chosen: object, kind: str | None) -> None:
    registry = PipelineRegistry(chain("default"))
    with pytest.raises(CompositionError, match=r"no Pipeline|no task type"):
        registry.replace(chosen, kind)  # type: ignore[arg-type]
    with pytest.raises(CompositionError):
        PipelineRegistry(chain("default"), {kind or "chat": chosen})  # type: ignore[dict-item]
    assert registry.by_type == {}

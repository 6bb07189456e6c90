"""MaskPersonalData in the chain of a host: no model call of the host reads a value, whichever chain it is made in."""

import asyncio
import json
from pathlib import Path

import pytest

from sophon import ModelRequest, ModelResponse, Services
from sophon.testing import FunctionModel
from sophon_hosting.features.post_turn.runner import PostTurnRunner
from sophon_hosting.features.traces.replay.recorded_turn import load_recorded_turn
from sophon_hosting.features.traces.replay.turn_replay import ReplayRequest, replay_turn
from sophon_hosting.host import Host, RunRequest
from sophon_hosting.host_chain import build_named_chain, build_pipelines, place_model_hooks
from sophon_hosting.store.sql_host_store import SqlHostStore
from sophon_middlewares.chains import CHAINS

NAME, ADDRESS = "Zoë Lovelace", "zoe@analytical.at"
MODULE = f"""
from sophon import Pipeline
from sophon_middlewares import MaskPersonalData
from sophon_middlewares.chains import twelve


def names(ctx):
    return [{NAME!r}] if ctx.principal == "ada" else []


def build(services):
    record, *others = twelve(services)
    return Pipeline.compose(record, MaskPersonalData(names=names), *others)
"""


class Recorded:
    """Services of a host with its own chain, and a provider that keeps what it gets."""

    def __init__(self, folder: Path) -> None:
        (folder / "chain_that_masks.py").write_text(MODULE)
        self.model = FunctionModel(self.answer)
        self.services = Services(
            models=self.model,
            folder=folder,
            settings={
                "Chain": {"Factory": "chain_that_masks:build", "TaskTypes": {"code_review": "clawft"}},
                "Planning": {"Mode": "Never"},
                "Memory": {"Learn": True},
                "Routing": {"Strategy": "CostAware", "Tiers": [{"Name": "only", "Models": [self.model.info.name]}]},
                "Learning": {"Scorer": "Evaluator", "Evaluator": {"Share": 1}},
            },
            store=SqlHostStore("memory://"),
        )
        self.pipelines = build_pipelines(self.services)

    async def answer(self, request: ModelRequest) -> ModelResponse | str:
        match request.purpose:
            case "memory":
                return "- [NAME_1] reads mail at [EMAIL_1]."
            case "title":
                return "About [NAME_1]"
            case _:
                return "Written to [NAME_1] at [EMAIL_1]."

    def assert_nothing_read(self, *purposes: str) -> None:
        assert {each.purpose for each in self.model.requests} == {*purposes}
        for request in self.model.requests:
            sent = json.dumps([each.to_json() for each in request.messages], ensure_ascii=False)
            assert NAME not in sent, request.purpose
            assert ADDRESS not in sent, request.purpose


@pytest.fixture
def recorded(tmp_path: Path) -> Recorded:
    return Recorded(tmp_path)


@pytest.mark.parametrize("text", ["Write to", "Review it with"], ids=["own chain", "chain of the task type"])
async def test_replies_titles_memories_and_evaluations_of_a_host_read_no_value(recorded: Recorded, text: str) -> None:
    services = recorded.services
    host = Host(services, recorded.pipelines)
    jobs = PostTurnRunner(services, host.event_bus, host.pipelines)
    async with host:
        jobs.start()
        receipt = await host.accept(RunRequest(f"{text} {NAME}, {ADDRESS}", "s", "ada"))
        async with asyncio.timeout(30):
            while not jobs.statistics().done:
                await asyncio.sleep(0)
        await jobs.stop()
    run = await services.store.runs.get(receipt.task_id)

    recorded.assert_nothing_read("reply", "memory", "title", "evaluation")
    assert (run.response or {})["text"] == f"Written to {NAME} at {ADDRESS}."
    assert (await services.store.sessions.get("s")).title == f"About {NAME}"
    kept = [each.text for each in await services.store.memories.list_all()]
    assert f"{NAME} reads mail at {ADDRESS}." in kept


@pytest.mark.parametrize("chain", [None, *CHAINS])
async def test_a_replay_reads_no_value_whichever_chain_is_chosen(recorded: Recorded, chain: str | None) -> None:
    services = recorded.services
    async with services:
        ctx = services.turn(f"Write to {NAME}, {ADDRESS}", session_id="s", principal="ada")
        await recorded.pipelines.run(ctx)
        turn = await load_recorded_turn(services.store, ctx.run_id)
        replayed = await replay_turn(services, turn, ReplayRequest(chain=chain))

    assert len(recorded.model.requests) >= 2
    recorded.assert_nothing_read("reply")
    assert f"Written to {NAME} at {ADDRESS}." in replayed.answer


def test_a_chain_that_masks_by_itself_keeps_its_own(recorded: Recorded) -> None:
    own = recorded.pipelines.default
    assert place_model_hooks(own, recorded.pipelines) is own
    named = place_model_hooks(build_named_chain(recorded.services, "wasp"), recorded.pipelines)
    assert [type(each).__name__ for each in named][1] == "MaskPersonalData"

"""The chain of the settings: a factory that leads nowhere is told with the setting's path, in a line."""

import asyncio
from pathlib import Path

import pytest

from sophon import Context, Message, ModelRequest, Next, Pipeline, PipelineRegistry, Response, Services
from sophon.errors import CompositionError, NotFound, SettingsError
from sophon.settings import Settings
from sophon.testing import FunctionModel
from sophon_hosting.host import Host, RunRequest
from sophon_hosting.host_chain import build_configured_chain, build_named_chain, build_pipelines
from sophon_hosting.store.sql_host_store import SqlHostStore
from sophon_middlewares.chains import CHAINS, clawft, twelve
from sophon_middlewares.chains.chain_settings import complete_for_chain
from sophon_middlewares.outer.session_events.session_events import SessionEvents

MODULE = """
from sophon import Pipeline
from sophon_middlewares.chains import twelve

five = 5


def chain(services):
    return Pipeline.compose(*twelve(services))


async def later(services):
    return chain(services)


def broken(services):
    return services.nothing


def empty(services):
    return None


def impossible(services):
    return Pipeline.compose(five)
"""


@pytest.fixture
def chain(tmp_path: Path, request: pytest.FixtureRequest):
    """Makes the chain of a factory in a module of the person's."""
    module = f"chains_{abs(hash(request.node.name))}"  # each test has a module that nobody imported before
    (tmp_path / f"{module}.py").write_text(MODULE)

    def make(factory: str):
        path = factory.replace("chains", module)
        return build_configured_chain(
            Services(settings={"Chain": {"Factory": path}}, folder=tmp_path, store=SqlHostStore("memory://"))
        )

    return make


def test_a_factory_gives_the_chain(chain) -> None:
    assert "AgenticLoop" in chain("chains:chain").explain()


@pytest.mark.parametrize(
    ("factory", "told"),
    [
        ("nowhere_at_all:chain", "there is no module 'nowhere_at_all'"),
        ("chains:nothing", "has no 'nothing'"),
        ("chains:five", "is not a function"),
        ("chains:later", "is async; it must be a plain function"),
        ("chains:broken", "failed: AttributeError"),
        ("chains:empty", "returned NoneType, not a Pipeline"),
    ],
)
def test_a_factory_that_gives_none_is_told_in_a_line(chain, factory: str, told: str) -> None:
    with pytest.raises(SettingsError, match=told) as caught:
        chain(factory)
    [line] = caught.value.problems
    assert line.startswith("Chain.Factory: ")
    assert "\n" not in line


def test_a_chain_that_cannot_work_says_so_itself(chain) -> None:
    with pytest.raises(CompositionError, match="5"):
        chain("chains:impossible")


def test_chains_of_task_types_are_composed_with_the_guards_of_the_settings() -> None:
    settings = {"Chain": {"TaskTypes": {"research": "clawft"}}, "Guards": {"Audit": {"Enabled": True}}}
    pipelines = build_pipelines(Services(settings=settings, store=SqlHostStore("memory://")))
    assert "Audit" in pipelines.find("research").explain()
    assert "Classification" in pipelines.find("research").explain()
    assert "Classification" not in pipelines.default.explain()
    with pytest.raises(NotFound, match="clawftt"):
        build_pipelines(
            Services(settings={"Chain": {"TaskTypes": {"chat": "clawftt"}}}, store=SqlHostStore("memory://"))
        )
    with pytest.raises(SettingsError, match=r"Chain\.TaskTypes\.poetry"):
        Services(settings={"Chain": {"TaskTypes": {"poetry": "clawft"}}}, store=SqlHostStore("memory://"))


async def test_a_host_replaces_a_chain_while_a_turn_runs_and_loses_no_turn() -> None:
    entered, release = asyncio.Event(), asyncio.Event()

    async def answer(request: ModelRequest) -> str:
        if request.messages[-1].content == "review slowly":
            entered.set()
            await release.wait()
        return "by a model"

    async def short(ctx: Context, next: Next, /) -> None:
        ctx.messages.append(Message("assistant", "by the new chain"))
        ctx.response = Response("by the new chain")

    services = Services(
        models=FunctionModel(answer),
        settings={"AgentExecution": {"MaxConcurrentTasks": 4}},
        store=SqlHostStore("memory://"),
    )
    pipelines = PipelineRegistry(twelve(services), {"code_review": clawft(services)})
    host = Host(services, pipelines)
    await services.open()
    await host.start()
    texts = {}
    slow = await host.accept(RunRequest("review slowly", "a", "ada"))
    await entered.wait()
    host.replace_chain(Pipeline.compose(SessionEvents(), short), "code_review")
    with pytest.raises(CompositionError, match="SessionEvents"):
        host.replace_chain(Pipeline.compose(short))
    later = await host.accept(RunRequest("review it", "b", "ada"))
    other = await host.accept(RunRequest("hello", "c", "ada"))
    release.set()
    async with asyncio.timeout(30):
        for receipt in (slow, later, other):
            while (run := await services.store.runs.get(receipt.task_id)).status != "completed":
                await asyncio.sleep(0)
            texts[receipt.task_id] = (run.response or {})["text"]
    await host.shutdown(grace_seconds=0)
    assert list(texts.values()) == ["by a model", "by the new chain", "by a model"]


EVERYTHING = {
    "Decisions": {"Enabled": True},
    "Replies": {"Validator": {"Enabled": True}, "Announcer": {"Enabled": True}, "UrlOutcomes": True},
    "Guards": {
        name: {"Enabled": True}
        for name in (
            "IntentGate",
            "Authorization",
            "RateLimit",
            "Simulation",
            "Redaction",
            "Audit",
            "Shield",
            "Snapshot",
        )
    },
    "Learning": {"Enabled": True},
}


@pytest.mark.parametrize("name", CHAINS)
async def test_each_chain_takes_everything_that_settings_insert_and_answers(name: str) -> None:
    services = Services(settings={**EVERYTHING, "Chain": {"Name": name}}, store=SqlHostStore("memory://"))
    chain = build_configured_chain(services)
    names = [type(each).__name__ for each in chain]
    assert {"DecisionLayer", "ResponseValidator", "ActionAnnouncer", "UrlOutcomes", "IntentGate"} <= {*names}
    assert names.index("ActionAnnouncer") < names.index("ResponseValidator") < names.index("UrlOutcomes")
    assert {each for each in names if names.count(each) > 1} <= {"StageMark", "PublishedStage"}
    response = await chain.run(services.turn("Please tell me what is 2 + 2"))
    assert "4" in response.text
    assert (await chain.run(services.turn("What time is it?"))).usage.total_tokens == 0, "a fast path asks no model"


async def test_a_part_of_a_host_gets_a_whole_chain_by_name() -> None:
    services = Services(settings={"Guards": {"IntentGate": {"Enabled": True}}}, store=SqlHostStore("memory://"))
    names = [type(each).__name__ for each in build_named_chain(services, "openparallax")]
    assert {"ToolsOnDemand", "IntentGate", "Preferences", "Memory"} <= {*names}
    with pytest.raises(NotFound, match="'wasp'"):
        build_named_chain(services, "wapsp")


@pytest.mark.parametrize("name", ["twelve", "clawft"])
def test_the_decision_layer_stands_in_a_chain_where_the_settings_want_it(name: str) -> None:
    def names(**settings: object) -> list[str]:
        chain = build_configured_chain(
            Services(settings={"Chain": {"Name": name}, **settings}, store=SqlHostStore("memory://"))
        )
        return [type(each).__name__ for each in chain]

    found = names(Decisions={"Enabled": True})
    assert found.index("DecisionLayer") < found.index("AgenticLoop")
    assert "DecisionLayer" not in names()


@pytest.mark.parametrize(("name", "tokens", "rounds"), [("twelve", 4096, 100), ("clawft", 4096, 20)])
async def test_a_chain_of_a_task_type_has_none_of_the_constants_of_the_hosts_chain(
    name: str, tokens: int, rounds: int
) -> None:
    found: list[int] = []

    async def look(ctx: Context, next: Next) -> None:
        found.append(ctx.settings.agent_execution.max_tool_iterations)
        await next(ctx)

    async def answer(request: ModelRequest) -> str:
        return "done"

    model = FunctionModel(answer)
    settings = complete_for_chain(Settings.from_mapping({"Chain": {"Name": "clawdesk"}}))
    services = Services(models=model, settings=settings, store=SqlHostStore("memory://"))
    parts = list(build_named_chain(services, name))
    chain = Pipeline.compose(*parts[:-1], look, parts[-1])
    await chain.run(services.turn("hi"))
    assert (model.requests[-1].max_tokens, found) == (tokens, [rounds])


def test_what_the_hosts_chain_switches_on_stands_in_no_other() -> None:
    services = Services(
        settings=complete_for_chain(Settings.from_mapping({"Chain": {"Name": "wasp"}})), store=SqlHostStore("memory://")
    )
    names = [type(each).__name__ for each in build_named_chain(services, "clawft")]
    assert "DecisionLayer" not in names

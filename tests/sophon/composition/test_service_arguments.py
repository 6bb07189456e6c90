"""Arguments of `Services` of the wrong kind, and settings that name parts: each acts or is refused at once."""

import time
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from sophon import ApprovalRequest, Decision, Services, tool
from sophon.errors import CompositionError, InputError, SettingsError
from sophon.events import Event
from sophon.images import image_from_bytes
from sophon.learning.embedding_cache import CachingEmbedder
from sophon.learning.hashing_embedder import HashingEmbedder
from sophon.models.embeddings.embedder_factory import FailureGuard
from sophon.models.embeddings.metered_embedder import MeteredEmbedder
from sophon.models.model import ModelInfo
from sophon.settings import Settings
from sophon.stores.in_memory_store import InMemoryStore
from sophon.testing import EventRecorder, FunctionModel, ScriptedModel, VirtualClock
from sophon_middlewares.chains import twelve
from tests.tables import table


@tool
def hello() -> str:
    """Say hello."""
    return "hello"


def plain() -> str:
    return "x"


class SyncGate:
    def request(self, request: ApprovalRequest) -> Decision:
        return Decision.reject()


class AsyncSink:
    async def emit(self, event: Event) -> None:
        raise AssertionError


class NoArgument:
    async def request(self) -> Decision:
        return Decision.reject()


class NoInfo:
    info = None


def approve(request: ApprovalRequest) -> bool:
    return True


@table(
    ("arguments", "problem"),
    [
        ({"store": "sqlite:///x.db"}, r"store='sqlite:///x.db' .*settings=\{\"Store\": \{\"Url\""),
        ({"store": InMemoryStore}, r"store=InMemoryStore is a class; .*store=InMemoryStore\(\)"),
        ({"approvals": approve}, r"approvals=<function approve .*async def request"),
        ({"approvals": SyncGate()}, r"request is not async; write `async def request`"),
        ({"events": print}, r"events=<built-in function print> .*def emit"),
        ({"events": AsyncSink()}, r"emit is async, and nobody awaits it"),
        ({"events": EventRecorder}, r"events=EventRecorder is a class"),
        ({"tools": plain}, r"tools=plain is not a list of tools: write tools=\[\.\.\.\], with @tool"),
        ({"tools": hello}, r"tools is the tool 'hello'; write a list"),
        ({"tools": "hello"}, r"tools='hello' is not a list of tools"),
        ({"tools": None}, r"tools=None is not a list of tools"),
        ({"tools": [hello, plain]}, "plain is not a tool: put @tool above the function"),
        ({"models": "gpt-5-mini"}, "'gpt-5-mini' is not a model: FunctionModel wraps a function"),
        ({"models": [ScriptedModel([]), plain]}, "is not a model: FunctionModel wraps a function"),
        ({"models": FunctionModel}, r"FunctionModel.* is not a model|models=FunctionModel is a class"),
        ({"settings": "appsettings.json"}, r"settings='appsettings.json' is not a dict"),
        ({"instructions": ["Be brief."]}, r"instructions=\['Be brief.'\] is not a text"),
        ({"clock": 5}, r"clock=5 is not of the right kind"),
        ({"clock": time}, r"clock=<module 'time'.* is not of the right kind"),
        ({"approvals": NoArgument()}, r"its method request takes \(\)"),
        ({"models": NoInfo()}, r"NoInfo.*: its info is None"),
        ({"policy": "deny: []"}, r"policy='deny: \[\]' .*Policy.load"),
        ({"skills": [Path("skills")]}, r"skills=.*Directories"),
        ({"embedder": "openai"}, r"embedder='openai'"),
        ({"turn_log": "x"}, r"turn_log='x' is not of the right kind"),
    ],
)
def test_an_argument_of_the_wrong_kind_is_refused_with_what_to_write(arguments: dict[str, Any], problem: str) -> None:
    with pytest.raises(CompositionError, match=problem):
        Services(**arguments)


def test_tools_may_be_any_iterable() -> None:
    assert "hello" in Services(tools=(each for each in [hello])).registry  # type: ignore[arg-type] - not a Sequence


OPENAI = {"Id": "mine", "Type": "openai", "Models": ["gpt-5-mini"], "Priority": 1}


async def complete(request: web.Request) -> web.Response:
    assert request.headers["Authorization"] == "Bearer literal-key"
    message = {"role": "assistant", "content": "from the server"}
    choices = [{"index": 0, "message": message, "finish_reason": "stop"}]
    usage = {"prompt_tokens": 1, "completion_tokens": 1}
    return web.json_response(
        {"id": "c", "object": "chat.completion", "created": 1, "model": "m", "choices": choices, "usage": usage}
    )


async def test_the_providers_of_the_settings_answer_and_not_the_offline_model() -> None:
    app = web.Application()
    app.router.add_post("/v1/chat/completions", complete)
    runner = web.AppRunner(app, access_log=None)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    url = f"http://127.0.0.1:{runner.addresses[0][1]}/v1"
    try:
        settings = {"Providers": [{**OPENAI, "BaseUrl": url, "Keys": ["literal-key"]}]}
        async with Services(settings=settings) as services:
            response = await twelve(services).run(services.turn("hello"))
    finally:
        await runner.cleanup()

    assert response.text == "from the server"


@pytest.mark.parametrize(
    ("settings", "problem"),
    [
        ({"Providers": [{**OPENAI, "Keys": [{"$env": "MY_KEY"}]}]}, "Providers[0].Keys"),
        ({"Providers": [OPENAI]}, "Providers[0].Keys"),
        ({"Store": {"Url": {"$env": "MY_URL"}}}, "Store.Url"),
        ({"Embeddings": {"Provider": "OpenAi", "Model": "m", "Key": {"$env": "MY_KEY"}}}, "Embeddings"),
        ({"Vault": {"crm": {"Secret": {"$env": "CRM"}, "Hosts": ["crm.example"]}}}, "Vault.crm.Secret"),
    ],
)
def test_a_secret_of_the_environment_is_refused_with_the_call_that_reads_it(
    settings: dict[str, Any], problem: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("MY_KEY", "OPENAI_API_KEY", "MY_URL", "CRM"):
        monkeypatch.setenv(name, "memory://")
    with pytest.raises(SettingsError) as caught:
        Services(settings=settings)

    assert caught.value.problems[0].startswith(problem)
    assert "Services.from_settings(...)" in caught.value.problems[-1]


@table(
    ("settings", "problem"),
    [
        ({"Tools": {"Modules": ["no_such_module_of_mine"]}}, "Tools.Modules[0]"),
        ({"Tools": {"Disabled": ["calculater"]}}, "Tools.Disabled[0]: there is no tool 'calculater'"),
        ({"Budget": {"Providers": {"opnai": {"DailyTokens": 1}}}}, "Budget.Providers.opnai"),
        ({"Guards": {"Shield": {"Enabled": True, "PolicyFile": "missing.yaml"}}}, "Guards.Shield.PolicyFile"),
    ],
)
def test_a_setting_that_a_program_cannot_follow_is_refused(settings: dict[str, Any], problem: str) -> None:
    with pytest.raises(SettingsError) as caught:
        Services(settings=settings)
    assert caught.value.problems[0].startswith(problem)


class Named(HashingEmbedder):
    name = "remote/embed"


def test_a_metered_embedder_may_have_a_budget_and_a_name_says_nothing() -> None:
    budget = {"Budget": {"Providers": {"remote": {"DailyTokens": 1}}}}
    metered = MeteredEmbedder(Named(8), ModelInfo("embed", "remote"))
    wrapped = CachingEmbedder(FailureGuard(metered, VirtualClock().monotonic))
    for embedder in (metered, wrapped):
        assert Services(settings=budget, embedder=embedder).learning.embedder is embedder
    with pytest.raises(SettingsError, match=r"Budget\.Providers\.remote"):
        Services(settings=budget, embedder=Named(8))  # nothing meters it, so the limit would limit nothing


async def test_the_store_of_the_settings_keeps_the_conversation(tmp_path: Path) -> None:
    settings = {"Store": {"Url": "sqlite:///kept.db"}}
    async with Services(settings=settings, folder=tmp_path) as services:
        await twelve(services).run(services.turn("hello", session_id="s"))
    async with Services(settings=settings, folder=tmp_path) as services:
        assert [each.content for each in await services.history("s")][:1] == ["hello"]


def test_modules_and_skills_of_the_settings_are_loaded(tmp_path: Path) -> None:
    (tmp_path / "module_of_a_program.py").write_text(
        "from sophon import tool\n@tool\ndef greet() -> str:\n    return 'x'\n"
    )
    (tmp_path / "skills").mkdir()
    settings = {"Tools": {"Modules": ["module_of_a_program"]}, "Skills": {"Directories": ["skills"]}}
    services = Services(settings=settings, folder=tmp_path)

    assert "greet" in services.registry
    assert services.assistant.skills is not None


def test_a_policy_file_of_the_settings_has_the_embedder_that_it_needs() -> None:
    services = Services(settings={"Routing": {"PolicyFile": "policies.jsonl"}})
    assert services.learning.embedder is not None
    assert services.learning.policies is not None


def test_defaults_of_the_settings_create_nothing() -> None:
    services = Services(settings=Settings.from_mapping({}))
    assert isinstance(services.store, InMemoryStore)
    assert (services.assistant.skills, services.learning.embedder, services.learning.policies) == (None, None, None)


async def test_what_is_passed_replaces_what_the_settings_name() -> None:
    store = InMemoryStore()
    settings = {"Providers": [{**OPENAI, "Keys": [{"$env": "MY_KEY"}]}], "Store": {"Url": "sqlite:///x.db"}}
    services = Services(models=ScriptedModel(["mine"]), store=store, settings=settings)

    assert services.store is store
    assert (await twelve(services).run(services.turn("hello"))).text == "mine"


@table(
    ("arguments", "problem"),
    [
        ({"text": None}, "the message is None; it must be a text"),
        ({"text": b"hi"}, "the message is b'hi'"),
        ({"session_id": 3}, "session_id is 3; it must be a text"),
        ({"principal": 3}, "principal is 3"),
        ({"model": 3}, "model is 3"),
        ({"data_owner": 3}, "data_owner is 3"),
        ({"stream": "no"}, "stream is 'no'; write True or False"),
        ({"group": "yes"}, "group is 'yes'"),
        ({"planning": True}, "planning is True; choose from Auto"),
        ({"images": ["cat.png"]}, r"images is \['cat.png'\]; write images="),
        ({"attachments": ["a.txt"]}, r"attachments is \['a.txt'\]; write a list of sophon.attachments.Attachment"),
    ],
)
def test_an_argument_of_a_turn_of_the_wrong_kind_is_refused(arguments: dict[str, Any], problem: str) -> None:
    with pytest.raises(InputError, match=problem):
        Services().turn(**{"text": "hi", **arguments})


def test_settings_as_the_file_has_them_are_refused_with_what_to_leave_out() -> None:
    with pytest.raises(SettingsError, match=r"^Sophon: unknown setting; leave this level out"):
        Services(settings={"Sophon": {"Tools": {"MaxParallel": 2}}})


def test_a_file_name_in_place_of_the_settings_is_refused_with_what_reads_it() -> None:
    name: Any = "appsettings.json"
    with pytest.raises(CompositionError, match=r"settings='appsettings.json' is not a dict; .*load_settings"):
        Services.from_settings(name)


def test_the_name_of_an_image_file_is_no_image() -> None:
    name: Any = "cat.png"
    with pytest.raises(InputError, match=r"the image is 'cat.png'; give the bytes of its file"):
        image_from_bytes(name)

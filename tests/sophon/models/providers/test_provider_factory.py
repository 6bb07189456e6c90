from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from sophon.errors import SettingsError
from sophon.models.call_cost import worst_cost_micros
from sophon.models.catalog import lookup_model_info
from sophon.models.gateway.provider import Provider
from sophon.models.offline import OfflineModel
from sophon.models.providers.anthropic.model import AnthropicModel
from sophon.models.providers.defaults import PROVIDER_DEFAULTS
from sophon.models.providers.discovery import discover_providers
from sophon.models.providers.litellm.model import LiteLLMModel
from sophon.models.providers.ollama.model import OllamaModel
from sophon.models.providers.ollama_discovery import OllamaModel as DiscoveredOllamaModel
from sophon.models.providers.openai.model import OpenAIModel
from sophon.models.providers.provider_factory import create_providers, select_providers
from sophon.models.providers.provider_types import list_provider_types
from sophon.settings import Settings
from sophon.testing import VirtualClock
from tests.sophon.models.dialects import Anthropic, Ollama, OpenAI
from tests.tables import table

NOBODY = {"OLLAMA_HOST": "127.0.0.1:9"}
"""An environment in which no Ollama is found, whatever runs on this machine."""


def providers(*given: Mapping[str, Any], environment: Mapping[str, str] | None = None, folder: Path = Path()) -> Any:
    settings = Settings.from_mapping({"Providers": [dict(each) for each in given]})
    return create_providers(
        settings, environment={**NOBODY, **(environment or {})}, clock=VirtualClock(), folder=folder
    )


def problems(
    *given: Mapping[str, Any], environment: Mapping[str, str] | None = None, folder: Path = Path()
) -> list[str]:
    with pytest.raises(SettingsError) as caught:
        providers(*given, environment=environment, folder=folder)
    return caught.value.problems


def keys_of(provider: Provider) -> list[str]:
    assert provider.keys is not None
    found: list[str] = []
    while (key := provider.keys.next_key()) is not None:
        found.append(key)
        provider.keys.disable_key(key)
    return found


OPENAI = {"Id": "mine", "Type": "openai", "Models": ["gpt-5-mini", "gpt-4o"], "Keys": [{"$env": "A"}, {"$env": "B"}]}


def test_a_provider_has_its_models_keys_and_priority() -> None:
    (found,) = providers({**OPENAI, "Priority": 7}, environment={"A": "sk-a", "B": "sk-b"})
    assert (found.id, found.priority) == ("mine", 7)
    assert [model.info.id for model in found.models] == ["mine/gpt-5-mini", "mine/gpt-4o"]
    assert all(isinstance(model, OpenAIModel) for model in found.models)
    assert keys_of(found) == ["sk-a", "sk-b"]


def test_a_key_that_is_missing_among_others_is_left_out() -> None:
    (found,) = providers(OPENAI, environment={"B": "sk-b"})
    assert keys_of(found) == ["sk-b"]


def test_the_catalog_is_asked_and_the_settings_win() -> None:
    told = {"ContextWindow": 1000, "FunctionCalling": False, "Prices": {"Input": 1.5, "Output": 2.5}}
    (known,) = providers(OPENAI, environment={"A": "a"})
    (said,) = providers({**OPENAI, **told}, environment={"A": "a"})
    assert known.models[0].info.context_window == lookup_model_info("openai", "gpt-5-mini").context_window
    info = said.models[0].info
    assert (info.context_window, info.function_calling, info.prices) == (1000, False, (1.5, 2.5))


@table(
    ("given", "kind"),
    [
        ({"Type": "anthropic", "Models": ["claude-haiku-4-5"], "Keys": ["k"]}, AnthropicModel),
        ({"Type": "litellm", "Models": ["anthropic/claude-haiku-4-5"], "Keys": ["k"]}, LiteLLMModel),
        ({"Type": "Groq", "Models": ["llama"], "Keys": ["k"]}, OpenAIModel),
        ({"Type": "bedrock", "Models": ["anthropic.claude"]}, LiteLLMModel),
        ({"Type": "litellm", "Models": ["groq/llama"], "Keys": ["k"]}, LiteLLMModel),
        ({"Type": "google", "Models": ["gemini-flash-latest"], "Keys": ["k"]}, OpenAIModel),
        ({"Type": "cohere", "Models": ["command-a-03-2025"], "Keys": ["k"]}, LiteLLMModel),
        ({"Type": "openai_compatible", "Models": ["m"], "BaseUrl": "http://box/v1"}, OpenAIModel),
        ({"Type": "ollama", "Models": ["m"]}, OllamaModel),
        ({"Type": "ollama_chat", "Models": ["m"]}, LiteLLMModel),
        ({"Type": "offline"}, OfflineModel),
    ],
)
def test_a_type_has_its_adapter(given: dict[str, Any], kind: type) -> None:
    (found,) = providers({"Id": given["Type"].lower(), **given})
    assert found.models[0].info.provider == found.id
    assert isinstance(found.models[0], kind)


def test_no_facts_are_borrowed_for_a_server_that_only_speaks_openais_api() -> None:
    (found,) = providers({"Id": "x", "Type": "openai_compatible", "Models": ["gpt-5-mini"], "BaseUrl": "http://box/v1"})
    assert found.models[0].info.prices is None
    assert found.keys is None


@table(
    ("given", "hosting"),
    [
        ({"Type": "openai", "Models": ["gpt-99"], "Keys": ["k"]}, "hosted"),
        ({"Type": "openai", "Models": ["gpt-99"], "Keys": ["k"], "BaseUrl": "http://127.0.0.1:1/v1"}, "private"),
        ({"Type": "openai_compatible", "Models": ["m"], "BaseUrl": "http://box/v1"}, "private"),
        ({"Type": "groq", "Models": ["new"], "Keys": ["k"]}, "hosted"),
        ({"Type": "litellm", "Models": ["groq/new"], "Keys": ["k"]}, "hosted"),
        ({"Type": "litellm", "Models": ["ollama/new"]}, "local"),
        ({"Type": "ollama", "Models": ["new"], "BaseUrl": "http://192.168.1.7:11434"}, "local"),
        ({"Type": "offline"}, "local"),
    ],
)
def test_a_model_runs_where_its_server_is(given: dict[str, Any], hosting: str) -> None:
    (found,) = providers({"Id": "x", **given})
    assert found.models[0].info.hosting == hosting


def test_a_provider_that_is_not_active_is_left_out_with_all_its_faults() -> None:
    assert providers({"Id": "x", "Type": "nonsense", "Active": False}, {"Id": "y", "Type": "offline"})[0].id == "y"


@table(
    ("given", "problem"),
    [
        (
            {"Type": "openai", "Keys": [{"$env": "OPENAI_API_KEY"}]},
            "Keys: the environment variable OPENAI_API_KEY is not set",
        ),
        ({"Type": "openai"}, "Keys: no key is configured, and the environment variable OPENAI_API_KEY is not set"),
        (
            {"Type": "anthropic", "Keys": [{"$file": "/no/such"}]},
            "Keys: the file /no/such is missing, empty or cannot be read",
        ),
        (
            {"Type": "openai", "Keys": ["a b"]},
            "Keys: a key contains characters that are not allowed (white space or non-ASCII letters)",
        ),
        (
            {"Type": "openai_compatible", "Models": ["m"]},
            "BaseUrl: a provider of type 'openai_compatible' needs one, such as https://host/v1",
        ),
        ({"Type": "bedrock"}, "Models: name at least one model"),
        ({"Type": "ollama"}, "Models: name at least one model"),
        ({"Type": "openai", "Keys": ["k"], "BaseUrl": "http://box"}, "Models: name at least one model"),
        ({"Type": "antropic", "Keys": ["k"]}, "Type: 'antropic' is not a provider type; did you mean anthropic?"),
        (
            {"Type": "zzzz", "Keys": ["k"]},
            "Type: 'zzzz' is not a provider type; for a server with an OpenAI-compatible API write 'openai_compatible'",
        ),
    ],
)
def test_what_is_wrong_gets_one_line(given: dict[str, Any], problem: str) -> None:
    assert problems({"Id": "x", **given}) == [f"Providers[0].{problem}"]


def test_everything_that_is_wrong_is_told_at_once() -> None:
    lines = problems({"Id": "a", "Type": "openai"}, {"Id": "b", "Type": "offline"}, {"Id": "c", "Type": "groq"})
    assert [line.partition(":")[0] for line in lines] == ["Providers[0].Keys", "Providers[2].Keys"]


def test_a_key_is_taken_from_where_it_is_by_custom() -> None:
    (found,) = providers({"Id": "x", "Type": "gemini"}, environment={"GOOGLE_API_KEY": "g"})
    assert keys_of(found) == ["g"]
    assert found.models[0].info.name == "gemini-flash-latest"


FACTORY = {"Id": "mine", "Type": "python", "Factory": "my_models:make"}


def test_a_factory_gives_the_model_under_the_providers_id_with_the_facts_of_the_settings(folder: Path) -> None:
    (folder / "my_models.py").write_text(
        "from sophon.testing import FunctionModel\n"
        "async def answer(request): return 'from ' + request.model.id\n"
        "def make(): return FunctionModel(answer)\n"
    )
    given = {**FACTORY, "Models": ["tiny"], "ContextWindow": 99, "Capabilities": ["Fast"]}
    (found,) = providers(given, folder=folder)
    info = found.models[0].info
    assert (info.id, info.context_window) == ("mine/tiny", 99)
    assert "Fast" in info.capabilities


def test_a_factory_that_takes_them_is_given_the_providers_settings(folder: Path) -> None:
    (folder / "my_models.py").write_text(
        "from sophon.testing import FunctionModel\n"
        "def make(settings):\n"
        "    async def answer(request): return ''\n"
        "    return FunctionModel(answer, name=settings.id)\n"
    )
    (found,) = providers(FACTORY, folder=folder)
    assert found.models[0].info.id == "mine/mine"


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (None, "there is no module 'my_models', neither installed nor in "),
        ("x = 1", "the module 'my_models' has no 'make'"),
        ("make = 1", "'my_models:make' is not a function"),
        (
            "def make(): return 7",
            "'my_models:make' returned a value of type int, which is not a model: it needs `info` and `complete`",
        ),
        ("def make(): raise ValueError('no')", "'my_models:make' failed: ValueError: no"),
        ("import no_such_thing", "'my_models' cannot be imported: No module named 'no_such_thing'"),
        ("def make(:", "'my_models' cannot be imported: SyntaxError: "),
    ],
)
def test_a_factory_that_cannot_be_used_gets_one_line(folder: Path, text: str | None, problem: str) -> None:
    if text is not None:
        (folder / "my_models.py").write_text(text)
    (line,) = problems(FACTORY, folder=folder)
    assert line.startswith(f"Providers[0].Factory: {problem}")


def test_without_settings_every_key_that_is_set_is_a_provider_in_a_fixed_order() -> None:
    found = providers(
        environment={"GROQ_API_KEY": "g", "ANTHROPIC_API_KEY": "a", "OPENAI_API_KEY": "o", "XAI_API_KEY": " "}
    )
    assert [(each.id, each.priority) for each in found] == [("openai", 1), ("anthropic", 2), ("groq", 3)]
    assert found[0].models[0].info.id == "openai/gpt-5-mini"
    assert keys_of(found[1]) == ["a"]


def test_without_keys_and_ollama_it_is_the_offline_model() -> None:
    (found,) = providers()
    assert isinstance(found.models[0], OfflineModel)


async def asked_over(found: Provider, server: Any, kit: Any, dialect: Any) -> Any:
    """The request that the server of a provider has seen."""
    server.dialect = dialect
    server.says("Good day")
    model: Any = found.models[0]
    assert (await model.complete(kit.request(model))).text == "Good day"
    await model.aclose()
    return server.seen[0]


@pytest.mark.parametrize("suffix", ["", "/", "/v1", "/v1/", "/api"])
async def test_ollama_is_spoken_to_natively_under_every_address_it_had(server: Any, kit: Any, suffix: str) -> None:
    (found,) = providers({"Id": "x", "Type": "ollama", "Models": ["qwen:7b"], "BaseUrl": server.url + suffix})
    seen = await asked_over(found, server, kit, Ollama())
    assert (seen.path, seen.body["model"]) == ("/api/chat", "qwen:7b")
    assert not {"num_ctx", "keep_alive"} & (seen.body["options"].keys() | seen.body.keys())


async def test_ollama_loads_a_model_as_the_settings_say(server: Any, kit: Any) -> None:
    told = {"ContextWindow": 16384, "KeepAlive": "00:30:00"}
    (found,) = providers({"Id": "x", "Type": "ollama", "Models": ["qwen:7b"], "BaseUrl": server.url, **told})
    seen = await asked_over(found, server, kit, Ollama())
    assert (seen.body["options"]["num_ctx"], seen.body["keep_alive"]) == (16384, "1800s")
    assert found.models[0].info.context_window == 16384


@pytest.mark.parametrize(("length", "num_ctx"), [("16384", 16384), ("", None), ("many", None), ("0", None)])
def test_a_window_that_was_discovered_is_not_demanded_of_ollama(
    monkeypatch: pytest.MonkeyPatch, length: str, num_ctx: int | None
) -> None:
    listed = [DiscoveredOllamaModel("qwen:7b", function_calling=True, context_window=262_144)]

    def list_models(_: str) -> list[DiscoveredOllamaModel]:
        return listed

    monkeypatch.setattr("sophon.models.providers.discovery.list_ollama_models", list_models)
    (found,) = providers(environment={"OLLAMA_CONTEXT_LENGTH": length})
    (model,) = found.models
    assert isinstance(model, OllamaModel)
    assert model.options.num_ctx == num_ctx
    assert model.info.context_window == (num_ctx or 262_144)


@pytest.mark.parametrize(
    ("name", "dialect", "asked"),
    [
        ("OPENAI", OpenAI(), ("/proxy/chat/completions", "gpt-5-mini")),
        ("ANTHROPIC", Anthropic(), ("/proxy/v1/messages", "claude-sonnet-4-6")),
    ],
)
async def test_another_address_is_taken_from_the_environment(
    server: Any, kit: Any, name: str, dialect: Any, asked: tuple[str, str]
) -> None:
    (found,) = providers(environment={f"{name}_API_KEY": "o", f"{name}_BASE_URL": f"{server.url}/proxy"})
    seen = await asked_over(found, server, kit, dialect)
    assert (seen.path, seen.body["model"]) == asked


def test_a_model_of_anthropic_has_the_facts_of_the_catalog_and_its_price_of_writing() -> None:
    (found,) = providers({"Id": "x", "Type": "anthropic", "Models": ["claude-sonnet-4-6"], "Keys": ["k"]})
    info = found.models[0].info
    known = lookup_model_info("anthropic", "claude-sonnet-4-6")
    assert (info.max_output_tokens, info.cached_input_price) == (known.max_output_tokens, known.cached_input_price)
    assert info.cached_input_price is not None
    assert info.prices is not None
    assert worst_cost_micros(info, 1_000_000, 0) == round(info.prices[0] * 1.25 * 1e6)


def test_what_was_found_is_told_with_its_reason() -> None:
    lines = [
        (each.provider_id, each.reason) for each in discover_providers({"OPENAI_API_KEY": "o", "GOOGLE_API_KEY": "g"})
    ]
    assert lines == [("openai", "OPENAI_API_KEY is set"), ("gemini", "GOOGLE_API_KEY is set")]
    settings = Settings.from_mapping({"Providers": [{**OPENAI, "Priority": 2}, {"Id": "x", "Type": "offline"}]})
    named = [(each.provider_id, each.reason) for each in select_providers(settings, {})]
    assert named == [("x", "Providers[1] in the settings"), ("mine", "Providers[0] in the settings")]


@table("each", [each for each in PROVIDER_DEFAULTS if each.id != "openrouter"])
def test_the_model_to_begin_with_is_one_that_litellms_table_knows(each: Any) -> None:
    assert lookup_model_info(each.type, each.default_model).prices is not None, "it was renamed or retired"
    assert each.type in list_provider_types()


def test_capabilities_of_the_settings_stand_beside_those_of_the_catalog() -> None:
    given = {**OPENAI, "Capabilities": ["code generation"], "ModelCapabilities": {"gpt-4o": ["fast"]}}
    (found,) = providers(given, environment={"A": "sk-a"})
    first, second = found.models
    assert first.info.capabilities >= {"code generation", "function_calling"}
    assert "fast" not in first.info.capabilities
    assert second.info.capabilities >= {"code generation", "fast", "vision"}


def test_capabilities_of_a_model_that_the_provider_has_not_are_an_error() -> None:
    with pytest.raises(SettingsError, match=r"Providers\[0\].ModelCapabilities: 'gpt-9' is not in Models"):
        Settings.from_mapping({"Providers": [{**OPENAI, "ModelCapabilities": {"gpt-9": ["fast"]}}]})
    with pytest.raises(SettingsError, match="Capabilities"):
        Settings.from_mapping({"Providers": [{**OPENAI, "Capabilities": [" "]}]})


@table(
    ("kind", "given", "reads_tags"),
    [
        ("ollama", {}, True),
        ("openai_compatible", {}, False),
        ("ollama", {"ThinkTags": False}, False),
        ("openai_compatible", {"ThinkTags": True}, True),
    ],
)
def test_tags_are_read_where_local_models_write_them(kind: str, given: dict[str, bool], reads_tags: bool) -> None:
    url = {"BaseUrl": "http://127.0.0.1:9/v1"}
    [provider] = providers({"Id": "p", "Type": kind, "Models": ["m"], **url, **given})
    [model] = provider.models
    assert isinstance(model, OpenAIModel | OllamaModel)
    assert model.has_think_tags is reads_tags

import subprocess
import sys

import pytest

from sophon.models import catalog
from sophon.models.call_cost import cost_micros
from sophon.models.catalog import OWN_TABLE, list_table_types, lookup_model_info
from sophon.models.providers.defaults import PROVIDER_DEFAULTS, ProviderDefaults
from sophon.models.providers.provider_types import needs_litellm
from sophon_hosting.reference.model_table import render_model_table
from tests.tables import table


@table(
    ("kind", "name", "window", "capability"),
    [
        ("openai", "gpt-5-mini", 272_000, "vision"),
        ("anthropic", "claude-sonnet-4-5", 200_000, "reasoning"),
        ("gemini", "gemini-2.5-pro", 1_048_576, "vision"),
        ("google", "gemini-2.5-pro", 1_048_576, "vision"),
        ("ollama", "llama3.1", 8192, "function_calling"),
        ("ollama", "llama3.1:8b", 8192, "function_calling"),
        ("litellm", "mistral/mistral-large-latest", 262_144, "vision"),
    ],
)
def test_a_known_model_has_what_the_table_says(kind: str, name: str, window: int, capability: str) -> None:
    info = lookup_model_info(kind, name)
    assert info.context_window == window
    assert capability in info.capabilities


def test_prices_are_in_dollars_per_million_tokens() -> None:
    assert lookup_model_info("openai", "gpt-5-mini").prices == (0.25, 2.0)


def test_a_local_model_costs_nothing() -> None:
    assert cost_micros(lookup_model_info("ollama", "llama3.1"), 1000, 1000) == 0


@table(("kind", "name"), [("openai", "no-such-model"), ("python", "gpt-5-mini"), ("x", "sample_spec")])
def test_an_unknown_model_has_the_documented_defaults(kind: str, name: str) -> None:
    info = lookup_model_info(kind, name)
    assert (info.context_window, info.function_calling, info.streaming, info.prices) == (128_000, True, True, None)
    assert info.capabilities == {"function_calling", "streaming"}


def test_the_operator_has_the_last_word() -> None:
    info = lookup_model_info("openai", "gpt-5-mini", overrides={"context_window": 1000, "function_calling": False})
    assert info.context_window == 1000
    assert not info.function_calling
    assert "function_calling" not in info.capabilities
    assert "vision" in info.capabilities


def test_a_model_bears_the_id_of_its_provider_in_the_settings() -> None:
    assert lookup_model_info("openai", "gpt-5-mini", provider_id="work").id == "work/gpt-5-mini"


def test_an_override_that_is_no_field_is_refused() -> None:
    with pytest.raises(TypeError, match="windw"):
        lookup_model_info("openai", "gpt-5-mini", overrides={"windw": 1})


def test_neither_the_catalogue_nor_the_gateway_imports_litellm_tenacity_or_tiktoken() -> None:
    code = (
        "import sys; from sophon.models import catalog, gateway; catalog.lookup_model_info('openai', 'gpt-5-mini');"
        "sys.exit(' '.join({'litellm', 'tenacity', 'tiktoken'} & set(sys.modules)) or 0)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def test_the_price_of_cached_input_belongs_to_the_prices_of_the_table() -> None:
    known = lookup_model_info("openai", "gpt-5-mini")
    assert known.prices is not None
    assert known.cached_input_price is not None
    assert 0 < known.cached_input_price < known.prices[0]
    assert lookup_model_info("openai", "gpt-5-mini", overrides={"prices": (1.0, 2.0)}).cached_input_price is None


def test_the_table_for_those_without_litellm_is_made_from_its_own() -> None:
    assert OWN_TABLE.read_text(encoding="utf-8") == render_model_table(), "run `make generate`"


@pytest.fixture
def without_litellm(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(catalog, "_litellm_folder", lambda: None)


DIRECT = [each for each in PROVIDER_DEFAULTS if not needs_litellm(each.type)]


@pytest.mark.parametrize("each", DIRECT, ids=lambda each: each.id)
def test_the_facts_about_a_model_are_the_same_without_litellm(
    each: ProviderDefaults, request: pytest.FixtureRequest
) -> None:
    known, types = lookup_model_info(each.type, each.default_model), list_table_types()
    request.getfixturevalue("without_litellm")
    assert lookup_model_info(each.type, each.default_model) == known
    assert list_table_types() == types

"""Listing of a provider's models: addresses, forms of the answer, prices."""

import json

from hypothesis import given
from hypothesis import strategies as st

from sophon.errors import BadRequest
from sophon.models.providers.http.transport import HttpTransport
from sophon.models.providers.model_listing import (
    MAX_NAME_CHARACTERS,
    answers_messages,
    list_provider_models,
    listing_url,
    parse_model_names,
)
from sophon.settings import ProviderSettings
from tests.tables import table

URLS = [
    ("openai", "https://api.openai.com/v1", "https://api.openai.com/v1/models"),
    ("openai_compatible", "http://h:1/v1/", "http://h:1/v1/models"),
    ("openai_compatible", "http://h/v1/chat/completions", "http://h/v1/models"),
    ("openai_compatible", "http://h/v1?api-version=2", "http://h/v1/models?api-version=2"),
    ("anthropic", "https://api.anthropic.com", "https://api.anthropic.com/v1/models?limit=1000"),
    ("anthropic", "https://h/v1/messages", "https://h/v1/models?limit=1000"),
    ("ollama", "http://127.0.0.1:11434", "http://127.0.0.1:11434/api/tags"),
    ("ollama", "http://127.0.0.1:11434/v1", "http://127.0.0.1:11434/api/tags"),
]


@table(("kind", "base", "url"), URLS)
def test_the_listing_is_below_the_base_url(kind: str, base: str, url: str) -> None:
    assert listing_url(kind, base) == url


BODIES: list[tuple[object, list[str]]] = [
    ({"data": [{"id": "a"}, {"id": "b"}, {"id": "a"}]}, ["a", "b"]),
    ({"models": [{"name": "models/gemini"}, {"name": "llama3:8b"}]}, ["gemini", "llama3:8b"]),
    ([{"id": "x/y"}], ["x/y"]),
    ({"data": [{"id": 5}, {"id": ""}, "text", None, {"id": "line\nbreak"}, {"id": "n" * 201}]}, []),
]


@table(("body", "names"), BODIES)
def test_the_forms_of_an_answer(body: object, names: list[str]) -> None:
    assert parse_model_names(json.dumps(body).encode()) == names


@given(st.binary(max_size=200) | st.from_type(type(None)).map(lambda _: b'{"data": {}}'))
def test_any_other_answer_is_one_error(body: bytes) -> None:
    try:
        names = parse_model_names(body)
    except BadRequest:
        return
    assert all(0 < len(name) <= MAX_NAME_CHARACTERS for name in names)


def test_models_that_answer_no_message_are_left_out() -> None:
    assert answers_messages("gpt-5-mini")
    assert not any(map(answers_messages, ["text-embedding-3-small", "whisper-1", "gpt-image-1", "omni-moderation"]))


async def test_a_provider_without_a_listing_has_the_models_of_the_table_with_prices() -> None:
    settings = ProviderSettings(id="perplexity", type="perplexity")
    found = await list_provider_models(settings, "key", {}, HttpTransport())
    assert not found.is_from_provider
    (sonar,) = [each for each in found.models if each.name == "sonar-pro"]
    assert sonar.prices is not None

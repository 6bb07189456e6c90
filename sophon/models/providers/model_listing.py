"""Listing of a provider's models over its API, with the key that they are listed for."""

from collections.abc import Mapping
from typing import cast
from urllib.parse import urlsplit, urlunsplit

import orjson

from sophon._python.lazy_dataclass import dataclass
from sophon.errors import BadRequest, ProviderUnavailable
from sophon.models.catalog import list_catalog_models, lookup_model_info
from sophon.models.model import Model, ModelInfo
from sophon.models.providers.anthropic.model import ANTHROPIC_URL, API_VERSION, AnthropicModel
from sophon.models.providers.free_private_servers import is_private_server
from sophon.models.providers.http.endpoint import endpoint_from_url
from sophon.models.providers.http.transport import HttpTransport
from sophon.models.providers.ollama.model import OllamaModel
from sophon.models.providers.ollama.request import OllamaOptions
from sophon.models.providers.ollama_discovery import resolve_ollama_url
from sophon.models.providers.openai.dialect import dialect_for_provider
from sophon.models.providers.openai.model import OPENAI_URL, OpenAIModel
from sophon.models.providers.provider_http_error import http_error_from_response
from sophon.models.providers.provider_types import (
    ANTHROPIC,
    COMPATIBLE_URLS,
    OLLAMA,
    OPENAI,
    to_litellm_type,
    to_wire_model,
)
from sophon.models.providers.third_party_json import as_mapping
from sophon.settings import ProviderSettings

MAX_MODELS = 500
"""Models of a provider that are listed; OpenRouter has more than three hundred."""

MAX_REPLY_BYTES = 4 * 1024 * 1024
"""Bytes of a listing that are read."""

MAX_NAME_CHARACTERS = 200

UNLISTED_TYPES = frozenset({"perplexity", "zai", "dashscope", "minimax"})
"""Types without a listing in OpenAI's form: their models are those of the catalogue."""

_NOT_FOR_CHAT = (
    *("embed", "whisper", "tts", "dall-e", "moderation", "transcribe", "realtime", "rerank", "image", "audio"),
    *("sora", "babbage", "davinci", "imagen", "veo", "guard", "ocr", "computer-use"),
)
"""Parts of names of models that answer no message."""

URL_VARIABLES = {
    OPENAI: ("OPENAI_BASE_URL", "OPENAI_API_BASE"),
    ANTHROPIC: ("ANTHROPIC_BASE_URL", "ANTHROPIC_API_BASE"),
    # Gemini's variable is that of another API.
    **{kind: (f"{kind.upper().removesuffix('_AI')}_API_BASE",) for kind in COMPATIBLE_URLS if kind != "gemini"},
    "together_ai": ("TOGETHER_AI_API_BASE",),
}
"""Environment variables for the base URL, as the provider's client and litellm read them; BaseUrl wins."""

_OWN_URLS = {OPENAI: OPENAI_URL, ANTHROPIC: ANTHROPIC_URL, **COMPATIBLE_URLS}


@dataclass(frozen=True, slots=True)
class ModelListing:
    """Models that a provider offers. Those from the catalogue are not listed by the provider: the key is untried."""

    models: tuple[ModelInfo, ...]
    is_from_provider: bool


async def list_provider_models(
    settings: ProviderSettings, key: str | None, environment: Mapping[str, str], transport: HttpTransport
) -> ModelListing:
    """Ask a provider for its models; without an address that lists them, take those of the catalogue.

    Raises ProviderHttpError, ModelTimeout, ProviderUnavailable, BadRequest.
    """
    kind = to_litellm_type(settings.type)
    url = find_base_url(settings, environment)
    if settings.base_url is None and kind in UNLISTED_TYPES:
        url = None
    names = list_catalog_models(kind) if url is None else await _request_names(kind, url, key, transport)
    chosen = names[:MAX_MODELS] if url is None else [each for each in names if answers_messages(each)][:MAX_MODELS]
    facts = {"hosting": "private"} if kind != OLLAMA and is_private_server(kind, url) else {}
    models = tuple(lookup_model_info(kind, name, provider_id=settings.id, overrides=facts) for name in chosen)
    return ModelListing(models, url is not None)


def answers_messages(name: str) -> bool:
    """Return whether a model is one for conversations, by its name; an unknown one counts as such."""
    lower = name.lower()
    return not any(part in lower for part in _NOT_FOR_CHAT)


def listing_url(kind: str, base_url: str) -> str:
    """Return the URL of the listing below the base URL of a provider, whichever part of a path that has already."""
    parts = urlsplit(base_url)
    path = parts.path.rstrip("/")
    for end in ("/messages", "/chat/completions", "/chat"):
        path = path.removesuffix(end)
    if kind == OLLAMA:
        path = f"{path.removesuffix('/v1').removesuffix('/api')}/api/tags"
    else:
        path = f"{path}/v1/models" if kind == ANTHROPIC and not path.endswith("/v1") else f"{path}/models"
    query = parts.query or ("limit=1000" if kind == ANTHROPIC else "")
    return urlunsplit((parts.scheme, parts.netloc, path, query, ""))


def parse_model_names(body: bytes) -> list[str]:
    """Return the names in a listing of OpenAI's, Anthropic's, Ollama's or Together's form. Raises BadRequest."""
    try:
        data = cast(object, orjson.loads(body))
    except orjson.JSONDecodeError:
        raise BadRequest("the answer is no JSON") from None
    found = as_mapping(data)
    rows: object = cast(object, data if isinstance(data, list) else found.get("data", found.get("models")))
    if not isinstance(rows, list):
        raise BadRequest("the answer is no list of models")
    names = [as_mapping(each).get("id") or as_mapping(each).get("name") for each in cast(list[object], rows)]
    texts = [name.removeprefix("models/") for name in names if isinstance(name, str) and name.isprintable()]
    return list(dict.fromkeys(name for name in texts if 0 < len(name) <= MAX_NAME_CHARACTERS))


async def _request_names(kind: str, base_url: str, key: str | None, transport: HttpTransport) -> list[str]:
    endpoint = endpoint_from_url(listing_url(kind, base_url))
    user = object()
    try:
        async with transport.get(user, endpoint, _headers(kind, key), max_reply_bytes=MAX_REPLY_BYTES) as response:
            if response.status >= 300:
                raise http_error_from_response(response.status, response.headers, await response.read())
            if response.media_type == "text/html":
                raise ProviderUnavailable(f"{endpoint.shown_url} answered with a web page; check BaseUrl")
            return parse_model_names(await response.read())
    finally:
        await transport.release(user)


def _headers(kind: str, key: str | None) -> dict[str, str]:
    if kind == ANTHROPIC:
        return {"anthropic-version": API_VERSION} | ({"x-api-key": key} if key else {})
    return {"Authorization": f"Bearer {key}"} if key else {}


def find_base_url(settings: ProviderSettings, environment: Mapping[str, str]) -> str | None:
    """Return the base URL of the settings, else of the environment, else the provider's own; None if there is none."""
    kind = to_litellm_type(settings.type)
    if settings.base_url is not None:
        return settings.base_url
    if kind == OLLAMA:
        return resolve_ollama_url(environment)
    values = (environment.get(name, "").strip() for name in URL_VARIABLES.get(kind, ()))
    return next(filter(None, values), _OWN_URLS.get(kind))


def create_http_model(
    info: ModelInfo, url: str, settings: ProviderSettings, transport: HttpTransport, *, num_ctx: int | None
) -> Model:
    """Create the model of a type in `HTTP_TYPES`; `num_ctx` is the context window that Ollama loads it with."""
    kind = to_litellm_type(settings.type)
    seconds = settings.timeout.total_seconds()
    if settings.type == ANTHROPIC:
        return AnthropicModel(info, base_url=url, timeout_seconds=seconds, transport=transport)
    if settings.type == OLLAMA:
        keep_alive = settings.keep_alive.total_seconds() if settings.keep_alive is not None else None
        return OllamaModel(
            info,
            base_url=url,
            options=OllamaOptions(num_ctx, keep_alive),
            timeout_seconds=seconds,
            has_think_tags=settings.think_tags is not False,
            transport=transport,
        )
    has_think_tags = settings.think_tags is True
    return OpenAIModel(
        info,
        base_url=url,
        timeout_seconds=seconds,
        has_think_tags=has_think_tags,
        transport=transport,
        name=to_wire_model(kind, info.name),
        dialect=dialect_for_provider(kind, info),
    )

"""Creation of the models over the shared HTTP transport, by provider type: their base URLs and options."""

from collections.abc import Mapping

from sophon.models.model import Model, ModelInfo
from sophon.models.providers.anthropic.model import ANTHROPIC_URL, AnthropicModel
from sophon.models.providers.http.transport import HttpTransport
from sophon.models.providers.ollama.model import OllamaModel
from sophon.models.providers.ollama.request import OllamaOptions
from sophon.models.providers.ollama_discovery import resolve_ollama_url
from sophon.models.providers.openai.model import OPENAI_URL, OpenAIModel
from sophon.models.providers.provider_types import ANTHROPIC, OLLAMA, OPENAI, OPENAI_COMPATIBLE
from sophon.settings import ProviderSettings

HTTP_TYPES = frozenset({OPENAI, OPENAI_COMPATIBLE, ANTHROPIC, OLLAMA})
"""Provider types with an adapter over the shared transport."""

URL_VARIABLES = {
    OPENAI: ("OPENAI_BASE_URL", "OPENAI_API_BASE"),
    ANTHROPIC: ("ANTHROPIC_BASE_URL", "ANTHROPIC_API_BASE"),
}
"""Environment variables for the base URL, as the provider's client and litellm read them; BaseUrl wins."""

_OWN_URLS = {OPENAI: OPENAI_URL, ANTHROPIC: ANTHROPIC_URL}


def find_base_url(settings: ProviderSettings, environment: Mapping[str, str]) -> str | None:
    """Return the base URL of the settings, else of the environment, else the provider's own; None if there is none."""
    if settings.base_url is not None:
        return settings.base_url
    if settings.type == OLLAMA:
        return resolve_ollama_url(environment)
    values = (environment.get(name, "").strip() for name in URL_VARIABLES.get(settings.type, ()))
    return next(filter(None, values), _OWN_URLS.get(settings.type))


def create_http_model(
    info: ModelInfo, url: str, settings: ProviderSettings, transport: HttpTransport, *, num_ctx: int | None
) -> Model:
    """Create the model of a type in `HTTP_TYPES`; `num_ctx` is the context window that Ollama loads it with."""
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
    return OpenAIModel(info, base_url=url, timeout_seconds=seconds, has_think_tags=has_think_tags, transport=transport)

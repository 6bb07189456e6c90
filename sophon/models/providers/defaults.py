"""Provider defaults: customary environment variables for the key, and a default model, per provider type."""

from sophon._python.lazy_dataclass import dataclass
from sophon.models.providers.provider_types import ANTHROPIC, OPENAI, to_litellm_type


@dataclass(frozen=True, slots=True)
class ProviderDefaults:
    """Defaults of one provider; of the environment variables for its key, the first that is set is used."""

    id: str
    type: str
    key_variables: tuple[str, ...]
    default_model: str


PROVIDER_DEFAULTS: tuple[ProviderDefaults, ...] = (
    ProviderDefaults("openai", OPENAI, ("OPENAI_API_KEY",), "gpt-5-mini"),
    ProviderDefaults("anthropic", ANTHROPIC, ("ANTHROPIC_API_KEY",), "claude-sonnet-4-6"),
    ProviderDefaults("gemini", "gemini", ("GEMINI_API_KEY", "GOOGLE_API_KEY"), "gemini-flash-latest"),
    ProviderDefaults("mistral", "mistral", ("MISTRAL_API_KEY",), "mistral-medium-latest"),
    ProviderDefaults("groq", "groq", ("GROQ_API_KEY",), "openai/gpt-oss-120b"),
    ProviderDefaults("deepseek", "deepseek", ("DEEPSEEK_API_KEY",), "deepseek-v4-flash"),
    ProviderDefaults("xai", "xai", ("XAI_API_KEY",), "grok-4.3-latest"),
    ProviderDefaults("openrouter", "openrouter", ("OPENROUTER_API_KEY", "OR_API_KEY"), "openai/gpt-5-mini"),
    ProviderDefaults("cohere", "cohere_chat", ("COHERE_API_KEY", "CO_API_KEY"), "command-a-03-2025"),
    ProviderDefaults("together", "together_ai", ("TOGETHERAI_API_KEY", "TOGETHER_API_KEY"), "openai/gpt-oss-120b"),
    ProviderDefaults(
        "fireworks",
        "fireworks_ai",
        ("FIREWORKS_API_KEY", "FIREWORKS_AI_API_KEY"),
        "accounts/fireworks/models/kimi-k3",
    ),
    ProviderDefaults("perplexity", "perplexity", ("PERPLEXITYAI_API_KEY", "PERPLEXITY_API_KEY"), "sonar-pro"),
    ProviderDefaults("cerebras", "cerebras", ("CEREBRAS_API_KEY",), "gpt-oss-120b"),
    ProviderDefaults("moonshot", "moonshot", ("MOONSHOT_API_KEY",), "kimi-k3"),
    ProviderDefaults("zai", "zai", ("ZAI_API_KEY",), "glm-5.2"),
    ProviderDefaults("dashscope", "dashscope", ("DASHSCOPE_API_KEY",), "qwen-plus"),
    ProviderDefaults("minimax", "minimax", ("MINIMAX_API_KEY",), "MiniMax-M3"),
)
"""In order of priority when several keys are set in the environment. Models: from litellm's table of version 1.106."""


def find_provider_defaults(provider_type: str) -> ProviderDefaults | None:
    """Return the defaults of a provider type, under any of its names, or None."""
    name = to_litellm_type(provider_type)
    return next((each for each in PROVIDER_DEFAULTS if each.type == name), None)

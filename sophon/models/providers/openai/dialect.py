"""Dialects of OpenAI's chat completions API: in which fields the requests of compatible providers differ.

Sources: the providers' API references; Gemini API docs, OpenAI compatibility and Thought signatures.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal, cast

from sophon._python.lazy_dataclass import dataclass
from sophon.models.model import ModelInfo

_REASONING_MODELS = re.compile(r"(?:^|/)(?:o\d|gpt-(?:[5-9]|\d\d))(?!.*chat)")

WITHOUT_STREAM_OPTIONS = frozenset({"gemini", "mistral", "perplexity", "cerebras"})
"""Types that report the usage of a stream without being asked. Mistral rejects the question."""
WITHOUT_REASONING = frozenset({"mistral"})
"""Types that reject messages with the reasoning that they have sent."""
WITH_SIMPLE_SCHEMAS = frozenset({"gemini", "mistral"})
"""Types that reject a tool whose JSON Schema has one of `DROPPED_KEYWORDS`."""
WITH_REASONING_APART = frozenset({"gemini", "xai"})
"""Types whose output tokens are without those of the reasoning, which the total has."""
WITH_DATA_URLS_ONLY = frozenset({"gemini"})
"""Types that reject parts of type `file` and read a PDF as an image, and that load no image from its address."""
DROPPED_KEYWORDS = frozenset({"$id", "$schema", "additionalProperties", "strict"})


@dataclass(frozen=True, slots=True)
class OpenAIDialect:
    """Differences between OpenAI-compatible models: name of the output limit field, and what is sent at all.

    `fills_reasoning`: with each tool call of earlier turns `reasoning_content` is demanded, whatever is in it.
    `takes_data_urls_only`: images and documents alike are parts of type `image_url` with a `data:` URL.
    """

    output_limit_field: Literal["max_tokens", "max_completion_tokens"] = "max_tokens"
    accepts_temperature: bool = True
    accepts_stream_options: bool = True
    accepts_reasoning: bool = True
    accepts_all_keywords: bool = True
    fills_reasoning: bool = False
    counts_reasoning_apart: bool = False
    takes_data_urls_only: bool = False


def dialect_for_model(model: str) -> OpenAIDialect:
    """Return the dialect of a model: OpenAI's reasoning models reject `max_tokens` and any temperature."""
    return (
        OpenAIDialect("max_completion_tokens", accepts_temperature=False)
        if _REASONING_MODELS.search(model)
        else OpenAIDialect()
    )


def dialect_for_provider(provider_type: str, info: ModelInfo) -> OpenAIDialect:
    """Return the dialect of a provider's model. Moonshot's reasoning models reject a temperature."""
    reasons = provider_type == "moonshot" and "reasoning" in info.capabilities
    dialect = dialect_for_model(info.name)
    return replace(
        dialect,
        accepts_temperature=dialect.accepts_temperature and not reasons,
        accepts_stream_options=provider_type not in WITHOUT_STREAM_OPTIONS,
        accepts_reasoning=provider_type not in WITHOUT_REASONING,
        accepts_all_keywords=provider_type not in WITH_SIMPLE_SCHEMAS,
        fills_reasoning=reasons,
        counts_reasoning_apart=provider_type in WITH_REASONING_APART,
        takes_data_urls_only=provider_type in WITH_DATA_URLS_ONLY,
    )


def simplify_schema(value: object) -> Any:
    """Return a tool's definition without the keywords of JSON Schema that some providers reject.

    A property may be called like a keyword: the names below `properties` are kept.
    """
    if isinstance(value, Mapping):
        pairs = cast(Mapping[str, object], value).items()
        return {
            key: _simplify_each(each) if key == "properties" else simplify_schema(each)
            for key, each in pairs
            if key not in DROPPED_KEYWORDS
        }
    if isinstance(value, Sequence) and not isinstance(value, str | bytes):
        return [simplify_schema(each) for each in cast(Sequence[object], value)]
    return value


def _simplify_each(properties: object) -> Any:
    if not isinstance(properties, Mapping):
        return properties
    return {name: simplify_schema(each) for name, each in cast(Mapping[str, object], properties).items()}

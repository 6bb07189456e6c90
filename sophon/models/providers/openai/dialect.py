"""Dialects of OpenAI's chat completions API: in which fields the requests of compatible providers differ.

Sources: the providers' API references; Gemini API docs, OpenAI compatibility and Thought signatures.
"""

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Literal

from sophon._python.lazy_dataclass import dataclass
from sophon.models.model import ModelInfo

_REASONING_MODELS = re.compile(r"(?:^|/)(?:o\d|gpt-(?:[5-9]|\d\d))(?!.*chat)")

ToolSchema = Literal["all", "no meta keywords", "openapi"]

WITHOUT_STREAM_OPTIONS = frozenset({"gemini", "mistral", "perplexity", "cerebras"})
"""Types that report the usage of a stream without being asked. Mistral rejects the question."""
WITHOUT_REASONING = frozenset({"mistral"})
"""Types that reject messages with the reasoning that they have sent."""
TOOL_SCHEMAS: Mapping[str, ToolSchema] = {"gemini": "openapi", "mistral": "no meta keywords"}
"""What types accept of the JSON Schema of a tool, if it is not all."""
NEEDS_REASONING = frozenset({"deepseek", "moonshot"})
"""Types whose reasoning models demand `reasoning_content` with the tool calls of earlier turns, too."""
WITH_REASONING_APART = frozenset({"gemini", "xai"})
"""Types whose output tokens are without those of the reasoning, which the total has."""
WITH_DATA_URLS_ONLY = frozenset({"gemini"})
"""Types that reject parts of type `file` and read a PDF as an image, and that load no image from its address."""


@dataclass(frozen=True, slots=True)
class OpenAIDialect:
    """Differences between OpenAI-compatible models: name of the output limit field, and what is sent at all.

    `fills_reasoning`: each reply of a turn with tool calls, also of an earlier one, must have `reasoning_content`,
    whatever is in it.
    `takes_data_urls_only`: images and documents alike are parts of type `image_url` with a `data:` URL.
    """

    output_limit_field: Literal["max_tokens", "max_completion_tokens"] = "max_tokens"
    accepts_temperature: bool = True
    accepts_stream_options: bool = True
    accepts_reasoning: bool = True
    tool_schema: ToolSchema = "all"
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
    reasons = "reasoning" in info.capabilities
    dialect = dialect_for_model(info.name)
    return replace(
        dialect,
        accepts_temperature=dialect.accepts_temperature and not (reasons and provider_type == "moonshot"),
        accepts_stream_options=provider_type not in WITHOUT_STREAM_OPTIONS,
        accepts_reasoning=provider_type not in WITHOUT_REASONING,
        tool_schema=TOOL_SCHEMAS.get(provider_type, "all"),
        fills_reasoning=reasons and provider_type in NEEDS_REASONING,
        counts_reasoning_apart=provider_type in WITH_REASONING_APART,
        takes_data_urls_only=provider_type in WITH_DATA_URLS_ONLY,
    )

"""Usage of a reply as Anthropic reports it: cumulative counts, in parts, with what was read from and written to caches.

Source: Anthropic API reference, Streaming and Prompt caching.
"""

from collections.abc import Mapping

from sophon.messages import Usage
from sophon.models.model import AttemptOutput, ModelInfo
from sophon.models.providers.third_party_json import as_count, as_mapping

_INPUT_FIELDS = ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens")


class UsageReport:
    """The last count of each kind that the provider has reported."""

    __slots__ = ("_counts",)

    def __init__(self) -> None:
        self._counts: dict[str, int] = {}

    def add(self, report: object, *, is_begin: bool = False) -> None:
        """Add a report. That of the begin of a stream (`is_begin`) counts no output yet, whatever it says."""
        usage = as_mapping(report)
        names = _INPUT_FIELDS if is_begin else (*_INPUT_FIELDS, "output_tokens")
        self._counts |= {name: count for name in names if (count := as_count(usage.get(name))) is not None}
        thinking = as_count(as_mapping(usage.get("output_tokens_details")).get("thinking_tokens"))
        if thinking is not None and not is_begin:
            self._counts["thinking_tokens"] = thinking

    def note(self, output: AttemptOutput, model: ModelInfo | None) -> None:
        """Note the usage so far in the attempt's notes, with its cost if all of it is known."""
        usage = to_usage(self._counts, model)
        if usage is not None:
            output.usage = usage
            output.is_half_usage = not (usage.input_tokens and usage.output_tokens)


def to_usage(counts: Mapping[str, int], model: ModelInfo | None = None) -> Usage | None:
    """Return the usage of reported counts; None if there are none, or if one of them cannot be true.

    The cost is set if tokens were written to a cache, which no other field of a usage tells.
    """
    if any(count < 0 for count in counts.values()):
        return None
    tokens_in, tokens_out = sum(counts.get(name, 0) for name in _INPUT_FIELDS), counts.get("output_tokens", 0)
    if not tokens_in and not tokens_out:
        return None
    cached, written = counts.get("cache_read_input_tokens", 0), counts.get("cache_creation_input_tokens", 0)
    reasoned = min(counts.get("thinking_tokens", 0), tokens_out)
    cost = 0
    if model is not None and written and tokens_in and tokens_out:
        cost = model.cost_micros(tokens_in, tokens_out, cached, written)
    return Usage(tokens_in, tokens_out, cost, cached, reasoning_tokens=reasoned)

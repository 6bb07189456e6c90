"""Cost of a model call: its tokens by the prices of the model, in whole micro-USD."""

from sophon.models.model import ModelInfo


def cost_micros(
    model: ModelInfo,
    input_tokens: int,
    output_tokens: int,
    cached_input_tokens: int = 0,
    written_input_tokens: int = 0,
) -> int:
    """Return the cost of the tokens in whole micro-USD, rounded, at least 1 if they cost anything.

    `cached_input_tokens` is the part of the input that has the price of the cache, `written_input_tokens` the part
    that is written to it. 0 when the prices are unknown; see `ModelInfo.is_cost_unknown`.
    """
    if model.prices is None:
        return 0
    cost = input_tokens * model.prices[0] + output_tokens * model.prices[1]
    if cached_input_tokens and model.cached_input_price is not None:
        cost -= cached_input_tokens * (model.prices[0] - model.cached_input_price)
    if written_input_tokens:
        cost += written_input_tokens * model.prices[0] * (model.cache_write_factor - 1)
    # Otherwise any number of very small calls would cost nothing.
    return max(1, round(cost)) if cost > 0 else 0


def worst_cost_micros(model: ModelInfo, input_tokens: int, output_tokens: int) -> int:
    """Return the cost if nothing is in the provider's prompt cache, and all input is written to it."""
    return cost_micros(model, input_tokens, output_tokens, 0, input_tokens)

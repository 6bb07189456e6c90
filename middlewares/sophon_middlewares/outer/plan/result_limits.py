"""Length limits of step results in a plan's prompts, so that all results fit a small window together."""

from sophon.context import Context

WINDOW_SHARE = 0.5
"""Share of the smallest window on the route; the rest is for instructions, the conversation and the answer."""

CHARACTERS_PER_TOKEN = 3
MIN_CHARACTERS = 200


def result_character_limit(ctx: Context, results: int) -> int:
    """Return the characters per result for `results` results in one prompt, at most the limit of a tool result."""
    route = ctx.route if ctx.route is not None else ctx.services.gateway.candidates()
    most = ctx.services.settings.tools.max_result_characters
    window = min((candidate.info.context_window for candidate in route), default=0)
    return divide_window(window, results, most) if window else most


def divide_window(window: int, results: int, max_characters: int) -> int:
    """Divide half the window (in tokens, 3 characters each) equally; the result is between 200 and `max_characters`."""
    share = int(window * WINDOW_SHARE * CHARACTERS_PER_TOKEN) // max(results, 1)
    return min(max_characters, max(MIN_CHARACTERS, share))

"""Length limits of step results in a plan's prompts, so that all results fit a small window together."""

from sophon.context import Context

SHARE = 0.5
"""Share of the smallest window on the route; the rest is for instructions, the conversation and the answer."""

CHARACTERS_PER_TOKEN = 3
LEAST_CHARACTERS = 200


def room_for_each(ctx: Context, results: int) -> int:
    """Return the characters per result for `results` results in one prompt, at most the limit of a tool result."""
    route = ctx.route if ctx.route is not None else ctx.services.gateway.candidates()
    most = ctx.settings.tools.max_result_characters
    window = min((candidate.info.context_window for candidate in route), default=0)
    return share_of(window, results, most) if window else most


def share_of(window: int, results: int, most: int) -> int:
    """Divide half the window (in tokens, 3 characters each) equally; the result is between 200 and `most`."""
    share = int(window * SHARE * CHARACTERS_PER_TOKEN) // max(results, 1)
    return min(most, max(LEAST_CHARACTERS, share))

"""How much of a step's result the prompts of a plan may hold, so that many results fit a small window together."""

from sophon.context import Context

SHARE = 0.5
"""Of the smallest window on the route; the rest is for instructions, the conversation and the answer."""

CHARACTERS_PER_TOKEN = 3
LEAST_CHARACTERS = 200


def room_for_each(ctx: Context, results: int) -> int:
    """Characters for each of so many results in one prompt, at most as many as a tool's result may have."""
    route = ctx.route if ctx.route is not None else ctx.services.gateway.candidates()
    most = ctx.settings.tools.max_result_characters
    window = min((candidate.info.context_window for candidate in route), default=0)
    return share_of(window, results, most) if window else most


def share_of(window: int, results: int, most: int) -> int:
    """The pure rule: half the window (in tokens) at 3 characters a token, in equal parts, between 200 and `most`."""
    room = int(window * SHARE * CHARACTERS_PER_TOKEN) // max(results, 1)
    return min(most, max(LEAST_CHARACTERS, room))

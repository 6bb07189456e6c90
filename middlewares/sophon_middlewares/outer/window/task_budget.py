"""Budget of tokens of a request by the task type of its turn."""

from sophon.context import Context
from sophon.settings import ContextWindowSettings


def find_task_budget(ctx: Context, options: ContextWindowSettings) -> int | None:
    """Return the tokens that a request of the turn may use: those of its task type, else `MaxTokens`; None: no limit.

    The task type is that of classification or routing, else of the keywords of the message.
    """
    if not options.task_tokens:
        return options.max_tokens
    from sophon.learning.task_profile import profile_task  # lazy: few settings need it
    from sophon.routing.turn_keys import TASK_PROFILE

    profile = ctx.get(TASK_PROFILE) or profile_task(ctx.text)
    return options.task_tokens.get(profile.task_type, options.max_tokens)

"""Values by call id that belong to one round of tool calls."""

from typing import Any

from sophon.context import Context


def forget_earlier_rounds(ctx: Context, values: dict[str, Any]) -> None:
    """Remove the values of calls that are not of the last reply: the state of a long turn would grow with them."""
    calls = {call.id for call in ctx.messages[-1].tool_calls} if ctx.messages else set[str]()
    if calls:
        for call_id in [each for each in values if each not in calls]:
            del values[call_id]

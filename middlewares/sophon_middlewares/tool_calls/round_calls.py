"""Values by call id that belong to one round of tool calls."""

from typing import Any

from sophon.context import Context


def forget_earlier_rounds(ctx: Context, values: dict[str, Any]) -> None:
    """Remove the values of calls that are not of the last reply: the state of a long turn would grow with them."""
    if values and ctx.messages and (calls := ctx.messages[-1].tool_calls):
        for call_id in values.keys() - {call.id for call in calls}:
            del values[call_id]

"""Limits of tool calls within a turn, judged for all calls of a reply before one of them runs.

A reply with more calls than `Budget.Turn.ToolCalls` has left ends the turn, and none of its calls runs. A reply with
more calls of a tool than its `max_calls_per_turn` has left gets an error result for each of them; its other calls run.
"""

from collections import Counter
from collections.abc import Mapping, Sequence

from sophon.context import Context
from sophon.errors import BudgetExceeded
from sophon.extensions import Key
from sophon.messages import ToolCall

RESERVED_CALLS: Key[set[str]] = Key("tool_limits.reserved", dump=sorted, load=set)
"""Ids of the calls of the current reply that the tally counts already although they have not started."""

SUSPENDED_CALLS: Key[set[str]] = Key("tool_limits.suspended", dump=sorted, load=set)
"""Ids of the calls that have started, wait for a person, and stay counted until they start again."""


def max_result_characters(ctx: Context, call: ToolCall) -> int:
    """Return the maximum characters of the call's result: the tool's `max_result`, else Tools.MaxResultCharacters."""
    tool = ctx.services.registry.get(call.name)
    return (tool.max_result if tool is not None else None) or ctx.services.settings.tools.max_result_characters


def find_capped_calls(ctx: Context, calls: Sequence[ToolCall]) -> dict[str, str]:
    """Return call id -> error, for the calls of tools of which the reply asks for more than their cap has left."""
    caps: dict[str, int] = {}
    for name in {call.name for call in calls}:
        tool = ctx.services.registry.get(name)
        if tool is not None and tool.max_calls_per_turn is not None:
            caps[name] = tool.max_calls_per_turn
    if not caps:
        return {}
    errors = cap_errors(Counter(call.name for call in calls), caps, ctx.tally.capped_calls)
    return {call.id: errors[call.name] for call in calls if call.name in errors}


def cap_errors(wanted: Mapping[str, int], caps: Mapping[str, int], used: Mapping[str, int]) -> dict[str, str]:
    """Return tool name -> error for the model, for the tools whose wanted calls exceed what their cap leaves."""
    errors: dict[str, str] = {}
    for name, cap in caps.items():
        left = max(0, cap - used.get(name, 0))
        if wanted.get(name, 0) > left:
            remedy = f"Call it at most {left} more times" if left else "Do not call it again in this turn"
            errors[name] = (
                f"{name} may be called {cap} times in a turn, {left} are left, and this reply asks for {wanted[name]}; "
                f"none of them was run. {remedy}"
            )
    return errors


def count_capped_calls(ctx: Context, calls: Sequence[ToolCall]) -> None:
    """Count the calls that are let through against the caps of their tools."""
    for call in calls:
        tool = ctx.services.registry.get(call.name)
        if tool is not None and tool.max_calls_per_turn is not None:
            ctx.tally.capped_calls[call.name] = ctx.tally.capped_calls.get(call.name, 0) + 1


def reserve_calls(ctx: Context, calls: Sequence[ToolCall]) -> None:
    """Count all calls against Budget.Turn.ToolCalls before the first of them runs.

    Calls that a suspended or interrupted turn had reserved or started are not counted again. Raises BudgetExceeded,
    and then reserves none.
    """
    if ctx.meter is None:
        return
    found = ctx.get(RESERVED_CALLS)
    reserved: set[str] = set() if found is None else found
    suspended = ctx.get(SUSPENDED_CALLS)
    counted = reserved if suspended is None else reserved | suspended
    new = [call.id for call in calls if call.id not in counted]
    before = ctx.tally.tool_calls
    for _ in new:
        try:
            ctx.meter.reserve_tool_call()
        except BudgetExceeded as error:
            ctx.tally.tool_calls = before
            if len(new) == 1 or error.used == before:
                raise
            raise BudgetExceeded(error.limit, before, error.allowed, needed=len(new)) from error
        ctx.tally.tool_calls += 1
    ctx.put(RESERVED_CALLS, reserved.union(new))


def start_reserved_call(ctx: Context, call: ToolCall) -> None:
    """Count a call that starts now; one that was reserved, or was suspended, is checked again, but not counted twice.

    Raises BudgetExceeded, also for a time limit that was reached after the reservation.
    """
    for key in (RESERVED_CALLS, SUSPENDED_CALLS):
        counted = ctx.get(key)
        if counted is not None and call.id in counted:
            counted.discard(call.id)
            ctx.tally.tool_calls -= 1
    if ctx.meter is not None:
        ctx.meter.reserve_tool_call()
    ctx.tally.tool_calls += 1


def note_suspended_call(ctx: Context, call: ToolCall) -> None:
    """Note a call that has started and waits for a person, so that it is not counted again when it goes on."""
    suspended = ctx.get(SUSPENDED_CALLS)
    if suspended is None:
        suspended = set[str]()
        ctx.put(SUSPENDED_CALLS, suspended)
    suspended.add(call.id)


def keep_reserved_call(ctx: Context, call: ToolCall) -> None:
    """Keep a call counted that an earlier process has started, and that does not start again."""
    reserved = ctx.get(RESERVED_CALLS)
    if reserved is not None:
        reserved.discard(call.id)


def release_calls(ctx: Context) -> None:
    """Give back the reservations of calls that did not start."""
    reserved = ctx.get(RESERVED_CALLS)
    if reserved:
        ctx.tally.tool_calls -= len(reserved)
        reserved.clear()

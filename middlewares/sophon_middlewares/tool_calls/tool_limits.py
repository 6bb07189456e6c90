"""Limits of tool calls within a turn, judged for all calls of a reply before one of them runs; the time that is left.

A reply with more calls than `Budget.Turn.ToolCalls` has left ends the turn, and none of its calls runs. A reply with
more calls of a tool than its `max_calls_per_turn` has left gets an error result for each of them; its other calls run.
"""

from collections import Counter
from collections.abc import Mapping, Sequence

from sophon._python.lazy_dataclass import dataclass
from sophon.context import Context
from sophon.errors import BudgetExceeded
from sophon.extensions import Key
from sophon.messages import ToolCall

RESERVED_CALLS: Key[set[str]] = Key("tool_limits.reserved", dump=sorted, load=set)
"""Ids of the calls of the current reply that the tally counts already although they have not started."""

SUSPENDED_CALLS: Key[set[str]] = Key("tool_limits.suspended", dump=sorted, load=set)
"""Ids of the calls that have started, wait for a person, and stay counted until they start again."""

SUMMARY_SHARE = 0.1
"""Share of AgentExecution.MaxExecutionTime that is left for the summary: of a short limit, most of it is for work."""

MAX_SUMMARY_SECONDS = 300.0
"""At most this much of it: a slow model writes a summary in that time."""

MIN_SUMMARY_SECONDS = 5.0
"""Time in which no model sums up anything: for less of it no call is stopped."""

STEP_SECONDS = 1800.0
"""Time of work of one attempt at a plan's step, without waits for a person; then it sums up, and has failed."""


@dataclass(frozen=True, slots=True)
class SpentTime:
    """The limit whose time is spent, and the seconds of work of the turn so far."""

    setting: str
    seconds: float

    @property
    def refusal(self) -> str:
        """The result of a tool call that does not start any more."""
        return f"denied: the time of this task is over ({self.setting}, {self.seconds:.0f} seconds of work): sum up"


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


def find_spent_time(ctx: Context) -> SpentTime | None:
    """Return the limit on work because of which the turn starts no further tool call; None while there is time.

    `Budget.Turn.ActiveTime` counts only in a chain with Budget, the time of a host's task in every chain, and
    `STEP_SECONDS` in each try of a plan's step.
    """
    used, settings = ctx.stopwatch.seconds, ctx.services.settings
    if used >= find_last_start(settings.agent_execution.max_execution_time.total_seconds()):
        return SpentTime("AgentExecution.MaxExecutionTime", used)
    if ctx.step is not None and (of_step := _find_step_time(ctx, used)) is not None and of_step[1] >= of_step[0]:
        return SpentTime(f"a step has {STEP_SECONDS / 60:.0f} minutes", of_step[1])
    if ctx.meter is None or (limit := ctx.meter.find_time_limit()) is None:
        return None
    setting, seconds = limit
    return SpentTime(setting, used) if used > seconds else None


def find_last_start(limit_seconds: float) -> float:
    """Return the seconds of work after which no tool call starts, so that there is time to sum up."""
    return limit_seconds - min(limit_seconds * SUMMARY_SHARE, MAX_SUMMARY_SECONDS)


def limit_call_seconds(ctx: Context, seconds: float) -> float:
    """Return the timeout of a tool call that begins now: it ends while there is time to sum up, half of what was left.

    Otherwise a call that runs into the limit would take all that the turn has found with it. Of a short limit there is
    no time to sum up in.
    """
    used = ctx.stopwatch.seconds
    if ctx.step is not None and (of_step := _find_step_time(ctx, used)) is not None:
        seconds = max(min(seconds, of_step[0] - of_step[1]), 0.0)
    limit = ctx.services.settings.agent_execution.max_execution_time.total_seconds()
    for_summary = (limit - find_last_start(limit)) / 2
    if for_summary < MIN_SUMMARY_SECONDS:
        return seconds
    return max(min(seconds, limit - for_summary - used), 0.0)


def _find_step_time(ctx: Context, used: float) -> tuple[float, float] | None:
    """Return the limit of the plan step that runs, and its time so far, in seconds; None outside of a plan."""
    step = ctx.step
    if step is None or step.started_at is None:
        return None
    return STEP_SECONDS, used - step.started_at


def refuse_late_call(ctx: Context, call: ToolCall) -> str | None:
    """Check of a tool call immediately before it runs: one that is due when the time is over does not start."""
    spent = find_spent_time(ctx)
    return None if spent is None else spent.refusal

"""Time of a turn: from when on it only sums up, before a limit on its work ends it."""

from sophon._python.lazy_dataclass import dataclass
from sophon.context import Context
from sophon.messages import ToolCall

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


def find_spent_time(ctx: Context) -> SpentTime | None:
    """Return the limit on work because of which the turn starts no further tool call; None while there is time.

    `Budget.Turn.ActiveTime` counts only in a chain with Budget, the time of a host's task in every chain, and
    `STEP_SECONDS` in each try of a plan's step.
    """
    used, settings = ctx.stopwatch.seconds, ctx.services.settings
    if used >= find_last_start(settings.agent_execution.max_execution_time.total_seconds()):
        return SpentTime("AgentExecution.MaxExecutionTime", used)
    if (of_step := _find_step_time(ctx, used)) is not None and of_step[1] >= of_step[0]:
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
    if (of_step := _find_step_time(ctx, used)) is not None:
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

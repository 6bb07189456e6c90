"""Shield: judges each tool call in tiers, from a policy over heuristics and a model to a person."""

from collections.abc import Awaitable, Callable
from functools import partial
from typing import TypeAlias

from sophon.context import Context
from sophon.events import AgentStatus
from sophon.extensions import Key
from sophon.messages import ToolCall
from sophon_middlewares.guards.guard import Guard, Judgement
from sophon_middlewares.tool_calls.escalations import get_round_values

_STARTED: Key[dict[str, bool]] = Key("shield.started", dump=dict, load=dict)
"""Ids of the calls of the last round whose beginning listeners know of."""


Judge: TypeAlias = Callable[[Context, ToolCall], Awaitable[Judgement | None] | Judgement | None]
"""Returns the judgement of a call, at once or when it is awaited."""


class Shield(Guard):
    """Blocks or escalates calls by the tiers of `sophon.security.shield`.

    Tier 0 is the policy (`Guards.Shield.PolicyFile`) and the safe commands; tier 1 the heuristics, and the classifier
    of `Guards.Shield.Classifier`; tier 2, if it is configured, a model; in tier 3 a person decides, at most
    `QuestionsPerHour` times because of Shield alone. A call that no tier objects to is asked about by its risk, as
    without Shield; with `announces_calls` each call has the status `calling_tool` before it is judged, and every
    verdict is an event. The evaluations of the last minute are kept for the process.
    """

    after = ("AgenticLoop", "ParallelExecution", "Protection")
    before = ("Approval", "ToolExecution", "LlmInvoker")
    acts = {"tool call": "judges it by policy, heuristics and a model: lets it pass, blocks it, or asks a person"}

    def __init__(self, *, announces_calls: bool = False) -> None:
        self._judge_in_tiers: Judge | None = None
        self._announces_calls = announces_calls

    def judge(self, ctx: Context, call: ToolCall) -> Awaitable[Judgement | None] | Judgement | None:
        """Judge the call in tiers."""
        if self._announces_calls and ctx.has_listeners:
            _announce(ctx, call)
        if self._judge_in_tiers is None:
            self._judge_in_tiers = _load_tiers(tells_passed=self._announces_calls)
        return self._judge_in_tiers(ctx, call)


def _announce(ctx: Context, call: ToolCall) -> None:
    """Emit the status of a call that begins, once: a turn that waited for a person judges it again."""
    started = get_round_values(ctx, _STARTED)
    if call.id not in started:
        started[call.id] = True
        ctx.emit(AgentStatus(status="calling_tool", detail=call.name))


def _load_tiers(*, tells_passed: bool) -> Judge:
    # Lazy: the rules need YAML, RE2 and the grammar of the shell.
    from sophon.security.shield.verdict_cache import VerdictCache
    from sophon_middlewares.guards.shield.tier_judgement import judge_in_tiers

    return partial(judge_in_tiers, cache=VerdictCache(), tells_passed=tells_passed)

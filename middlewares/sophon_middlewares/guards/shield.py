"""Shield: judges each tool call in tiers, from a policy over heuristics and a model to a person."""

from collections.abc import Awaitable
from functools import partial

from sophon.chain.pipeline import Next
from sophon.context import Context
from sophon.messages import ToolCall
from sophon_middlewares.guards.judgement import Judge, Judgement, check_edited_calls, judge_round

PASSED = Judgement("allow", "passed", "no tier objects")
"""Verdict on a call that no tier objects to, where such verdicts are announced."""


class Shield:
    """Blocks or escalates calls by the tiers of `sophon.security.shield`.

    Tier 0 is the policy (`Guards.Shield.PolicyFile`) and the safe commands; tier 1 the heuristics, and the classifier
    of `Guards.Shield.Classifier`; tier 2, if it is configured, a model; in tier 3 a person decides, at most
    `QuestionsPerHour` times because of Shield alone. A call that no tier objects to is asked about by its risk, as
    without Shield; with `announces_passes` its verdict is an event, too. The evaluations of the last minute are kept
    for the process.
    """

    zone = "inner"
    unique = True
    calls_next = True
    after = ("AgenticLoop", "ParallelExecution", "Protection")
    before = ("Approval", "ToolExecution", "LlmInvoker")
    requires = ("ToolExecution",)
    settling_only = True
    acts = {"tool call": "judges it by policy, heuristics and a model: lets it pass, blocks it, or asks a person"}

    def __init__(self, *, announces_passes: bool = False) -> None:
        self._judge_in_tiers: Judge | None = None
        self._announces_passes = announces_passes
        self._check = check_edited_calls("Shield", self._judge)

    async def __call__(self, ctx: Context, next: Next, /) -> None:
        judge: Judge = self._judge_and_announce if self._announces_passes else self._judge
        await judge_round(ctx, next, "Shield", judge, self._check)

    async def _judge_and_announce(self, ctx: Context, call: ToolCall) -> Judgement | None:
        found = self._judge(ctx, call)
        judgement = found if found is None or isinstance(found, Judgement) else await found
        return judgement or PASSED

    def _judge(self, ctx: Context, call: ToolCall) -> Awaitable[Judgement | None] | Judgement | None:
        if self._judge_in_tiers is None:
            self._judge_in_tiers = _load_tiers()
        return self._judge_in_tiers(ctx, call)


def _load_tiers() -> Judge:
    # Lazy: the rules need YAML, RE2 and the grammar of the shell.
    from sophon.security.shield.verdict_cache import VerdictCache
    from sophon_middlewares.guards.shield_tiers import judge_in_tiers

    return partial(judge_in_tiers, cache=VerdictCache())

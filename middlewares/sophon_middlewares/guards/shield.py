"""Shield: judges each tool call in tiers, from a policy over heuristics and a model to a person."""

from typing import TYPE_CHECKING

from sophon.chain.pipeline import Next
from sophon.context import Context
from sophon.messages import ToolCall
from sophon_middlewares.guards.judgement import Judgement, judge_round

if TYPE_CHECKING:
    from sophon.security.shield.verdict_cache import VerdictCache


class Shield:
    """Blocks or escalates calls by the tiers of `sophon.security.shield`.

    Tier 0 is the policy (`Guards.Shield.PolicyFile`) and the safe commands; tier 1 the heuristics, and the classifier
    of `Guards.Shield.Classifier`; tier 2, if it is configured, a model; in tier 3 a person decides, at most
    `QuestionsPerHour` times because of Shield alone. A call that no tier objects to is asked about by its risk, as
    without Shield. The evaluations of the last minute are kept for the process.
    """

    zone = "inner"
    unique = True
    calls_next = True
    after = ("AgenticLoop", "ParallelExecution", "Protection")
    before = ("Approval", "ToolExecution", "LlmInvoker")
    requires = ("ToolExecution",)
    acts = {"tool call": "judges it by policy, heuristics and a model: lets it pass, blocks it, or asks a person"}

    def __init__(self) -> None:
        self._evaluations: VerdictCache | None = None

    async def __call__(self, ctx: Context, next: Next, /) -> None:
        await judge_round(ctx, next, "Shield", self._judge)

    async def _judge(self, ctx: Context, call: ToolCall) -> Judgement | None:
        # Lazy: the rules need YAML, RE2 and the grammar of the shell.
        from sophon.security.shield.verdict_cache import VerdictCache
        from sophon_middlewares.guards.shield_tiers import judge_in_tiers

        if self._evaluations is None:
            self._evaluations = VerdictCache()
        return await judge_in_tiers(ctx, call, self._evaluations)

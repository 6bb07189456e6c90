"""Classification: task type, complexity and tier of the message, on the context for routing and learning."""

from sophon.chain.pipeline import Next
from sophon.context import Context
from sophon.context.stage_events import emit_stage
from sophon.learning.complexity import compute_tier
from sophon.learning.complexity_factors import Factors, complexity_factors
from sophon.routing.turn_keys import MESSAGE_VECTOR, TASK_FACTORS, TASK_PROFILE, TASK_TIER


class Classification:
    """Classifies the last message of the user by `Routing.Classification`, and leaves what it found on the context.

    `TASK_PROFILE`: task type, keywords and complexity, which routing uses instead of its own; `TASK_FACTORS`: the seven
    factors with their confidence; `TASK_TIER`: the published tier, one up if the confidence is below `LowConfidence`;
    `MESSAGE_VECTOR` if an embedding was needed. `complexity_boost` is added to the complexity. Behind ToolExecution it
    runs for each model call. Source: reference/clawft.md 3.2.
    """

    zone = "outer"
    unique = True
    calls_next = True
    after = ("SessionEvents", "Learning", "Scoring")
    before = ("CapabilityRouting", "ContextWindow", "ToolFilter", "Planning", "LlmInvoker")
    repeats_after = ("ToolExecution",)
    acts = {"turn": "classifier: finds task type, keywords, complexity and tier of the message"}

    def __init__(self, *, complexity_boost: float = 0.0) -> None:
        self._complexity_boost = complexity_boost

    async def __call__(self, ctx: Context, next: Next, /) -> None:
        router, text = ctx.services.router, ctx.text
        profile, vector = ctx.get(TASK_PROFILE), ctx.get(MESSAGE_VECTOR)
        # The text of a turn never changes: it is classified once, and again only for a boost that the first lacked.
        if profile is None or (self._complexity_boost and ctx.get(TASK_TIER) is None):
            profile, vector = await router.classify(text, vector, complexity_boost=self._complexity_boost)
        factors = (
            Factors(profile.complexity, profile.confidence, profile.factors)
            if profile.factors
            else complexity_factors(text)
        )
        low = router.settings.classification.low_confidence
        tier = compute_tier(profile.complexity, confidence=1.0 if factors.confidence >= low else 0.0)
        ctx.put(TASK_PROFILE, profile)
        ctx.put(TASK_FACTORS, factors)
        ctx.put(TASK_TIER, tier)
        if vector is not None:
            ctx.put(MESSAGE_VECTOR, vector)
        if ctx.has_listeners:
            seven = {name: round(value, 4) for name, value in factors.factors.items()}
            found = profile.to_json() | {"confidence": factors.confidence, "factors": seven, "tier": tier}
            emit_stage(ctx, "classifier", **found)
        await next(ctx)

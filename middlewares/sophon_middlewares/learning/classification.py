"""Classification: task type, complexity and confidence of the message, on the context for routing and learning."""

from sophon.chain.pipeline import Next
from sophon.context import Context
from sophon.routing.context_keys import MESSAGE_VECTOR, TASK_PROFILE
from sophon.turn.stage_events import emit_stage


class Classification:
    """Classifies the last message of the user by `Routing.Classification`, and leaves what it found on the context.

    `TASK_PROFILE`: task type, keywords, complexity with its seven factors and confidence, which routing uses instead of
    its own; `MESSAGE_VECTOR` if an embedding was needed. `complexity_boost` is added to the complexity. Which tier
    follows is the router's to say. Behind ToolExecution it runs for each model call. Source: clawft, KeywordClassifier.
    """

    zone = "outer"
    unique = True
    calls_next = True
    after = ("SessionEvents", "Learning", "Scoring")
    before = ("CapabilityRouting", "ContextWindow", "ToolFilter", "Planning", "LlmInvoker")
    repeats_after = ("ToolExecution",)
    acts = {"turn": "classifier: finds task type, keywords, complexity and confidence of the message"}

    def __init__(self, *, complexity_boost: float = 0.0) -> None:
        self._complexity_boost = complexity_boost

    async def __call__(self, ctx: Context, next: Next, /) -> None:
        profile, vector, boost = ctx.get(TASK_PROFILE), ctx.get(MESSAGE_VECTOR), self._complexity_boost
        # The text of a turn never changes: it is classified once, and again only for a boost that the first lacked.
        if profile is None or profile.boost != boost:
            profile, vector = await ctx.services.learning.router.classify(ctx.text, vector, complexity_boost=boost)
        ctx.put(TASK_PROFILE, profile)
        if vector is not None:
            ctx.put(MESSAGE_VECTOR, vector)
        if ctx.has_listeners:
            seven = {name: round(value, 4) for name, value in profile.factors.items()}
            shown = {name: value for name, value in profile.to_json().items() if name != "boost"}
            emit_stage(ctx, "classifier", **shown | {"factors": seven})
        await next(ctx)

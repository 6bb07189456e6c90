"""Reply redaction: what guard Redaction does, for the model calls outside of the loop: of a turn, and of the host."""

from sophon.chain.pipeline import Next
from sophon.context import Context
from sophon_middlewares.guards.redaction.model_redaction import redact_turn


class ReplyRedaction:
    """Redacts the model calls of the whole turn, such as the one that sums up a plan, and the events of a plan. A host
    puts it in front of its own model calls, too: titles, memories, plans of goals.

    Stands in front of Planning and of PromptToolBridge, which reads tool calls from the text as the model wrote it.
    """

    zone = "outer"
    unique = True
    calls_next = True
    after = ("SessionEvents",)
    before = ("PromptToolBridge", "Planning", "AgenticLoop", "LlmInvoker")
    hooks_model_calls = True
    acts = {"model call": "replaces secrets in what models write outside of the loop, and in plans that are shown"}

    async def __call__(self, ctx: Context, next: Next, /) -> None:
        with redact_turn(ctx):
            await next(ctx)

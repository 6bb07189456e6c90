"""IntentGate: lets a call that has effects run only if words of the person ask for it."""

from sophon.context import Context
from sophon.decisions.actions_taken import matches_any
from sophon.decisions.intent_check import Intent, judge_intent
from sophon.decisions.intent_families import find_family
from sophon.messages import ToolCall
from sophon.risk import Risk
from sophon.turn.provenance import list_person_texts
from sophon_middlewares.guards.guard import Guard, Judgement
from sophon_middlewares.tool_calls.fast_path_call import is_fast_path
from sophon_middlewares.tool_calls.recent_tools import list_recent_tools


class IntentGate(Guard):
    """Blocks a call with effects, or asks a person about it, if nobody has asked for it in words (`Guards.IntentGate`).

    Effects: a risk of Medium and above, and the tools of the families of `sophon.decisions.intent_families` whatever
    their risk; a name that only reads passes. Asked for: by a phrase of the family in the message, by a reference ("do
    it again") to an action of an earlier turn, or by a confirmation of an earlier wish. A mail needs a recipient that
    the person has named. Only what people wrote counts, without what they forwarded, in English, Spanish, German and
    French; what it does not understand it asks about. Source: WASP, policy guards.
    """

    after = ("AgenticLoop", "ParallelExecution")
    before = ("Integrity", "Protection", "Approval", "ToolExecution", "LlmInvoker")
    acts = {"tool call": "blocks or asks about a call with effects that no words of the person ask for"}

    def judge(self, ctx: Context, call: ToolCall) -> Judgement | None:
        """Look for words that ask for the call."""
        settings, tool = ctx.settings.guards.intent_gate, ctx.services.registry.get(call.name)
        # What rules made of the words of the person needs no other words.
        if (
            tool is None
            or is_fast_path(ctx, call)
            or matches_any(call.name, settings.excluded)
            or not has_effects(call.name, tool.risk)
        ):
            return None
        turn = ctx.root
        recent = list_recent_tools(turn.messages[: turn.stored_count])
        return to_judgement(
            judge_intent(call.name, call.arguments, [*list_person_texts(ctx)], recent), asks=settings.on_doubt == "Ask"
        )

    def check(self, ctx: Context, call: ToolCall) -> None:
        """Check nothing before a call runs: one that a person has edited is asked for by that."""


def has_effects(tool: str, risk: Risk) -> bool:
    """Return whether a tool changes something outside of the turn, as far as its risk and its name say."""
    return risk >= Risk.MEDIUM or find_family(tool) not in ("", "file")


def to_judgement(intent: Intent, *, asks: bool) -> Judgement | None:
    """Return the judgement for an intent; None for a call that may run.

    What may have been asked for in words that no rule understands is asked about whatever `asks` says.
    """
    if intent.allowed:
        return None
    return Judgement("escalate" if asks or intent.in_doubt else "block", intent.label, intent.reason)

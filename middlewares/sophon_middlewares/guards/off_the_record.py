"""Off-the-record guard: blocks calls that would leave something behind."""

from sophon.context import Context
from sophon.messages import ToolCall
from sophon.security.off_the_record_tools import describe_refusal, find_off_the_record_refusal
from sophon.tools.declared_action_types import acts_despite_name
from sophon_middlewares.guards.guard import Guard, Judgement

RULE = "off_the_record"


class OffTheRecord(Guard):
    """Blocks every call that is not on the list of `sophon.security.off_the_record_tools`.

    A host puts it into the chain of its conversations off the record, in front of the guards that judge a call's
    arguments and behind RateLimit; no setting turns it off there.
    """

    after = ("AgenticLoop", "ParallelExecution")
    before = ("Integrity", "Protection", "Shield", "Approval", "ToolExecution", "LlmInvoker")
    acts = {"tool call": "refuses calls that would leave something behind, in conversations off the record"}

    def judge(self, ctx: Context, call: ToolCall) -> Judgement | None:
        """Block a call that is not on the list."""
        tool = ctx.services.registry.get(call.name)
        if tool is not None and acts_despite_name(tool):
            refusal: str | None = describe_refusal(call.name)
        else:
            refusal = find_off_the_record_refusal(call.name, call.arguments)
        return None if refusal is None else Judgement("block", RULE, refusal)

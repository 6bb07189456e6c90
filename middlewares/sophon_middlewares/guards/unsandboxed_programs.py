"""Sandbox: asks a person about each program that would run outside a sandbox."""

from collections.abc import Awaitable

from sophon.builtin_tools.programs import SANDBOX_GUARDED, describe_missing
from sophon.chain.pipeline import Next
from sophon.context import Context
from sophon.extensions import Key
from sophon.messages import ToolCall
from sophon.processes.sandbox_probe import probe_sandbox
from sophon_middlewares.guards.guard import Guard, Judgement
from sophon_middlewares.tool_calls.escalations import get_round_values

NO_SANDBOX = "no_sandbox"
"""Rule of a call that would run outside a sandbox."""

SANDBOX_LOST = "sandbox_lost"
"""Rule of a call that was judged on a machine with a sandbox, and is resumed on one without."""

_CONFINED: Key[dict[str, bool]] = Key("sandbox.confined", dump=dict, load=dict)
"""Ids of the calls that were judged to run in the sandbox: whoever approved them has read that they do."""


class Sandbox(Guard):
    """Escalates calls of tools that run programs (`sandboxed`) where the sandbox of `Guards.Sandbox` cannot start.

    A person is then asked, whatever is approved automatically or was granted before. Where the sandbox works, the tools
    run their programs in it by themselves, and this guard says nothing.
    """

    after = ("AgenticLoop", "ParallelExecution")
    before = ("Approval", "ToolExecution", "LlmInvoker")
    settling_only = True
    acts = {"tool call": "asks a person about a program that would run outside a sandbox"}

    async def __call__(self, ctx: Context, next: Next, /) -> None:
        ctx.put(SANDBOX_GUARDED, True)
        await super().__call__(ctx, next)

    def judge(self, ctx: Context, call: ToolCall) -> Awaitable[Judgement | None] | None:
        """Escalate a program that would run outside a sandbox."""
        tool = ctx.services.registry.get(call.name)
        return _judge_program(ctx, call) if tool is not None and tool.sandboxed else None

    def check(self, ctx: Context, call: ToolCall) -> None:
        """Check nothing: the tool itself runs its programs in the sandbox, or fails."""


async def _judge_program(ctx: Context, call: ToolCall) -> Judgement | None:
    sandbox, confined = await probe_sandbox(ctx.settings.guards.sandbox.program), get_round_values(ctx, _CONFINED)
    if not sandbox.problem:
        confined[call.id] = True
        return None
    missing = describe_missing(sandbox)
    if call.id in confined:
        return Judgement("block", SANDBOX_LOST, f"it was judged to run in a sandbox, and now {missing}")
    return Judgement("escalate", NO_SANDBOX, f"{missing}, so it would run with the rights of the host")

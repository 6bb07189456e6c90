"""Custom tools: registers those that changed, and offers a turn only its own user's and the shared ones."""

from sophon.builtin_tools.custom_tool_management import refresh_custom_tools
from sophon.chain.pipeline import Next
from sophon.context import Context
from sophon.processes.sandbox_probe import probe_sandbox
from sophon.turn.permissions import is_owned_by_other

CHECK_SECONDS = 1.0
"""Time after which the folder is looked at again: another process, or the command line, may have changed it."""


class CustomTools:
    """Reads the folder of custom tools anew, at most once per second, and leaves out the tools of other users.

    ToolExecution refuses a call of another user's tool, whatever is offered.
    """

    zone = "outer"
    unique = True
    calls_next = True
    before = ("ToolFilter", "PromptToolBridge", "Planning")
    acts = {"turn": "registers changed custom tools; leaves out those of other users"}

    def __init__(self) -> None:
        self._checked_at: float | None = None

    async def __call__(self, ctx: Context, next: Next, /) -> None:
        store, services = ctx.services.assistant.custom_tools, ctx.services
        if store is not None:
            has_all = ctx.tools is services.registry.tools
            now = services.clock.monotonic()
            if self._checked_at is None:  # the tools say by this whether their programs can run
                await probe_sandbox(services.settings.guards.sandbox.program)
            if self._checked_at is None or now - self._checked_at >= CHECK_SECONDS:
                self._checked_at = now
                disabled = services.settings.tools.disabled
                await services.clock.run_in_thread(lambda: refresh_custom_tools(services.toolbox, store, disabled))
            tools = services.registry.tools if has_all else ctx.tools
            if any(is_owned_by_other(ctx, each) for each in tools):
                ctx.tools = [each for each in tools if not is_owned_by_other(ctx, each)]
            elif has_all:
                ctx.tools = tools
        await next(ctx)

"""Tools on demand: a turn starts with the tool that loads groups of tools, and asks for the others."""

from collections.abc import Mapping
from typing import ClassVar, Final

from sophon.chain.pipeline import Next
from sophon.context import Context
from sophon.extensions import Key
from sophon.turn.permissions import filter_permitted
from sophon_middlewares.outer.tool_filter.tool_filter import note_text_only

FIRST_TOOLS: Final = ("load_tools", "load_skills", "read_skill_file")
"""The tools with which a turn starts, where they exist."""

_STARTED: Key[bool] = Key("tools_on_demand.started", dump=bool, load=bool)


class ToolsOnDemand:
    """Offers `load_tools`, and `load_skills` where there are skills; what they load stays for the turn.

    Each of their calls is a round like any other. A plan step's tool hints are offered, too. Source:
    OpenParallax, reasoning loop, tool groups.
    """

    zone = "outer"
    unique = True
    calls_next = True
    after = ("SessionEvents", "CapabilityRouting", "ContextWindow")
    before = ("PromptToolBridge", "Planning", "AgenticLoop", "LlmInvoker")
    acts: ClassVar[Mapping[str, str]] = {"turn": "offers load_tools only; the groups that it loads stay for the turn"}

    async def __call__(self, ctx: Context, next: Next, /) -> None:
        if not ctx.get(_STARTED):
            ctx.put(_STARTED, True)
            wanted = {*FIRST_TOOLS, *(ctx.step.tool_hints if ctx.step is not None else ())}
            ctx.tools = [tool for tool in filter_permitted(ctx, ctx.tools) if tool.name in wanted]
            note_text_only(ctx)
        await next(ctx)

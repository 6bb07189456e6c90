"""Skills: lists the installed skills in each prompt, and keeps a turn to the tools that the loaded ones allow."""

from collections.abc import Awaitable, Mapping
from typing import ClassVar

from sophon.builtin_tools.skill_scripts import create_script_tools
from sophon.builtin_tools.skills import load_skill_instructions, skill_tools
from sophon.chain.pipeline import Next, Pipeline
from sophon.context import Context
from sophon.errors import ToolError
from sophon.events import SkillsOffered
from sophon.messages import ToolCall
from sophon.models.model import Call, ModelRequest, ModelResponse
from sophon.models.token_counter import TokenCounter
from sophon.skills.catalog import SkillCatalog, SkillSet
from sophon.skills.prompt import SkillList, build_called_section, find_called_skill
from sophon.turn_permissions import find_allowed_tools
from sophon_middlewares.outer.insertion import insert_in_front
from sophon_middlewares.outer.prompt_section import PromptSection

SOURCE = "skills"
"""Source of the tools that skills bring, in the toolbox."""

CHECK_SECONDS = 1.0
"""Time after which the folders are looked at again."""


class Skills:
    """Adds a call layer that puts the list of skills behind the system prompt, within `Skills.PromptTokens`.

    The instructions follow on demand, by the tool `load_skills`, or at once if the message calls the skill by `/name`.
    Folders are read anew when a file has changed, at most once per second; the tools of skills are registered then.
    Once a skill that restricts tools is loaded, requests offer and calls may use only those. The size of the list is
    registered for ContextWindow. Sources: reference/clawdesk.md 1.8, openparallax.md 2.5.
    """

    zone = "outer"
    unique = True
    calls_next = True
    before = ("ToolFilter", "PromptToolBridge", "Planning")
    acts: ClassVar[Mapping[str, str]] = {
        "turn": "reads the folders of skills anew if they have changed",
        "model call": "lists the skills behind the system prompt; offers only the tools that loaded skills allow",
    }

    def __init__(self) -> None:
        self._checked_at: float | None = None
        self._registered: SkillSet | None = None
        """The skills whose tools are registered."""
        self._list: tuple[SkillSet, TokenCounter, SkillList] | None = None
        """The list of the skills, and what it was made from."""

    async def __call__(self, ctx: Context, next: Next, /) -> None:
        catalog = ctx.services.skills
        if catalog is None:
            await next(ctx)
            return
        skills = await self._read(ctx, catalog)
        section = self._find_list(ctx, skills).build_section(ctx.text, ctx.settings.skills.prompt_tokens)
        if skills.enabled and ctx.has_listeners:
            left_out = sorted(section.excluded)
            ctx.emit(SkillsOffered(names=[*section.selected], tokens=section.tokens, left_out=left_out))
        layer = SkillsLayer(ctx, "\n\n".join(filter(None, (section.text, await _load_called(ctx, skills)))))
        with ctx.tool_check(_check), ctx.call_layer(layer, overhead=layer.find_overhead):
            await next(ctx)

    def _find_list(self, ctx: Context, skills: SkillSet) -> SkillList:
        tokens, known = ctx.services.gateway.tokens, self._list
        if known is None or known[0] is not skills or known[1] is not tokens:
            known = self._list = (skills, tokens, SkillList(skills.enabled, tokens.count_text))
        return known[2]

    async def _read(self, ctx: Context, catalog: SkillCatalog) -> SkillSet:
        clock = ctx.services.clock
        if self._checked_at is None or clock.monotonic() - self._checked_at >= CHECK_SECONDS:
            self._checked_at = clock.monotonic()
            await clock.run_in_thread(catalog.read)
        skills = catalog.current
        if skills is not self._registered:
            self._registered = skills
            has_all = ctx.tools is ctx.services.registry.tools
            disabled = ctx.settings.tools.disabled
            tools = skill_tools() if skills.enabled else []
            tools += [tool for skill in skills.enabled.values() for tool in create_script_tools(skill)]
            ctx.services.toolbox.replace(SOURCE, [tool for tool in tools if tool.name not in disabled])
            if has_all:
                ctx.tools = ctx.services.registry.tools
        return skills


class SkillsLayer:
    """The call layer of one turn: adds the section, and removes the tools that loaded skills do not allow."""

    __slots__ = ("_ctx", "_section")

    def __init__(self, ctx: Context, section: str) -> None:
        self._ctx, self._section = ctx, PromptSection(section) if section else None

    def __call__(self, request: ModelRequest, call: Call) -> Awaitable[ModelResponse]:
        allowed = find_allowed_tools(self._ctx)
        if allowed is not None:
            request = request.copy_with(tools=[tool for tool in request.tools if tool.name in allowed])
        return call(request if self._section is None else self._section.add_to(request))

    def find_overhead(self, request: ModelRequest) -> str:
        """Return the text that the layer will add to a request; "" for one that has it."""
        return "" if self._section is None else self._section.find_overhead(request)


async def _load_called(ctx: Context, skills: SkillSet) -> str:
    """Load the skill that the message of a person calls, and return the section with its instructions, or ""."""
    called = find_called_skill(ctx.text, skills.enabled) if not ctx.depth else None
    if called is None:
        return ""
    try:
        return build_called_section(called, await load_skill_instructions(ctx, [called.name]))
    except ToolError as error:
        return f"The user calls the skill {called.name}, which cannot be loaded: {error}. Say so."


async def _check(ctx: Context, call: ToolCall) -> str | None:
    allowed = find_allowed_tools(ctx)
    if allowed is None or call.name in allowed:
        return None
    return f"the loaded skills allow only these tools: {', '.join(sorted(allowed))}; {call.name} may not run"


def add_skills(chain: Pipeline) -> Pipeline:
    """Return the chain with Skills in front of the first middleware that must come after it.

    A chain that has Skills, or none of these middlewares, is returned as it is. Raises CompositionError.
    """
    return insert_in_front(chain, Skills())

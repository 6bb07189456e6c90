"""Skills: lists the installed skills in each prompt, and keeps a turn to the tools that the loaded ones allow."""

from collections.abc import Awaitable, Mapping
from typing import ClassVar

from sophon.builtin_tools.skill_scripts import create_script_tools
from sophon.builtin_tools.skills import skill_tools
from sophon.chain.pipeline import Next, Pipeline
from sophon.context import Context
from sophon.events import SkillsOffered
from sophon.messages import Message, ToolCall
from sophon.models.model import Call, ModelRequest, ModelResponse
from sophon.models.token_counter import TokenCounter
from sophon.skills.catalog import SkillCatalog, SkillSet
from sophon.skills.prompt import SkillList
from sophon.turn_permissions import find_allowed_tools
from sophon_middlewares.outer.insertion import insert_in_front

SOURCE = "skills"
"""Source of the tools that skills bring, in the toolbox."""

CHECK_SECONDS = 1.0
"""Time after which the folders are looked at again."""


class Skills:
    """Adds a call layer that puts the list of skills behind the system prompt, within `Skills.PromptTokens`.

    The instructions follow on demand, by the tool `load_skills`. Folders are read anew when a file has changed, at most
    once per second; the tools of skills are registered then. Once a skill that restricts tools is loaded, requests
    offer and calls may use only those. The size of the list is registered for ContextWindow. Sources:
    reference/clawdesk.md 1.8, openparallax.md 2.5.
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
        layer = SkillsLayer(ctx, section.text)
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

    __slots__ = ("_ctx", "_extended", "_section", "_system")

    def __init__(self, ctx: Context, section: str) -> None:
        self._ctx, self._section = ctx, section
        self._system: Message | None = None
        self._extended: Message | None = None

    def __call__(self, request: ModelRequest, call: Call) -> Awaitable[ModelResponse]:
        allowed = find_allowed_tools(self._ctx)
        if allowed is not None:
            request = request.copy_with(tools=[tool for tool in request.tools if tool.name in allowed])
        if self._section:
            request = request.copy_with(messages=self._add_section(request.messages))
        return call(request)

    def find_overhead(self, request: ModelRequest) -> str:
        """Return the text that the layer will add to a request; "" for one that has it."""
        has_section = self._extended is not None and bool(request.messages) and request.messages[0] is self._extended
        return "" if has_section else self._section

    def _add_section(self, messages: list[Message]) -> list[Message]:
        if not messages or messages[0].role != "system":
            if self._extended is None:
                self._extended = Message("system", self._section)
            return [self._extended, *messages]
        if self._extended is None or self._system is not messages[0]:
            # Once per turn: what was counted and serialised of a message is kept with it.
            self._system = messages[0]
            self._extended = Message("system", f"{messages[0].content}\n\n{self._section}")
        return [self._extended, *messages[1:]]


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

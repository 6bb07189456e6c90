"""Skills: lists the installed skills in each prompt, and keeps a turn to the tools that the loaded ones allow."""

from collections.abc import Awaitable, Mapping, Sequence
from typing import ClassVar

from sophon.builtin_tools.skill_scripts import create_script_tools
from sophon.builtin_tools.skills import LOADED_SKILLS, list_files, load_skill_instructions, note_loaded, skill_tools
from sophon.chain.pipeline import Next
from sophon.context import Context
from sophon.errors import ToolError
from sophon.events import SkillsOffered
from sophon.extensions import Key
from sophon.messages import Message, ToolCall
from sophon.models.model import Call, ModelRequest, ModelResponse
from sophon.models.token_counter import TokenCounter
from sophon.skills.called_skill import build_called_section, find_called_skill
from sophon.skills.catalog import SkillCatalog, SkillSet
from sophon.skills.instruction_selection import InstructionSelector
from sophon.skills.prompt import SkillList, build_instructions
from sophon.turn.permissions import find_allowed_tools
from sophon_middlewares.outer.context_window.request_fitting import ContextWindowLayer, find_window
from sophon_middlewares.outer.context_window.room_filler import ROOM_FILLERS
from sophon_middlewares.prompt.prompt_section import PromptSection, insert_before_last_message
from sophon_middlewares.prompt.system_prompt import add_heading

SOURCE = "skills"
"""Source of the tools that skills bring, in the toolbox."""

CHECK_SECONDS = 1.0
"""Time after which the folders are looked at again."""

HEADER = (
    "<selected_skills>\nInstructions of skills that fit the next message. They are loaded: follow those that apply, "
    "without load_skills."
)

FOOTER = "</selected_skills>"

SELECTED_SKILLS: Key[list[str]] = Key("skills.selected", dump=list, load=list)
"""Names of the skills that were selected for the turn, in their order."""


class SelectedSkills:
    """Call layer of one turn, and what fills the room in its window with instructions; see `RoomFiller`.

    What is chosen for a model stays for the turn, so that its prompt cache stays valid. It stands before the message,
    behind the history, which later turns repeat without it.
    """

    __slots__ = ("_ctx", "_relevant", "_sections", "_selector", "_sizes", "_skills", "_texts", "names")

    def __init__(
        self,
        ctx: Context,
        skills: SkillSet,
        selector: InstructionSelector,
        relevant: Mapping[str, float],
        files: Mapping[str, Sequence[str]],
    ) -> None:
        self._ctx, self._skills, self._selector, self._relevant = ctx, skills, selector, relevant
        self._texts = {name: build_instructions([skills.enabled[name]], {name: its}) for name, its in files.items()}
        count = ctx.services.gateway.tokens.count_text
        self._sizes = {name: count(f"{text}\n\n") for name, text in self._texts.items()}
        self._sections: dict[int, Message | None] = {}
        self.names: Sequence[str] | None = None
        """Names of the skills that were chosen first; for further models some of these are chosen."""

    def fill(self, request: ModelRequest, room: int) -> int:
        """See `RoomFiller.fill`."""
        tokens = self._ctx.services.gateway.tokens
        known = self._sizes if self.names is None else {name: self._sizes[name] for name in self.names}
        frame = tokens.count_message(Message("system", f"{HEADER}\n\n{FOOTER}"))
        names, budget, size = self._select(known, room - frame), room - frame, 0
        message: Message | None = None
        while names:
            text = "\n\n".join([HEADER, *(self._texts[name] for name in names), FOOTER])
            message = Message("system", text)
            size = tokens.count_message(message)
            if size <= room:
                break
            budget -= size - room  # a tokenizer may need more for the whole than for its parts
            names, message, size = self._select(known, budget), None, 0
        self._sections[request.model.context_window] = message
        if self.names is None:
            self.names = names
        return size

    def _select(self, sizes: Mapping[str, int], budget: int) -> Sequence[str]:
        return self._selector.select(self._relevant, sizes, budget) if budget > 0 else ()

    def __call__(self, request: ModelRequest, call: Call) -> Awaitable[ModelResponse]:
        section = self._sections.get(request.model.context_window)
        if section is None:
            return call(request)
        return call(request.copy_with(messages=insert_before_last_message(request.messages, section)))

    def find_overhead(self, request: ModelRequest) -> str:
        """Return the text that the layer will add to a request."""
        section = self._sections.get(request.model.context_window)
        return "" if section is None else section.content


class Skills:
    """Adds a call layer that puts the list of skills behind the system prompt, within `Skills.PromptTokens`.

    The instructions follow on demand, by the tool `load_skills`, or at once if the message calls the skill by `/name`.
    With `Skills.Instructions` `Selected` those that the message is about are before it, as far as the window has room.
    Folders are read anew when a file has changed, at most once per second; the tools of skills are registered then.
    Once a skill that restricts tools is loaded, requests offer and calls may use only those. The size of the list is
    registered for ContextWindow. Sources: ClawDesk, skill selection; OpenParallax, compaction.
    """

    zone = "outer"
    unique = True
    calls_next = True
    before = ("ToolFilter", "ToolSplit", "ToolsOnDemand", "PromptToolBridge", "Planning")
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
        self._selector: tuple[SkillSet, InstructionSelector] | None = None

    async def __call__(self, ctx: Context, next: Next, /) -> None:
        catalog = ctx.services.assistant.skills
        if catalog is None:
            await next(ctx)
            return
        skills = await self._read(ctx, catalog)
        section = self._find_list(ctx, skills).build_section(ctx.text, ctx.settings.skills.prompt_tokens)
        if skills.enabled and ctx.has_listeners:
            left_out = sorted(section.excluded)
            ctx.emit(SkillsOffered(names=[*section.selected], tokens=section.tokens, left_out=left_out))
        shown = "\n\n".join(filter(None, (section.text, await _load_called(ctx, skills))))
        layer = SkillsLayer(ctx, add_heading(ctx, shown))
        with ctx.tool_check(_check), ctx.call_layer(layer, overhead=layer.find_overhead):
            window = find_window(ctx)
            selected = None if window is None else await self._select(ctx, skills)
            if window is None or selected is None:
                await next(ctx)
                return
            with ctx.call_layer(selected, overhead=selected.find_overhead):
                _load_what_fits(ctx, skills, selected, window)
                await next(ctx)

    async def _select(self, ctx: Context, skills: SkillSet) -> SelectedSkills | None:
        """Return the instructions that the message needs; None if the model loads them, and in a plan step."""
        if ctx.settings.skills.instructions != "Selected" or ctx.depth:
            return None
        known = self._selector
        if known is None or known[0] is not skills:
            known = self._selector = (skills, InstructionSelector(skills.enabled))
        return await find_selected(ctx, skills, known[1])

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


def _load_what_fits(ctx: Context, skills: SkillSet, selected: SelectedSkills, window: ContextWindowLayer) -> None:
    """Choose the instructions for the first model that is asked, before the tools of the turn are split."""
    ctx.put(ROOM_FILLERS, [selected, *(ctx.get(ROOM_FILLERS) or ())])
    window.prepare(ctx.request([*ctx.messages], purpose="reply", tools=ctx.tools))
    load_selected(ctx, skills, selected)


async def _check(ctx: Context, call: ToolCall) -> str | None:
    allowed = find_allowed_tools(ctx)
    if allowed is None or call.name in allowed:
        return None
    return f"the loaded skills allow only these tools: {', '.join(sorted(allowed))}; {call.name} may not run"


async def find_selected(ctx: Context, skills: SkillSet, selector: InstructionSelector) -> SelectedSkills | None:
    """Return the layer for the skills that the message is about; None without any. A resumed turn has those it had."""
    earlier = ctx.get(SELECTED_SKILLS)
    relevant = selector.find_relevant(ctx.text)
    if earlier is not None:
        relevant = {name: worth for name, worth in relevant.items() if name in earlier}
    else:
        loaded = ctx.get(LOADED_SKILLS) or ()
        relevant = {name: worth for name, worth in relevant.items() if name not in loaded}
    if not relevant:
        return None
    candidates = [skills.enabled[name] for name in selector.list_candidates(relevant)]
    files = await ctx.services.clock.run_in_thread(lambda: {each.name: list_files(each) for each in candidates})
    return SelectedSkills(ctx, skills, selector, relevant, files)


def load_selected(ctx: Context, skills: SkillSet, selected: SelectedSkills) -> None:
    """Note the chosen skills as loaded, once per turn."""
    if selected.names and ctx.get(SELECTED_SKILLS) is None:
        ctx.put(SELECTED_SKILLS, [*selected.names])
        note_loaded(ctx, [skills.enabled[name] for name in selected.names])

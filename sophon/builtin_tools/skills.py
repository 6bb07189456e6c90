"""Built-in tools `load_skills` and `read_skill_file`: instructions of skills on demand."""

from collections.abc import Sequence
from typing import Annotated, Final

from sophon._python.value_rules import ValueRules
from sophon.builtin_tools.files import DEFAULT_PAGE_CHARACTERS, MAX_PAGE_CHARACTERS, decode_text_file, format_page
from sophon.builtin_tools.sandboxed_folder import SandboxedFolder
from sophon.context import Context
from sophon.errors import ToolError
from sophon.events import SkillLoaded
from sophon.extensions import Key
from sophon.skills.catalog import SkillSet, list_with_requirements
from sophon.skills.prompt import build_instructions
from sophon.skills.skill_package import SKILL_FILE, SkillPackage
from sophon.skills.tool_manifest import MANIFEST_NAMES
from sophon.tools.tool import Risk, Tool, tool
from sophon.turn.permissions import RESTRICTED_TOOLS, filter_permitted

LOADED_SKILLS: Key[list[str]] = Key("skills.loaded", dump=list, load=list)
"""Names of the skills that the turn has loaded, in their order."""

MAX_LISTED_FILES: Final = 50
"""Further files of a skill that its instructions list."""


@tool(deferred=True, risk=Risk.NONE, idempotent=True, max_result=60_000, tags=("skill", "skills", "instructions"))
async def load_skills(ctx: Context, names: Annotated[list[str], ValueRules(min_length=1, max_length=8)]) -> str:
    """Read the instructions of skills for particular tasks before you begin with one.

    Args:
        names: Names of skills, as they are listed.
    """
    return await load_skill_instructions(ctx, names)


async def load_skill_instructions(ctx: Context, names: Sequence[str]) -> str:
    """Load skills into the turn, with those that they require, and return their instructions. Raises ToolError."""
    skills = _find_skills(ctx)
    order: list[str] = []
    for name in names:
        _check_enabled(name.strip(), skills)
        order += [each for each in list_with_requirements(name.strip(), skills.skills) if each not in order]
    loaded = [skills.skills[name] for name in order]
    for skill in loaded:
        _check_enabled(skill.name, skills)
    files = await ctx.services.clock.run_in_thread(lambda: {skill.name: list_files(skill) for skill in loaded})
    text = build_instructions(loaded, files)
    note_loaded(ctx, loaded)
    return text


def note_loaded(ctx: Context, loaded: Sequence[SkillPackage]) -> None:
    """Note that the instructions of skills are in the turn: its tools are those that they allow and bring."""
    ctx.put(LOADED_SKILLS, [*dict.fromkeys([*(ctx.get(LOADED_SKILLS) or ()), *(each.name for each in loaded)])])
    _restrict_tools(ctx, loaded)
    _offer_tools(ctx, loaded)
    for skill in loaded:
        ctx.emit(SkillLoaded(name=skill.name, tokens=ctx.services.gateway.tokens.count_text(skill.instructions)))


@tool(deferred=True, risk=Risk.NONE, idempotent=True, tags=("skill", "skills"))
async def read_skill_file(
    ctx: Context,
    skill: str,
    path: str,
    offset: Annotated[int, ValueRules(ge=0)] = 0,
    limit: Annotated[int, ValueRules(ge=1, le=MAX_PAGE_CHARACTERS)] = DEFAULT_PAGE_CHARACTERS,
) -> str:
    """Read a further file of a loaded skill.

    Args:
        skill: The name of the skill.
        path: Relative to the folder of the skill, such as references/forms.md.
        offset: The character to start at; use it to continue a previous read.
        limit: Maximum number of characters.
    """
    skills = _find_skills(ctx)
    _check_enabled(skill, skills)
    if skill not in (ctx.get(LOADED_SKILLS) or ()):
        raise ToolError(f"the skill {skill!r} is not loaded in this turn; call load_skills first")
    folder = skills.skills[skill].folder
    content = await ctx.services.clock.run_in_thread(lambda: SandboxedFolder(folder).read(path))
    return format_page(decode_text_file(content, path), offset, limit)


@tool(name="skills.list", deferred=True, risk=Risk.NONE, idempotent=True, tags=("skill", "skills", "list"))
async def list_skills(ctx: Context) -> str:
    """List the skills that can be loaded, with what they are for."""
    skills = _find_skills(ctx)
    return "\n".join(f"- {name}: {skill.description}" for name, skill in skills.enabled.items())


def skill_tools() -> list[Tool]:
    """Return the tools that are registered where there are skills."""
    return [load_skills, read_skill_file, list_skills]


def list_files(skill: SkillPackage) -> list[str]:
    """Return the paths of the further files of a skill, at most `MAX_LISTED_FILES`. Blocks."""
    found: list[str] = []
    for path in sorted(skill.folder.rglob("*")):
        relative = path.relative_to(skill.folder)
        if any(part.startswith(".") for part in relative.parts) or path.is_symlink() or not path.is_file():
            continue
        if str(relative) not in (SKILL_FILE, *MANIFEST_NAMES):
            found.append(relative.as_posix())
        if len(found) == MAX_LISTED_FILES:
            break
    return found


def _find_skills(ctx: Context) -> SkillSet:
    if ctx.services.assistant.skills is None:
        raise ToolError("there are no skills here")
    return ctx.services.assistant.skills.current


def _check_enabled(name: str, skills: SkillSet) -> None:
    if name not in skills.enabled:
        known = ", ".join(skills.enabled) or "none"
        why = "is switched off" if name in skills.skills else "does not exist"
        raise ToolError(f"the skill {name!r} {why}; the skills are: {known[:1000]}")


def _restrict_tools(ctx: Context, loaded: Sequence[SkillPackage]) -> None:
    """Restrict the rest of the turn to the tools that the loaded skills allow, if any of them names some.

    Names that no tool has do not count: skills are written for several products.
    """
    named = [name for skill in loaded for name in skill.allowed_tools or ()]
    known = [name for name in named if name in ctx.services.registry]
    if known:
        own = [tool.name for skill in loaded for tool in _own_tools(ctx, skill)]
        ctx.put(RESTRICTED_TOOLS, [*dict.fromkeys([*(ctx.get(RESTRICTED_TOOLS) or ()), *known, *own])])


def _offer_tools(ctx: Context, loaded: Sequence[SkillPackage]) -> None:
    # A list is the tool filter's selection, shared by the turn's branches; otherwise all tools are offered already.
    if isinstance(ctx.tools, list):
        wanted = [read_skill_file, *(tool for skill in loaded for tool in _own_tools(ctx, skill))]
        registered = ctx.services.registry.tools
        named = {name for skill in loaded for name in skill.allowed_tools or ()}
        wanted += [tool for tool in ctx.services.registry if tool.name in named]
        ctx.tools.extend(tool for tool in filter_permitted(ctx, wanted) if tool in registered and tool not in ctx.tools)


def _own_tools(ctx: Context, skill: SkillPackage) -> list[Tool]:
    return ctx.services.registry.groups().get(skill.name, []) if skill.manifest is not None else []

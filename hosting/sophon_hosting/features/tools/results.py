"""Results of tools: tools, custom tools, groups of tools, skills."""

from typing import Any, NotRequired

from sophon._python.lazy_typed_dict import TypedDict
from sophon.messages import ToolCallOutcome
from sophon.risk import RiskLabel
from sophon.skills.custom_tools import CustomTool, UnusableCustomTool
from sophon.skills.skill_package import SkillPackage
from sophon.tools.tool import Tool
from sophon_hosting.events.last_tool_errors import ToolError


class ToolView(TypedDict):
    """A tool that the user may use, with the JSON Schema of its arguments."""

    name: str
    description: str
    risk: RiskLabel
    group: str
    tags: list[str]
    editable: bool
    parameters: dict[str, Any]


class ToolErrorView(TypedDict):
    """How a call of a tool last failed."""

    at: str
    outcome: ToolCallOutcome
    text: str


class ListedTool(ToolView):
    """A tool with the last error in a session of the user."""

    last_error: ToolErrorView | None


class CustomToolView(TypedDict):
    """A custom tool without its program; `problem` says why one cannot be used, whose facts are then unknown. The
    folder is for operators only.
    """

    name: str
    description: str
    risk: str
    enabled: bool
    shared: bool
    owner: str
    created_at: NotRequired[str]
    sources: NotRequired[list[str]]
    folder: NotRequired[str]
    problem: NotRequired[str]


class ToolList(TypedDict):
    """The tools that the user may use, the number of others, and the user's custom tools."""

    items: list[ListedTool]
    version: str
    hidden: int
    custom: list[CustomToolView]


class ToolsVersion(TypedDict):
    """Version of the tools that the user may use; it changes with anything that a client is told of them."""

    version: str


class ToolGroup(TypedDict):
    """A group of tools that a turn can load, with the names of its tools."""

    group: str
    tools: list[str]


class ToolGroupList(TypedDict):
    """The groups of tools."""

    items: list[ToolGroup]


class ChangedCustomTool(TypedDict):
    """State of a custom tool after a change."""

    name: str
    enabled: bool
    shared: bool


class DeletedCustomTool(TypedDict):
    """The custom tool that was deleted."""

    name: str


class SkillView(TypedDict):
    """A skill; `tokens` is the length of its instructions, `callable` says that a person may call it with `/name`."""

    name: str
    description: str
    callable: bool
    argument_hint: str
    requires: list[str]
    allowed_tools: list[str] | None
    tools: list[str]
    enabled: bool
    tokens: int


class SkillList(TypedDict):
    """The skills, and for operators the problems of their files."""

    items: list[SkillView]
    problems: list[str]


def tool_to_json(tool: Tool) -> ToolView:
    """Return a tool as JSON."""
    return {
        "name": tool.name,
        "description": tool.description,
        "risk": tool.risk.label,
        "group": tool.group,
        "tags": list(tool.tags),
        "editable": tool.editable,
        "parameters": dict(tool.parameters),
    }


def tool_error_to_json(error: ToolError) -> ToolErrorView:
    """Return the last error of a tool as JSON."""
    return {"at": error.at.isoformat(), "outcome": error.outcome, "text": error.text}


def custom_tool_to_json(tool: CustomTool | UnusableCustomTool, *, has_folder: bool = True) -> CustomToolView:
    """Return a custom tool as JSON, without its program; one that cannot be used has its `problem`."""
    if isinstance(tool, UnusableCustomTool):
        found: CustomToolView = {
            "name": tool.full_name,
            "description": "",
            "risk": "",
            "enabled": False,
            "shared": False,
            "owner": tool.owner,
            "problem": tool.problem,
        }
    else:
        found = {
            "name": tool.full_name,
            "description": tool.script.description,
            "risk": tool.script.risk,
            "enabled": tool.is_enabled,
            "shared": tool.is_shared,
            "owner": tool.owner,
            "created_at": tool.created_at,
            "sources": [*tool.sources],
        }
    if has_folder:
        found["folder"] = str(tool.folder)
    return found


def skill_to_json(skill: SkillPackage, *, enabled: bool, tokens: int) -> SkillView:
    """Return a skill as JSON."""
    return {
        "name": skill.name,
        "description": skill.description,
        "callable": skill.is_callable,
        "argument_hint": skill.argument_hint,
        "requires": [*skill.requires],
        "allowed_tools": None if skill.allowed_tools is None else [*skill.allowed_tools],
        "tools": [f"{skill.name}.{each.name}" for each in skill.manifest.tools] if skill.manifest is not None else [],
        "enabled": enabled,
        "tokens": tokens,
    }

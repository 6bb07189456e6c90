"""Names of the tools of Sophon that are not registered from the start: a setting, a host or a skill brings them."""

CUSTOM_TOOL_TOOLS = tuple(f"tools.{each}" for each in ("list", "create", "update", "enable", "disable", "delete"))
"""Names of the tools of `CustomTools.Enabled`."""

SCHEDULE_TOOLS = tuple(f"schedules.{each}" for each in ("add", "list", "remove", "pause", "resume"))
"""Names of the tools of `Schedules.Enabled`, which a host registers."""

GOAL_TOOLS = tuple(f"goals.{each}" for each in ("create", "list", "show", "pause", "resume", "cancel"))
"""Names of the tools of `Goals.Enabled`."""

LATER_TOOLS = (
    *("agents.cancel", "agents.list", "agents.run", "chat.send_file", "load_skills", "read_skill_file"),
    "skills.list",
    *("variables.set", *CUSTOM_TOOL_TOOLS, *SCHEDULE_TOOLS, *GOAL_TOOLS),
)
"""Names of tools that are registered later or only where there are skills, which Tools.Disabled may name too."""

CUSTOM_TOOL_PREFIX = "custom."
"""Beginning of the names of custom tools, which users and models make."""

"""Which middlewares follow the settings of a program: without one of them, what is set does nothing."""

from collections.abc import Iterator

from sophon.settings import BudgetSettings, Settings
from sophon.settings.types.section import SettingsSection, to_pascal_case

_ROUTING = ("CapabilityRouting", "Classification")
_STAGES: dict[str, tuple[str, ...]] = {
    "approval": ("Approval",),
    "context_window": ("ContextWindow",),
    "planning": ("Planning",),
    "routing": _ROUTING,
    "tool_filter": ("ToolFilter",),
}
"""Sections of which each setting is followed by the same middlewares."""

_MEMORY_FIELDS = ("directory", "prompt_tokens", "file_tokens", "daily_log")
"""What is set of Memory for the prompt; the tools follow the rest."""


def find_expected_stages(settings: Settings) -> dict[str, tuple[str, ...]]:
    """Return the settings that are set and want something, each with the middlewares of which one follows it."""
    found: dict[str, tuple[str, ...]] = {path: (path.rpartition(".")[2],) for path in _list_guards(settings)}
    if "Guards.Authorization" in found:
        found["Guards.Authorization"] = ("Authorization", "ToolExecution")  # which refuses without the guard, too
    for path in _list_limits(settings.budget):
        found[path] = ("Budget",)
    for section, stages in _STAGES.items():
        if section != "planning" or (settings.planning.mode != "Never" and settings.planning.max_depth):
            found |= dict.fromkeys(_list_set(to_pascal_case(section), getattr(settings, section)), stages)
    switches = (
        ("Agents.Directory", settings.agents.directory is not None, "Agents"),
        ("Agents.Worker", settings.agents.worker, "Agents"),
        ("Skills.Directories", "directories" in settings.skills.model_fields_set, "Skills"),
        ("CustomTools.Enabled", settings.custom_tools.enabled, "CustomTools"),
        ("Decisions.Enabled", settings.decisions.enabled, "DecisionLayer"),
        ("Learning.Enabled", bool(settings.learning.enabled), "Learning"),
        ("Preferences", settings.preferences.enabled and bool(settings.preferences.model_fields_set), "Preferences"),
        ("Replies.Validator.Enabled", settings.replies.validator.enabled, "ResponseValidator"),
        ("Replies.Announcer.Enabled", settings.replies.announcer.enabled, "ActionAnnouncer"),
        ("Replies.UrlOutcomes", settings.replies.url_outcomes, "UrlOutcomes"),
        ("Traces.Enabled", settings.traces.enabled and "enabled" in settings.traces.model_fields_set, "Trace"),
    )
    found |= {path: (stage,) for path, is_wanted, stage in switches if is_wanted}
    if settings.memory.enabled:
        found |= {
            f"Memory.{to_pascal_case(field)}": ("Memory",)
            for field in _MEMORY_FIELDS
            if field in settings.memory.model_fields_set and getattr(settings.memory, field)
        }
    return found


def _list_guards(settings: Settings) -> Iterator[str]:
    guards = settings.guards
    for field in sorted(guards.model_fields_set):
        if getattr(getattr(guards, field), "enabled", False):
            yield f"Guards.{to_pascal_case(field)}"


def _list_limits(budget: BudgetSettings) -> Iterator[str]:
    """Yield each limit that is set; a null lifts one."""
    yield from _list_set("Budget.Turn", budget.turn)
    for field in ("providers", "task_types"):
        if field in budget.model_fields_set:
            for key, entry in getattr(budget, field).items():
                yield from _list_set(f"Budget.{to_pascal_case(field)}.{key}", entry)


def _list_set(path: str, section: SettingsSection) -> Iterator[str]:
    """Yield the path of each setting of a section that is set, and not to null."""
    for field in sorted(section.model_fields_set):
        if getattr(section, field) is not None:
            yield f"{path}.{to_pascal_case(field)}"

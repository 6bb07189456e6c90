"""Chain defaults: the constants of a published pipeline, where the host has not set its own."""

from collections.abc import Mapping
from copy import copy
from typing import Any, ClassVar, TypeAlias, TypeVar

from sophon.chain.pipeline import Next
from sophon.context import Context
from sophon.settings import Settings
from sophon.settings.types.section import SettingsSection

Defaults: TypeAlias = Mapping[str, "Mapping[str, Any]"]
"""Values of settings by their Python names, a mapping for each section: `{"tools": {"max_parallel": 4}}`."""

S = TypeVar("S", bound=SettingsSection)


class ChainDefaults:
    """Gives the turn settings in which those that the host has left to their defaults have the chain's values.

    It must stand in front of all that reads them. What was set in a file, the environment or on the command line stays;
    constants of the host's own chain do not, where this one serves a task type, an agent or a replay.
    """

    zone = "outer"
    unique = True
    calls_next = True
    after = ("SessionEvents",)
    before = ("Budget", "CapabilityRouting", "ContextWindow", "ToolFilter", "ToolSplit", "Planning", "AgenticLoop")
    acts: ClassVar[Mapping[str, str]] = {"turn": "sets the published constants where the host has set none"}

    def __init__(self, defaults: Defaults) -> None:
        self._defaults = defaults
        self._last: tuple[Settings, Settings] | None = None
        """The settings that were completed last, and what came of them: a host has the same for all turns."""

    def apply_to(self, settings: Settings, /) -> Settings:
        """Return the settings as the turns of the chain have them."""
        return complete_settings(settings, self._defaults)

    async def __call__(self, ctx: Context, next: Next, /) -> None:
        settings = ctx.settings
        last = self._last
        if last is None or (last[0] is not settings and last[1] is not settings):
            last = self._last = (settings, complete_settings(settings, self._defaults))
        if last[1] is not settings:
            services: Any = copy(ctx.services)
            services.settings = last[1]
            ctx.services = services
        await next(ctx)


def complete_settings(settings: Settings, defaults: Defaults) -> Settings:
    """Return the settings with the defaults of a chain for what was not set; the settings themselves if they have them.

    Those of another chain, which completed the settings before, are gone. A chain may have defaults for sections of a
    host, which settings made in code lack.
    """
    knows_all = defaults.keys() <= type(settings).model_fields.keys()
    return _complete(settings if knows_all else settings.with_all_sections(), defaults)


def _complete(section: S, defaults: Mapping[str, Any]) -> S:
    sections: dict[str, SettingsSection] = {}
    values: dict[str, Any] = {}
    for name in type(section).model_fields:
        current = getattr(section, name)
        if isinstance(current, SettingsSection):
            completed = _complete(current, defaults.get(name, {}))
            if completed is not current:
                sections[name] = completed
        elif name in defaults and name not in section.model_fields_set:
            values[name] = defaults[name]
    before = section.replaced_defaults
    if not sections and all(getattr(section, name) == value for name, value in {**before, **values}.items()):
        return section
    return section.replace_defaults(values, sections=sections)

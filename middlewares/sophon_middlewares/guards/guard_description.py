"""Description of the guards for people: which stand, where, what each does, and by which rules.

A guard says more about its rules with a method `describe(services)`, which returns tables (`DescribesRules`).
"""

from collections.abc import Mapping, Sequence
from typing import Any, Protocol, runtime_checkable

from sophon._python.lazy_dataclass import dataclass
from sophon.chain.explanation import format_rows
from sophon.chain.order_constraints import get_middleware_name, read_order_constraints
from sophon.chain.pipeline import Pipeline
from sophon.services import Services
from sophon.settings import GuardsSettings, Settings


@dataclass(frozen=True, slots=True)
class RuleTable:
    """Table of rules for people: a title, the names of the columns, and rows of as many texts."""

    title: str
    columns: Sequence[str]
    rows: Sequence[Sequence[str]]

    def to_json(self) -> dict[str, Any]:
        """Return JSON-serialisable data."""
        return {"title": self.title, "columns": list(self.columns), "rows": [list(row) for row in self.rows]}


@runtime_checkable
class DescribesRules(Protocol):
    """Protocol of a guard that has rules to show. The tables may name other users: only operators see them."""

    def describe(self, services: Services, /) -> Sequence[RuleTable]:
        """Return the rules that are in force; without I/O."""
        ...


@runtime_checkable
class CompletesSettings(Protocol):
    """Protocol of a middleware that gives turns other settings than those of the host, as ChainDefaults does."""

    def apply_to(self, settings: Settings, /) -> Settings:
        """Return the settings as the turns of the chain have them."""
        ...


@dataclass(frozen=True, slots=True)
class GuardDescription:
    """Description of one guard. `setting` enables it; `position` is its place in the chain, counted from 1, and None if
    it does not stand there. `options` are its other settings.
    """

    name: str
    setting: str
    enabled: bool
    enabled_by_default: bool
    position: int | None
    does: str
    options: Mapping[str, Any]
    tables: Sequence[RuleTable] = ()


def find_turn_settings(chain: Pipeline, settings: Settings) -> Settings:
    """Return the settings as the turns of a chain have them."""
    for each in chain:
        if isinstance(each, CompletesSettings):
            settings = each.apply_to(settings)
    return settings


def describe_guards(chain: Pipeline, services: Services) -> list[GuardDescription]:
    """Return the guards that the settings know: first those that stand in the chain, in its order, then the others."""
    standing = {get_middleware_name(each): (number, each) for number, each in enumerate(chain, start=1)}
    settings = find_turn_settings(chain, services.settings)
    found = [_describe(name, services, settings.guards, standing) for name in GuardsSettings.model_fields]
    return sorted(found, key=lambda each: (each.position is None, each.position or 0))


def format_guards(guards: Sequence[GuardDescription]) -> list[str]:
    """Return the guards as lines of a table: name, whether it stands, the setting that decides, what it does."""
    return format_rows([(each.name, describe_state(each), each.setting, each.does) for each in guards])


def describe_state(guard: GuardDescription) -> str:
    """Return whether a guard stands, and if not, why: `off` is one that the settings switch off, `optional` one that
    they may switch on.
    """
    if guard.position is not None:
        return "on"
    if guard.enabled:
        return "not in this chain"
    return "off" if guard.enabled_by_default else "optional"


def _describe(
    field: str, services: Services, settings: GuardsSettings, standing: Mapping[str, tuple[int, object]]
) -> GuardDescription:
    info = GuardsSettings.model_fields[field]
    name, section = info.alias or field, getattr(settings, field)
    options: dict[str, Any] = section.model_dump(mode="json", by_alias=True)
    position, guard = standing.get(name, (None, None))
    acts: Mapping[str, str] = read_order_constraints(guard).acts if guard is not None else {}
    return GuardDescription(
        name=name,
        setting=f"Guards.{name}.Enabled",
        enabled=bool(options.pop("Enabled", True)),
        enabled_by_default=is_enabled_by_default(field),
        position=position,
        does="; ".join(acts.values()) or (info.description or "").rstrip("."),
        options=options,
        tables=guard.describe(services) if isinstance(guard, DescribesRules) else (),
    )


def is_enabled_by_default(field: str) -> bool:
    """Return whether a guard, given as the name of its field in `GuardsSettings`, stands without any setting."""
    return bool(getattr(getattr(GuardsSettings.defaults(), field), "enabled", False))

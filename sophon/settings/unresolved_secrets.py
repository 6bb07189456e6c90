"""Search for secrets of a settings tree that cannot be resolved: their variable or file is missing or empty."""

from collections.abc import Iterator, Mapping, Sequence
from typing import cast

from sophon.settings.types.secret_references import Secret
from sophon.settings.types.section import SettingsSection

SWITCHES = ("enabled", "active")
"""Fields that, if False, switch off what their section says."""


def find_unresolved_secrets(settings: SettingsSection, environment: Mapping[str, str]) -> list[str]:
    """Return a sentence for each secret that cannot be resolved, with its path; none for sections that are off.

    Of several keys of a provider one is enough.
    """
    return list(_search(settings, "", environment))


def _search(value: object, path: str, environment: Mapping[str, str]) -> Iterator[str]:
    if isinstance(value, Secret):
        if value.resolve(environment) is None:
            yield f"{path}: the {value.source_description} is missing or empty"
    elif isinstance(value, SettingsSection):
        if any(getattr(value, name, None) is False for name in SWITCHES):
            return
        for name, field in type(value).model_fields.items():
            below = f"{path}.{field.alias or name}" if path else field.alias or name
            yield from _search(getattr(value, name), below, environment)
    elif isinstance(value, Mapping):
        for key, item in cast("Mapping[object, object]", value).items():
            yield from _search(item, f"{path}.{key}", environment)
    elif isinstance(value, tuple | list):
        yield from _search_items(cast("list[object]", value), path, environment)


def _search_items(items: Sequence[object], path: str, environment: Mapping[str, str]) -> Iterator[str]:
    found = [list(_search(item, f"{path}[{index}]", environment)) for index, item in enumerate(items)]
    has_one = any(isinstance(item, Secret) for item in items) and not all(found)
    if not has_one:
        for each in found:
            yield from each

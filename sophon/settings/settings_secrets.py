"""Search for the secrets in a settings tree, and for those that cannot be resolved."""

from collections.abc import Iterator, Mapping, Sequence
from typing import cast

from sophon.settings.types.secret_references import Secret
from sophon.settings.types.section import SettingsSection

SWITCHES = ("enabled", "active")
"""Fields that, if False, switch off what their section says."""


def find_secret_variables(settings: SettingsSection) -> frozenset[str]:
    """Return the names of all environment variables that the settings refer to by `{"$env": NAME}`."""
    return frozenset(secret.variable for secret in find_secrets(settings) if secret.variable is not None)


def find_secrets(value: object) -> Iterator[Secret]:
    """Yield every secret in a section, mapping, sequence or secret."""
    if isinstance(value, Secret):
        yield value
    elif isinstance(value, SettingsSection):
        for name in type(value).model_fields:
            yield from find_secrets(getattr(value, name))
    elif isinstance(value, Mapping):
        for item in cast("Mapping[object, object]", value).values():
            yield from find_secrets(item)
    elif isinstance(value, tuple | list):
        for item in cast("list[object]", value):
            yield from find_secrets(item)


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

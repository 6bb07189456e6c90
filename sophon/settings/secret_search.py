"""Search for the secrets in a settings tree."""

from collections.abc import Iterator, Mapping
from typing import cast

from sophon.settings.types.secret_references import Secret
from sophon.settings.types.section import SettingsSection


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

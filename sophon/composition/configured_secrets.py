"""Secrets of the settings, resolved at the start so that redaction knows them before anything uses them."""

from collections.abc import Iterator, Mapping

from sophon.models.providers.defaults import PROVIDER_DEFAULTS
from sophon.security import KNOWN_SECRETS
from sophon.settings import Secret, Settings
from sophon.settings.settings_secrets import find_secrets


def collect_secrets(settings: Settings, environment: Mapping[str, str]) -> frozenset[str]:
    """Return all secret values of the settings, passwords of URLs, and provider keys found in the environment.

    From then on `sophon.security.redact` replaces them. A secret that is missing or unreadable is left out.
    """
    values = {value for secret in find_secrets(settings) for value in _values_of(secret, environment)}
    values |= {
        environment[name] for provider in PROVIDER_DEFAULTS for name in provider.key_variables if name in environment
    }
    found = frozenset(value.strip() for value in values if value.strip())
    for value in found:
        KNOWN_SECRETS.add(value)
    return found


def _values_of(secret: Secret, environment: Mapping[str, str]) -> Iterator[str]:
    # A pipe can be read once, and may never end: whoever uses the secret reads it.
    if secret.file is not None and not _is_regular(secret):
        return iter(())
    value = secret.resolve(environment)
    return iter(()) if value is None else secret.secret_parts(value)


def _is_regular(secret: Secret) -> bool:
    try:
        return secret.file is not None and secret.file.is_file()
    except (OSError, RuntimeError, ValueError):
        return False

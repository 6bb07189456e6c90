"""Environment of a command: an allow-list of variables, without any that holds a secret of the settings.

A name says nothing about a value, so the environment is not filtered by suspicious names: what is not on the list is
not passed on.
"""

from collections.abc import Collection, Mapping

from sophon.models.providers.defaults import PROVIDER_DEFAULTS
from sophon.settings import Settings
from sophon.settings.settings_secrets import find_secret_variables

ALLOWED_VARIABLES = frozenset(
    {"PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "LANGUAGE", "TZ", "TMPDIR", "TERM", "COLUMNS", "LINES"}
)
"""Variables that every command receives, and all whose name begins with `ALLOWED_PREFIX`."""

ALLOWED_PREFIX = "LC_"

RESERVED_PREFIX = "SOPHON_"
"""Prefix, in any case, of the product's own variables (settings and tokens), which no command receives."""

MIN_SECRET_CHARACTERS = 8
"""Minimum length of a secret that is looked for in other variables; a shorter one occurs by chance."""


def build_command_environment(environment: Mapping[str, str], settings: Settings) -> dict[str, str]:
    """Return the variables of `environment` that a command receives.

    `Tools.CommandEnvironment` extends the list. A variable that the settings take a secret from, or a provider its key,
    is never passed on, listed or not; nor is another variable that repeats such a secret.
    """
    secret_names = _secret_names(settings)
    secrets = [environment[name].strip() for name in secret_names if name in environment]
    secrets = [secret for secret in secrets if len(secret) >= MIN_SECRET_CHARACTERS]
    listed = frozenset(settings.tools.command_environment)
    return {
        name: value
        for name, value in environment.items()
        if (name in listed or name in ALLOWED_VARIABLES or name.startswith(ALLOWED_PREFIX))
        and not _is_withheld(name, secret_names)
        and not any(secret in value for secret in secrets)
    }


def find_withheld_variables(settings: Settings) -> list[str]:
    """Return the names in `Tools.CommandEnvironment` that are withheld all the same, because they hold secrets."""
    secret_names = _secret_names(settings)
    return [name for name in settings.tools.command_environment if _is_withheld(name, secret_names)]


def _is_withheld(name: str, secret_names: Collection[str]) -> bool:
    return name in secret_names or name.upper().startswith(RESERVED_PREFIX)


def _secret_names(settings: Settings) -> frozenset[str]:
    return find_secret_variables(settings) | {name for each in PROVIDER_DEFAULTS for name in each.key_variables}

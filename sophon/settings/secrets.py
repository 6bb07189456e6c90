"""Secrets in settings: references to an environment variable or a file, resolved on use and redacted in output."""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pydantic import GetCoreSchemaHandler, GetJsonSchemaHandler
from pydantic_core import CoreSchema, core_schema

from sophon.settings.plain import is_list, is_mapping
from sophon.settings.section import refused

HIDDEN = "***"
ENV, FILE = "$env", "$file"
EXPECTED = 'a secret is {"$env": "NAME"}, {"$file": "path"} or a text'


class Secret:
    """A key, token or password: `{"$env": "NAME"}`, `{"$file": "path"}` or the plain text itself.

    repr, str, dumps and error messages contain the reference, or `***` for a plain text.
    """

    __slots__ = ("_kind", "_value")

    def __init__(self, value: str, kind: str | None = None) -> None:
        """Create a secret; `kind` is `$env`, `$file`, or None if `value` is the plain text."""
        self._kind, self._value = kind, value

    @classmethod
    def of(cls, value: object) -> "Secret":
        """Parse the JSON form; a Secret is accepted unchanged. The error never contains the value."""
        if isinstance(value, Secret):
            return value if isinstance(value, cls) else cls(value._value, value._kind)
        if isinstance(value, str) and value.strip():
            return cls(value)
        if is_mapping(value) and len(value) == 1:
            ((kind, name),) = value.items()
            if kind in {ENV, FILE} and isinstance(name, str) and name.strip():
                return cls(name, kind)
        raise refused(EXPECTED)

    @property
    def is_plain(self) -> bool:
        """Whether the settings contain the secret itself instead of a reference."""
        return self._kind is None

    @property
    def origin(self) -> str:
        """Source of the secret, for messages: `environment variable X`, `file /run/x`, `the settings`."""
        if self._kind == ENV:
            return f"environment variable {self._value}"
        return f"file {self._value}" if self._kind == FILE else "the settings"

    def resolve(self, environment: Mapping[str, str]) -> str | None:
        """Return the secret without surrounding white space; None if it is missing, empty or unreadable."""
        if self._kind == ENV:
            found: str | None = environment.get(self._value)
        elif self._kind == FILE:
            found = _read_file(self._value)
        else:
            found = self._value
        return (found or "").strip() or None

    def shown(self) -> dict[str, str] | str:
        """Return the JSON form with a plain text redacted."""
        return {self._kind: self._value} if self._kind else self._redacted()

    def _redacted(self) -> str:
        return HIDDEN

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.shown()!r})"

    def __str__(self) -> str:
        return str(self.shown())

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Secret) and (self._kind, self._value) == (other._kind, other._value)

    def __hash__(self) -> int:
        return hash((self._kind, self._value))

    @classmethod
    def __get_pydantic_core_schema__(cls, source: object, handler: GetCoreSchemaHandler) -> CoreSchema:
        return core_schema.no_info_plain_validator_function(
            cls.of, serialization=core_schema.plain_serializer_function_ser_schema(_serialize)
        )

    @classmethod
    def __get_pydantic_json_schema__(cls, schema: CoreSchema, handler: GetJsonSchemaHandler) -> dict[str, Any]:
        reference = [
            {
                "type": "object",
                "properties": {key: {"type": "string"}},
                "required": [key],
                "additionalProperties": False,
            }
            for key in (ENV, FILE)
        ]
        return {"anyOf": [*reference, {"type": "string"}], "format": "secret"}


class SecretUrl(Secret):
    """URL that may contain a password: everything but scheme, host and path of a plain one is redacted."""

    __slots__ = ()

    @property
    def is_plain(self) -> bool:
        """Whether the settings contain a user name, a password or query options of the URL."""
        return self._kind is None and self._redacted() != self._value

    def _redacted(self) -> str:
        scheme, separator, rest = self._value.partition("://")
        credentials, at, location = rest.rpartition("@")
        # An unescaped password may contain these characters; an ambiguous URL is redacted as a whole.
        if not separator or "?" in credentials or "#" in credentials:
            return HIDDEN
        path = re.split(r"[?#]", location, maxsplit=1)
        options = f"?{HIDDEN}" if len(path) > 1 else ""
        return f"{scheme}://{HIDDEN + at if at else ''}{path[0]}{options}"


def is_reference(value: object) -> bool:
    """Return whether `value` is a mapping such as `{"$env": ...}`, which layers replace as a whole, not merge."""
    return is_mapping(value) and any(str(key).startswith("$") for key in value)


def anchored(value: Any, folder: Path) -> Any:
    """Return `value` with every relative `{"$file": path}` in it resolved against `folder`."""
    if is_mapping(value):
        if set(value) == {FILE} and isinstance(value[FILE], str):
            return {FILE: value[FILE] if value[FILE].startswith("~") else str(folder / value[FILE])}
        return {key: anchored(each, folder) for key, each in value.items()}
    return [anchored(each, folder) for each in value] if is_list(value) else value


def _read_file(path: str) -> str | None:
    try:
        return Path(path).expanduser().read_text(encoding="utf-8")
    except (OSError, ValueError, RuntimeError):  # RuntimeError: ~ without a home directory
        return None


def _serialize(secret: Secret) -> dict[str, str] | str:
    return secret.shown()

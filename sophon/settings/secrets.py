"""Secrets in settings: a value named by reference, read when it is needed and never shown."""

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

    repr, str, dumps and errors show the reference, or `***` for a plain text.
    """

    __slots__ = ("_kind", "_value")

    def __init__(self, value: str, kind: str | None = None) -> None:
        """`kind` is `$env`, `$file`, or None if `value` is the plain text."""
        self._kind, self._value = kind, value

    @classmethod
    def of(cls, value: object) -> "Secret":
        """Read the JSON form; a Secret passes. The error never holds the value."""
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
        """True if the secret itself stands in the settings instead of a reference."""
        return self._kind is None

    @property
    def origin(self) -> str:
        """Where the secret is looked for, for messages: `environment variable X`, `file /run/x`, `the settings`."""
        if self._kind == ENV:
            return f"environment variable {self._value}"
        return f"file {self._value}" if self._kind == FILE else "the settings"

    def resolve(self, environment: Mapping[str, str]) -> str | None:
        """The secret itself, without white space around it; None if it is missing, empty or cannot be read."""
        if self._kind == ENV:
            found: str | None = environment.get(self._value)
        elif self._kind == FILE:
            found = _content(self._value)
        else:
            found = self._value
        return (found or "").strip() or None

    def shown(self) -> dict[str, str] | str:
        """The JSON form with a plain text hidden."""
        return {self._kind: self._value} if self._kind else self._hidden()

    def _hidden(self) -> str:
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
            cls.of, serialization=core_schema.plain_serializer_function_ser_schema(_shown)
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
    """An address that may carry a password: everything but scheme, host and path of a plain one is hidden."""

    __slots__ = ()

    @property
    def is_plain(self) -> bool:
        """True if a password, a user name or options stand in the settings themselves."""
        return self._kind is None and self._hidden() != self._value

    def _hidden(self) -> str:
        scheme, separator, rest = self._value.partition("://")
        credentials, at, place = rest.rpartition("@")
        # An unescaped password may hold any of these signs: what cannot be told apart is hidden as a whole.
        if not separator or "?" in credentials or "#" in credentials:
            return HIDDEN
        path = re.split(r"[?#]", place, maxsplit=1)
        options = f"?{HIDDEN}" if len(path) > 1 else ""
        return f"{scheme}://{HIDDEN + at if at else ''}{path[0]}{options}"


def is_reference(value: object) -> bool:
    """Whether `value` is a mapping of the kind `{"$env": ...}`: such a mapping is replaced as a whole, not merged."""
    return is_mapping(value) and any(str(key).startswith("$") for key in value)


def anchored(value: Any, folder: Path) -> Any:
    """`value` with every relative `{"$file": path}` in it turned into a path below `folder`."""
    if is_mapping(value):
        if set(value) == {FILE} and isinstance(value[FILE], str):
            return {FILE: value[FILE] if value[FILE].startswith("~") else str(folder / value[FILE])}
        return {key: anchored(each, folder) for key, each in value.items()}
    return [anchored(each, folder) for each in value] if is_list(value) else value


def _content(path: str) -> str | None:
    try:
        return Path(path).expanduser().read_text(encoding="utf-8")
    except (OSError, ValueError, RuntimeError):  # RuntimeError: there is no home folder for ~
        return None


def _shown(secret: Secret) -> dict[str, str] | str:
    return secret.shown()

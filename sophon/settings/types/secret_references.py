"""Secrets in settings: references to an environment variable or a file, resolved on use and redacted in output."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sophon.security import KNOWN_SECRETS, hide_url_secrets, url_secrets
from sophon.settings.types.json_type_checks import is_list, is_mapping
from sophon.settings.types.section import build_value_error

if TYPE_CHECKING:
    from pydantic import GetCoreSchemaHandler, GetJsonSchemaHandler
    from pydantic_core import CoreSchema

REDACTED = "***"
ENV_KEY, FILE_KEY = "$env", "$file"
EXPECTED_FORMAT = 'a secret is {"$env": "NAME"}, {"$file": "path"} or a text'


class Secret:
    """A key, token or password: `{"$env": "NAME"}`, `{"$file": "path"}` or the plain text itself.

    repr, str, dumps and error messages contain the reference, or `***` for a plain text.
    """

    __slots__ = ("_kind", "_value")

    def __init__(self, value: str, kind: str | None = None) -> None:
        """Create a secret; `kind` is `$env`, `$file`, or None if `value` is the plain text."""
        self._kind, self._value = kind, value

    @classmethod
    def parse(cls, value: object) -> "Secret":
        """Parse the JSON form; a Secret is accepted unchanged. The error never contains the value.

        From then on `sophon.security.redact` replaces a plain text.
        """
        if isinstance(value, Secret):
            return value if isinstance(value, cls) else cls(value._value, value._kind)
        if isinstance(value, str) and value.strip():
            plain = cls(value)
            plain.resolve({})
            return plain
        if is_mapping(value) and len(value) == 1:
            ((kind, name),) = value.items()
            if kind in {ENV_KEY, FILE_KEY} and isinstance(name, str) and name.strip():
                return cls(name, kind)
        raise build_value_error(EXPECTED_FORMAT)

    @classmethod
    def accept_plain(cls, value: object) -> "Secret":
        """See `sophon._python.validation_without_pydantic`."""
        return cls.parse(value)

    @property
    def is_plain(self) -> bool:
        """Whether the settings contain the secret itself instead of a reference."""
        return self._kind is None

    @property
    def variable(self) -> str | None:
        """Name of the environment variable that holds the secret; None for another source."""
        return self._value if self._kind == ENV_KEY else None

    @property
    def file(self) -> Path | None:
        """Path of the file that holds the secret; None for another source."""
        return Path(self._value).expanduser() if self._kind == FILE_KEY else None

    @property
    def source_description(self) -> str:
        """Source of the secret, for messages: `environment variable X`, `file /run/x`, `the settings`."""
        if self._kind == ENV_KEY:
            return f"environment variable {self._value}"
        return f"file {self._value}" if self._kind == FILE_KEY else "the settings"

    def resolve(self, environment: Mapping[str, str]) -> str | None:
        """Return the secret without surrounding white space; None if it is missing, empty or unreadable.

        From then on `sophon.security.redact` replaces it in the texts of errors.
        """
        if self._kind == ENV_KEY:
            found: str | None = environment.get(self._value)
        elif self._kind == FILE_KEY:
            found = _read_file(self._value)
        else:
            found = self._value
        value = (found or "").strip() or None
        for secret in self.secret_parts(value) if value else ():
            KNOWN_SECRETS.add(secret)
        return value

    def secret_parts(self, value: str) -> Iterator[str]:
        """Yield what must not be shown of the resolved value: all of it."""
        yield value

    def to_redacted_json(self) -> dict[str, str] | str:
        """Return the JSON form with a plain text redacted."""
        return {self._kind: self._value} if self._kind else self._redacted()

    def _redacted(self) -> str:
        return REDACTED

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.to_redacted_json()!r})"

    def __str__(self) -> str:
        return str(self.to_redacted_json())

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Secret) and (self._kind, self._value) == (other._kind, other._value)

    def __hash__(self) -> int:
        return hash((self._kind, self._value))

    @classmethod
    def __get_pydantic_core_schema__(cls, source: object, handler: "GetCoreSchemaHandler") -> "CoreSchema":
        from pydantic_core import core_schema  # lazy: a process that uses the defaults never loads it

        return core_schema.no_info_plain_validator_function(
            cls.parse, serialization=core_schema.plain_serializer_function_ser_schema(_serialize)
        )

    @classmethod
    def __get_pydantic_json_schema__(cls, schema: "CoreSchema", handler: "GetJsonSchemaHandler") -> dict[str, Any]:
        reference = [
            {
                "type": "object",
                "properties": {key: {"type": "string"}},
                "required": [key],
                "additionalProperties": False,
            }
            for key in (ENV_KEY, FILE_KEY)
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
        return hide_url_secrets(self._value)

    def secret_parts(self, value: str) -> Iterator[str]:
        """Yield the password and the values of secret query parameters."""
        return url_secrets(value)


def is_secret_reference(value: object) -> bool:
    """Return whether `value` is a mapping such as `{"$env": ...}`, which layers replace as a whole, not merge."""
    return is_mapping(value) and any(str(key).startswith("$") for key in value)


def resolve_file_paths(value: Any, folder: Path) -> Any:
    """Return `value` with every relative `{"$file": path}` in it resolved against `folder`."""
    if is_mapping(value):
        if set(value) == {FILE_KEY} and isinstance(value[FILE_KEY], str):
            return {FILE_KEY: value[FILE_KEY] if value[FILE_KEY].startswith("~") else str(folder / value[FILE_KEY])}
        return {key: resolve_file_paths(each, folder) for key, each in value.items()}
    return [resolve_file_paths(each, folder) for each in value] if is_list(value) else value


def _read_file(path: str) -> str | None:
    try:
        return Path(path).expanduser().read_text(encoding="utf-8")
    except (OSError, ValueError, RuntimeError):  # RuntimeError: ~ without a home directory
        return None


def _serialize(secret: Secret) -> dict[str, str] | str:
    return secret.to_redacted_json()

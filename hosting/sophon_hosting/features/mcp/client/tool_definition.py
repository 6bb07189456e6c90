"""Definition of a tool as an MCP server gives it, and what makes one unusable. Pure."""

import hashlib
from collections.abc import Mapping
from typing import Any, Final, Self

import orjson

from sophon._python.lazy_dataclass import dataclass
from sophon._python.lazy_pattern import lazy_pattern
from sophon.errors import InvalidArguments
from sophon.invisible_characters import escape_invisible
from sophon.settings.types.json_type_checks import is_list, is_mapping
from sophon.tools.tool import WIRE_NAME_LIMIT

MAX_DEFINITION_BYTES: Final = 64 * 1024

MAX_DESCRIPTION: Final = 4000
"""Characters of a description that a model is shown."""

MAX_NAMED: Final = 5
"""Violations that an error names."""

_NAME = lazy_pattern(r"[A-Za-z0-9_.-]{1,64}")

_UNSHOWN: Final = frozenset({"_meta", "icons"})
"""Parts of a definition that nobody is shown; servers put values there that change with each start."""


@dataclass(frozen=True, slots=True)
class ToolDefinition:
    """What a server says about one tool. `digest` is that of all that a model or a person is shown."""

    name: str
    description: str
    schema: Mapping[str, Any]
    annotations: Mapping[str, Any] | None
    digest: str
    size: int

    @classmethod
    def from_json(cls, given: Mapping[str, Any]) -> Self:
        """Return the definition of a tool in the protocol's JSON form. Raises TypeError for values that JSON lacks."""
        shown = {key: value for key, value in given.items() if key not in _UNSHOWN}
        schema, annotations = given.get("inputSchema"), given.get("annotations")
        return cls(
            str(given.get("name", "")),
            escape_invisible(str(given.get("description") or given.get("title") or ""))[:MAX_DESCRIPTION],
            schema if is_mapping(schema) else {},
            annotations if is_mapping(annotations) else None,
            hash_definition(shown),
            len(orjson.dumps(shown)),
        )

    def find_fault(self, server: str) -> str | None:
        """Return why the tool cannot be used, None if it can."""
        if _NAME.fullmatch(self.name) is None:
            return "its name is not made of 1 to 64 letters, digits, `_`, `.` and `-`"
        if len(server) + 1 + len(self.name) > WIRE_NAME_LIMIT:
            return f"its name is too long: with `{server}.` at most {WIRE_NAME_LIMIT} characters are possible"
        if self.size > MAX_DEFINITION_BYTES:
            return f"its definition has {self.size} bytes; at most {MAX_DEFINITION_BYTES} are accepted"
        if self.schema.get("type") != "object":
            return "its arguments are not described as an object"
        return None

    @property
    def parameters(self) -> frozenset[str]:
        """Names of the arguments."""
        properties = self.schema.get("properties")
        return frozenset(map(str, properties)) if is_mapping(properties) else frozenset()

    def check_arguments(self, tool: str, arguments: Mapping[str, Any]) -> None:
        """Raise InvalidArguments for arguments that are missing, or unknown where the schema forbids others.

        No more: a schema of a server may contain patterns and references that take for ever, and the server checks
        the arguments itself.
        """
        required = self.schema.get("required")
        missing = [each for each in required if isinstance(each, str)] if is_list(required) else []
        faults = [f"{each}: field required" for each in missing if each not in arguments]
        if self.schema.get("additionalProperties") is False and "patternProperties" not in self.schema:
            faults += [f"{each}: there is no such argument" for each in arguments if each not in self.parameters]
        if faults:
            raise InvalidArguments(tool, faults[:MAX_NAMED])


def hash_definition(definition: Mapping[str, Any]) -> str:
    """Return the SHA-256 of a tool's whole definition in JSON form, whatever the order of its keys."""
    return hashlib.sha256(orjson.dumps(dict(definition), option=orjson.OPT_SORT_KEYS)).hexdigest()


def find_changed(accepted: Mapping[str, str], offered: Mapping[str, str]) -> frozenset[str]:
    """Return the names of offered tools whose hash is not the accepted one; a tool without one counts as changed."""
    return frozenset(name for name, digest in offered.items() if accepted.get(name) != digest)

"""Rules of validated values as annotations that load pydantic only when a value is validated.

They state the limits of a setting once, for `validation_without_pydantic` and for pydantic, and buy the time that the
former does.
"""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, cast

if TYPE_CHECKING:
    from pydantic import GetCoreSchemaHandler, GetJsonSchemaHandler
    from pydantic_core import CoreSchema


class ValueRules:
    """Annotation with the rules of a type, for `Annotated`; pydantic reads them when it validates a first value.

    `before` and `after` convert a value before and after it is validated; both may raise ValueError. `dump` makes the
    text that stands in a dump, and `json_schema` replaces the type's JSON Schema. `limits` are entries of pydantic's
    core schema of the type, of `X | None` those of X: strict, pattern, ge, gt, le, lt, min_length, max_length.
    """

    def __init__(
        self,
        *,
        before: Callable[[Any], object] | None = None,
        after: Callable[[Any], object] | None = None,
        dump: Callable[[Any], str] | None = None,
        json_schema: Mapping[str, Any] | None = None,
        **limits: object,
    ) -> None:
        self.before, self.after, self._dump = before, after, dump
        self._json_schema, self.limits = json_schema, limits

    def __get_pydantic_core_schema__(self, source: object, handler: "GetCoreSchemaHandler") -> "CoreSchema":
        from pydantic_core import core_schema

        schema: Any = {**handler(source)}
        if schema["type"] == "nullable":
            schema["schema"] = {**schema["schema"], **self.limits}
        else:
            schema |= self.limits
        if self.before is not None:
            schema = core_schema.no_info_before_validator_function(self.before, schema)
        if self.after is not None:
            schema = core_schema.no_info_after_validator_function(self.after, schema)
        if self._dump is not None:
            text = core_schema.str_schema()
            schema["serialization"] = core_schema.plain_serializer_function_ser_schema(self._dump, return_schema=text)
        return cast("CoreSchema", schema)

    def __get_pydantic_json_schema__(self, schema: "CoreSchema", handler: "GetJsonSchemaHandler") -> dict[str, Any]:
        return handler(schema) if self._json_schema is None else dict(self._json_schema)

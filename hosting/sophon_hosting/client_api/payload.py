"""Base class of what clients send: pydantic validates it, and is loaded with the first payload.

That it is not loaded earlier buys 60 ms and 7 MB of each start of a host.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar, Self, get_type_hints

if TYPE_CHECKING:
    from pydantic import BaseModel, GetCoreSchemaHandler
    from pydantic_core import CoreSchema


class Payload:
    """Values that a client sent: annotated fields, with class attributes as their defaults; frozen.

    `config` is pydantic's configuration of the model, to which that of a base class is added. Limits stand inside
    `Annotated[...]` as `ValueRules`.
    """

    config: ClassVar[Mapping[str, Any]] = {"frozen": True, "hide_input_in_errors": True}
    fields_set: frozenset[str]
    """Names of the fields that were given and not left to their defaults."""

    @classmethod
    def validate(cls, values: object) -> Self:
        """Return the payload that `values` describe. Raises pydantic's ValidationError."""
        model = build_model(cls).model_validate(values)
        payload = cls.__new__(cls)
        vars(payload).update(vars(model), fields_set=frozenset(model.model_fields_set))
        return payload

    def check(self) -> None:
        """Check that the fields go together, after each of them was validated. Raises ValueError."""

    def to_dict(self) -> dict[str, Any]:
        """Return the fields by name, defaults included."""
        return {name: value for name, value in vars(self).items() if name != "fields_set"}

    @classmethod
    def __get_pydantic_core_schema__(cls, source: object, handler: "GetCoreSchemaHandler") -> "CoreSchema":
        """Validate a payload within another one by its model."""
        return handler.generate_schema(build_model(cls))

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"cannot set {name!r}: a payload is frozen")


_models: "dict[type[Payload], type[BaseModel]]" = {}


def build_model(payload: type[Payload]) -> "type[BaseModel]":
    """Return pydantic's model of a payload, which is made once."""
    if payload not in _models:
        _models[payload] = _create_model(payload)
    return _models[payload]


def _create_model(payload: type[Payload]) -> "type[BaseModel]":
    from pydantic import create_model, model_validator  # lazy: see above

    hints = get_type_hints(payload, include_extras=True)
    fields: dict[str, Any] = {
        name: (hint, getattr(payload, name, ...))
        for name, hint in hints.items()
        if name not in ("config", "fields_set")
    }
    config: Any = {
        key: value for each in reversed(payload.__mro__) for key, value in vars(each).get("config", {}).items()
    }
    checks: dict[str, Any] = {}
    if payload.check is not Payload.check:

        def check(model: Any) -> Any:
            payload.check(model)
            return model

        checks["check"] = model_validator(mode="after")(check)
    return create_model(payload.__name__, __config__=config, __validators__=checks, **fields)

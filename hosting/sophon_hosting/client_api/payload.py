"""Base class of what clients send: pydantic validates it, and is loaded with the first payload."""

from collections.abc import Mapping
from functools import lru_cache
from typing import TYPE_CHECKING, Any, ClassVar, Self, cast, get_type_hints

from sophon.plain_values import Accept, NotPlain, build_acceptor

if TYPE_CHECKING:
    from pydantic import BaseModel, GetCoreSchemaHandler
    from pydantic_core import CoreSchema


class PayloadType(type):
    """Type of the payloads: each is a key of the caches below."""


class Payload(metaclass=PayloadType):
    """Values that a client sent: annotated fields, with class attributes as their defaults; frozen.

    `config` is pydantic's configuration of the model, to which that of a base class is added. Limits stand inside
    `Annotated[...]` as `ValueRules`.
    """

    config: ClassVar[Mapping[str, Any]] = {"frozen": True, "hide_input_in_errors": True}
    fields_set: frozenset[str]
    """Names of the fields that were given and not left to their defaults."""

    @classmethod
    def validate(cls, values: object) -> Self:
        """Return the payload that `values` describe. Raises pydantic's ValidationError.

        Plainly valid values are accepted without pydantic.
        """
        try:
            return cls._accept_plain(values)
        except ValueError:  # pydantic says what is wrong, if anything is
            model = build_model(cls).model_validate(values)
        payload = cls.__new__(cls)
        vars(payload).update(vars(model), fields_set=frozenset(model.model_fields_set))
        return payload

    @classmethod
    def _accept_plain(cls, values: object) -> Self:
        if type(values) is not dict:
            raise NotPlain
        given = cast("dict[str, Any]", values)
        fields = _read_fields(cls)
        if not given.keys() <= fields.keys():
            raise NotPlain
        payload = cls.__new__(cls)
        found = {name: accept(given[name]) for name, (accept, _) in fields.items() if name in given}
        for name, (_, default) in fields.items():
            if name not in given and (default is ... or isinstance(default, dict)):  # it is required, or copied
                raise NotPlain
            vars(payload)[name] = found.get(name, default)
        vars(payload)["fields_set"] = frozenset(given)
        payload.check()
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


@lru_cache(maxsize=256)
def _read_hints(payload: type[Payload]) -> Mapping[str, Any]:
    """Return the types of the fields by name."""
    hints = get_type_hints(payload, include_extras=True)
    return {name: hint for name, hint in hints.items() if name not in ("config", "fields_set")}


@lru_cache(maxsize=256)
def _read_fields(payload: type[Payload]) -> Mapping[str, tuple[Accept, Any]]:
    """Return what accepts a field, and its default, `...` for a required one, by name."""
    return {name: (build_acceptor(hint), getattr(payload, name, ...)) for name, hint in _read_hints(payload).items()}


@lru_cache(maxsize=256)
def build_model(payload: type[Payload]) -> "type[BaseModel]":
    """Return pydantic's model of a payload, which is made once."""
    from pydantic import create_model, model_validator  # lazy: see above

    fields: dict[str, Any] = {name: (hint, getattr(payload, name, ...)) for name, hint in _read_hints(payload).items()}
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

"""Requests of operations: typed fields, validated by pydantic, which is loaded with the first request.

That it is not loaded earlier buys 60 ms and 7 MB of each start of a host.
"""

from collections.abc import AsyncGenerator, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Final, Protocol, Self, get_args, get_origin, get_type_hints

from sophon._python.lazy_dataclass import dataclass
from sophon._python.value_rules import ValueRules
from sophon.errors import InputError
from sophon_hosting.operations.permission_check import parse_permission
from sophon_hosting.operations.validation_errors import describe_problems

if TYPE_CHECKING:
    from pydantic import BaseModel, GetCoreSchemaHandler, GetJsonSchemaHandler
    from pydantic_core import CoreSchema

PERMISSION_KEY: Final = "x-permission"
"""Extension of OpenAPI and of JSON Schema: the permissions that an operation or a field needs."""


class Needs:
    """Annotation of a field that needs a permission of its own where it is given, `unless` it has one of these values.

    Where null or false changes something like any other value, it needs the permission, too. With `if_left_out` it is
    the request without the field, or with null, that needs the permission. Raises ValueError for a permission that does
    not exist, which every client would have.
    """

    def __init__(
        self, permission: str, *, unless: Sequence[object] = (None, False, ""), if_left_out: bool = False
    ) -> None:
        self.permission, self._unless, self.if_left_out = parse_permission(permission), unless, if_left_out

    def applies_to(self, value: object, *, is_given: bool) -> bool:
        """Return whether a request with this value, or this default, needs the permission; 0 is not false here."""
        if self.if_left_out:
            return value is None
        return is_given and not any(value is each or value == each == "" for each in self._unless)

    def __get_pydantic_json_schema__(self, schema: "CoreSchema", handler: "GetJsonSchemaHandler") -> dict[str, Any]:
        return handler(schema) if self.if_left_out else {**handler(schema), PERMISSION_KEY: [self.permission]}


class Doc:
    """Annotation of a field with a sentence, for help texts and OpenAPI."""

    def __init__(self, documentation: str) -> None:
        self.documentation = documentation

    def __get_pydantic_json_schema__(self, schema: "CoreSchema", handler: "GetJsonSchemaHandler") -> dict[str, Any]:
        return {**handler(schema), "description": self.documentation}


class Upload(Protocol):
    """Body of a request that is a file; a field of this type makes the operation one that HTTP alone offers."""

    @property
    def length(self) -> int | None:
        """Size in bytes that the client declared; None if it declared none."""
        ...

    async def read(self, max_bytes: int, too_large: Exception) -> bytes:
        """Return the file. Raises `too_large` as soon as that is known, InputError for an incomplete one."""
        ...

    def chunks(self, max_bytes: int, too_large: Exception) -> AsyncGenerator[bytes]:
        """Yield the file in pieces; see `read`."""
        ...


Limit = Annotated[int, ValueRules(ge=1, le=1000), Doc("Number of items of a page.")]

Everything = Annotated[bool, Needs("Operator"), Doc("What belongs to all users, for operators.")]

WaitSeconds = Annotated[float, ValueRules(ge=0, le=20), Doc("Seconds that the request may wait for a change.")]
"""Shorter than the time after which proxies give up."""


class Request:
    """Values that a client sent: annotated fields, with class attributes as their defaults; frozen.

    One class holds the fields of path, query and body. Limits stand inside `Annotated[...]` as `ValueRules`. Unknown
    fields are errors, because they would hide mistakes, unless `ignores_unknown`. A request may be a field of another
    one, which gets its values as an object of pydantic.
    """

    ignores_unknown: ClassVar[bool] = False
    fields_set: frozenset[str]
    """Names of the fields that were given and not left to their defaults."""

    @classmethod
    def validate(cls, values: Mapping[str, object], *, is_text: bool = False, upload: Upload | None = None) -> Self:
        """Return the request that `values` describe; numbers and truth values may be texts if it `is_text`.

        Raises InputError with all problems in one sentence.
        """
        shape = request_shape(cls)
        try:
            model = shape.model.model_validate(values, strict=not is_text)
        except ValueError as error:
            from pydantic import ValidationError  # lazy: whoever gets here has loaded it

            if not isinstance(error, ValidationError):
                raise
            raise InputError(describe_problems(error.errors(include_url=False, include_input=False))) from None
        request = cls.__new__(cls)
        vars(request).update(vars(model), fields_set=frozenset(model.model_fields_set))
        if shape.upload_field:
            vars(request)[shape.upload_field] = upload
        return request

    def check(self) -> None:
        """Check that the fields go together, after each of them was validated. Raises ValueError."""

    def to_dict(self) -> dict[str, Any]:
        """Return the fields by name, defaults included."""
        return {name: value for name, value in vars(self).items() if name != "fields_set"}

    def given(self) -> dict[str, Any]:
        """Return the fields that were given, by name."""
        return {name: value for name, value in vars(self).items() if name in self.fields_set}

    @classmethod
    def __get_pydantic_core_schema__(cls, source: object, handler: "GetCoreSchemaHandler") -> "CoreSchema":
        return handler.generate_schema(request_shape(cls).model)

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"cannot set {name!r}: a request is frozen")


class NoFields(Request):
    """Request without fields."""


@dataclass(frozen=True, slots=True)
class RequestShape:
    """What the annotations of a request class say; made once per class."""

    model: "type[BaseModel]"
    needs: Mapping[str, Needs]
    """Permission by the field that needs one."""
    upload_field: str


_shapes: dict[type[Request], RequestShape] = {}


def request_shape(request: type[Request]) -> RequestShape:
    """Return the shape of a request class."""
    if request not in _shapes:
        _shapes[request] = _build_shape(request)
    return _shapes[request]


def read_fields(request: type[Request]) -> dict[str, Any]:
    """Return the fields of a request class with their annotated types."""
    hints = get_type_hints(request, include_extras=True)
    return {name: hint for name, hint in hints.items() if name != "fields_set" and get_origin(hint) is not ClassVar}


def _build_shape(request: type[Request]) -> RequestShape:
    from pydantic import create_model, model_validator  # lazy: see above

    hints = read_fields(request)
    upload_field = next((name for name, hint in hints.items() if hint is Upload), "")
    hints.pop(upload_field, None)
    fields: dict[str, Any] = {name: (hint, getattr(request, name, ...)) for name, hint in hints.items()}
    checks: dict[str, Any] = {}
    if request.check is not Request.check:

        def check(model: Any) -> Any:
            request.check(model)
            return model

        checks["check"] = model_validator(mode="after")(check)
    extra = "ignore" if request.ignores_unknown else "forbid"
    config: Any = {"frozen": True, "hide_input_in_errors": True, "extra": extra}
    model = create_model(request.__name__, __config__=config, __validators__=checks, **fields)
    model.__doc__ = request.__doc__
    needs: dict[str, Needs] = {}
    for name, hint in hints.items():
        for each in _list_needs(hint):
            if name in needs:
                raise TypeError(f"{request.__name__}.{name} needs two permissions; one would be lost")
            needs[name] = each
    return RequestShape(model, needs, upload_field)


def _list_needs(hint: Any) -> Iterator[Needs]:
    """Yield the permissions in an annotation, at whatever depth, as in `Annotated[str, Needs("Chat")] | None`."""
    for each in get_args(hint):
        if isinstance(each, Needs):
            yield each
        yield from _list_needs(each)

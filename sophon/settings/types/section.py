"""Base class of all settings sections: key spelling, strictness, and conflicts between settings of one section.

Sections are plain classes; pydantic is loaded when values are validated or dumped, so that a process that uses the
defaults never loads it.
"""

import dataclasses
from collections.abc import Callable, Iterator, Mapping
from contextvars import ContextVar
from functools import lru_cache, partial
from types import MappingProxyType
from typing import (
    TYPE_CHECKING,
    Annotated,
    Any,
    ClassVar,
    Literal,
    Self,
    cast,
    dataclass_transform,
    get_args,
    get_origin,
)

from sophon._python.validation_without_pydantic import Accept, NotPlain, build_acceptor
from sophon.settings.types.json_type_checks import is_mapping

if TYPE_CHECKING:
    from pydantic import GetCoreSchemaHandler, TypeAdapter
    from pydantic_core import CoreSchema, PydanticCustomError, SchemaValidator

VALUE_ERROR_TYPE = "refused"
"""Type of the pydantic error whose message is already a complete sentence."""

CONFLICTS_ERROR_TYPE = "conflicts"
"""Type of the pydantic error that contains several conflicts of one section."""

_validated_section: ContextVar[type[Any] | None] = ContextVar("validated_section", default=None)
"""Section of which a validator is being built; those within it get validators of their own when they are given."""

MISSING: Any = dataclasses.MISSING
_NO_LIMITS = frozenset({"description", "alias", "json_schema_extra"})
"""What the metadata of a field has besides its limits."""

NONE_SET: frozenset[str] = frozenset()


def Field(  # noqa: N802 - declares a setting as pydantic's function declares a field of a model
    *, default: Any = MISSING, default_factory: Callable[[], Any] = MISSING, description: str, **limits: Any
) -> Any:
    """Declare a setting; without a default it is required.

    `limits` are those of `pydantic.Field`: ge, gt, le, lt, min_length, max_length, pattern, and `alias`.
    """
    metadata: dict[str, Any] = {"description": description, **limits}
    if isinstance(default, dict):  # each section has its own; the JSON Schema does not name what a factory makes
        metadata["json_schema_extra"] = {"default": default}
        return dataclasses.field(default_factory=cast("dict[str, Any]", default).copy, metadata=metadata)
    if default is not MISSING:
        return dataclasses.field(default=default, metadata=metadata)
    return dataclasses.field(default_factory=default_factory, metadata=metadata)


class FieldInfo:
    """Facts about one setting: JSON key, type of the value, description."""

    __slots__ = ("alias", "annotation", "description")

    def __init__(self, declared: "dataclasses.Field[Any]") -> None:
        self.alias: str = declared.metadata.get("alias") or to_pascal_case(declared.name)
        annotation: Any = declared.type
        self.annotation: Any = get_args(annotation)[0] if get_origin(annotation) is Annotated else annotation
        self.description: str = declared.metadata["description"]


def to_pascal_case(name: str) -> str:
    """Convert the Python name of a setting to its JSON key: `max_parallel` to `MaxParallel`."""
    return name.title().replace("_", "")


class SectionType(type):
    """Type of the sections: their fields are known by the class."""

    @property
    def model_fields(cls) -> Mapping[str, FieldInfo]:
        """The settings of the section by their Python names, in order."""
        return _read_fields(cls)


@dataclass_transform(kw_only_default=True, frozen_default=True, field_specifiers=(Field,))
class SettingsSection(metaclass=SectionType):
    """Settings section: PascalCase keys in JSON, snake_case in Python, frozen, unknown keys are errors.

    A section is made of its defaults alone, without pydantic, or of values, which are validated.
    """

    __pydantic_config__: ClassVar[Mapping[str, object]] = {
        "alias_generator": to_pascal_case,
        "populate_by_name": True,
        "frozen": True,
        "extra": "forbid",
        "allow_inf_nan": False,
    }

    changeable: ClassVar[tuple[str, ...]] = ()
    """Python names of the settings that an operator may change while the host runs: `sophon.settings.changeable`."""

    model_fields_set: ClassVar[frozenset[str]] = NONE_SET
    """Python names of the settings that were given and not left to their defaults; each instance has its own."""

    replaced_defaults: ClassVar[Mapping[str, Any]] = MappingProxyType({})
    """What settings had before `replace_defaults`, by their Python names; each instance has its own."""

    def __init_subclass__(cls) -> None:
        dataclasses.dataclass(init=False, repr=False, eq=False, kw_only=True)(cls)
        # A `Field` of pydantic would be taken for the value.
        foreign = [each.name for each in _declared(cls) if "description" not in each.metadata]
        if foreign:
            raise TypeError(f"{cls.__name__}.{foreign[0]}: declare it with `Field` of sophon.settings.types.section")
        if unknown := set(cls.changeable).difference(cls.model_fields):
            raise TypeError(f"{cls.__name__}.changeable names {unknown.pop()!r}, which is no setting of it")

    def __init__(self, **values: Any) -> None:
        """Make the section of defaults and `values`. Raises pydantic's ValidationError."""
        if values or any(each.default is MISSING and each.default_factory is MISSING for each in _declared(type(self))):
            vars(self).update(vars(type(self).model_validate(values)))
            return
        vars(self).update(_make_defaults(type(self)))

    @classmethod
    def defaults(cls) -> Self:
        """Return the section with its defaults only, without validation: it would load pydantic."""
        return cls()

    @classmethod
    def model_validate(cls, values: object) -> Self:
        """Return the section that `values` describe, in JSON spelling or that of Python.

        Raises pydantic's ValidationError. Plainly valid values are accepted without pydantic.
        """
        try:
            return cls.accept_plain(values)
        except ValueError:  # pydantic says what is wrong, if anything is
            section: Self = _get_validator(cls).validate_python(values)
            return section

    @classmethod
    def accept_plain(cls, values: object) -> Self:
        """Return the section of values that are plainly valid. Raises ValueError, also for others that are valid."""
        if type(values) is cls:
            return values
        if type(values) is not dict:
            raise NotPlain
        given = cast("dict[object, Any]", values)
        section = object.__new__(cls)
        found: dict[str, Any] = {}
        for name, (alias, accept, make_default) in _read_acceptors(cls).items():
            keys = [key for key in dict.fromkeys((alias, name)) if key in given]
            if len(keys) > 1:
                raise NotPlain
            found[name] = accept(given[keys[0]]) if keys else make_default()
        if len(_find_given(cls, cast("Mapping[str, object]", given))) != len(given):
            raise NotPlain
        vars(section).update(found, model_fields_set=_find_given(cls, cast("Mapping[str, object]", given)))
        if any(True for _ in section.find_conflicts()):
            raise NotPlain
        vars(section).update(section.derive_values())
        return section

    def model_dump(self, *, mode: Literal["python", "json"] = "python", by_alias: bool = False) -> dict[str, Any]:
        """Return the settings as a dict; with `mode="json"` of JSON types, with `by_alias` with the keys of JSON."""
        dumped: dict[str, Any] = get_adapter(type(self)).dump_python(self, mode=mode, by_alias=by_alias)
        return dumped

    def model_dump_json(self, *, by_alias: bool = False) -> str:
        """Return the settings as JSON."""
        return get_adapter(type(self)).dump_json(self, by_alias=by_alias).decode()

    def model_copy(self, *, update: Mapping[str, Any]) -> Self:
        """Return a copy with the settings in `update` changed, by their Python names and without validation."""
        copied = object.__new__(type(self))
        kept = {name: getattr(self, name) for name in type(self).model_fields}
        vars(copied).update(kept, **update, model_fields_set=self.model_fields_set | set(update))
        return copied

    def replace_defaults(self, values: Mapping[str, Any], *, sections: "Mapping[str, SettingsSection]") -> Self:
        """Return a copy in which settings have other defaults, and still count as not given; those of an earlier
        replacement are as they were. `sections` are the parts in which something is replaced.
        """
        before = self.replaced_defaults
        copied = object.__new__(type(self))
        kept = {name: getattr(self, name) for name in type(self).model_fields}
        replaced = {name: before.get(name, kept[name]) for name in values}
        vars(copied).update({**kept, **before, **values, **sections})
        vars(copied).update(model_fields_set=self.model_fields_set, replaced_defaults=replaced)
        return copied

    def find_conflicts(self) -> Iterator[tuple[str, str]]:
        """Yield (key, sentence) for every conflict between settings of this section."""
        yield from ()

    def derive_values(self) -> Mapping[str, object]:
        """Return the settings that follow from others, by their Python names; called when there are no conflicts."""
        return {}

    def __eq__(self, other: object) -> bool:
        if type(other) is not type(self):
            return NotImplemented
        return all(getattr(self, name) == getattr(other, name) for name in type(self).model_fields)

    def __hash__(self) -> int:
        return hash(tuple(getattr(self, name) for name in type(self).model_fields))

    def __repr__(self) -> str:
        shown = ", ".join(f"{name}={getattr(self, name)!r}" for name in type(self).model_fields)
        return f"{type(self).__name__}({shown})"

    def __setattr__(self, name: str, value: object) -> None:
        raise dataclasses.FrozenInstanceError(f"cannot assign to the setting {name!r}: settings are frozen")

    def __delattr__(self, name: str) -> None:
        raise dataclasses.FrozenInstanceError(f"cannot delete the setting {name!r}: settings are frozen")

    @classmethod
    def __get_pydantic_core_schema__(cls, source: object, handler: "GetCoreSchemaHandler") -> "CoreSchema":
        from pydantic_core import core_schema  # lazy: see above

        if _validated_section.get() not in (None, cls):
            # pydantic puts the errors of the inner validator below the path of this one.
            return core_schema.no_info_plain_validator_function(cls.model_validate)

        def validate(values: object, validate_fields: Callable[[object], Any]) -> Any:
            given = dict(values) if is_mapping(values) else None
            read, init_only = validate_fields(values if given is None else given)
            read["model_fields_set"] = _find_given(cls, given or {})
            return read, init_only

        schema = handler(source)
        made: Any = handler.resolve_ref_schema(schema)
        # Inside of the class's own schema: that is the one to which other sections refer.
        made["schema"] = core_schema.no_info_wrap_validator_function(validate, made["schema"])
        return schema

    def __post_init__(self) -> None:
        """Check that the settings go together, and set those that follow from others; called after a validation."""
        found = list(self.find_conflicts())
        if found:
            from pydantic_core import PydanticCustomError

            text = "; ".join(f"{key}: {sentence}" for key, sentence in found)
            raise PydanticCustomError(CONFLICTS_ERROR_TYPE, "{text}", {"text": text, "found": found})
        vars(self).update(self.derive_values())


def build_value_error(sentence: str) -> "PydanticCustomError":
    """Build the error that a validator raises; the user sees `sentence` unchanged, after the path."""
    from pydantic_core import PydanticCustomError

    return PydanticCustomError(VALUE_ERROR_TYPE, "{sentence}", {"sentence": sentence})


def _declared(section: type[Any]) -> tuple["dataclasses.Field[Any]", ...]:
    return dataclasses.fields(section)


@lru_cache(maxsize=256)
def _read_fields(section: type[Any]) -> Mapping[str, FieldInfo]:
    return {each.name: FieldInfo(each) for each in _declared(section)}


def _make_defaults(section: type[SettingsSection]) -> Iterator[tuple[str, Any]]:
    return ((each.name, _make_default(each)) for each in _declared(section))


def _find_given(section: type[SettingsSection], values: Mapping[str, object]) -> frozenset[str]:
    return frozenset(name for name, info in section.model_fields.items() if info.alias in values or name in values)


@lru_cache(maxsize=256)
def get_adapter(section: type[SettingsSection]) -> "TypeAdapter[Any]":
    """Return what dumps and describes a section; making it takes milliseconds, that of the root about 100."""
    from pydantic import TypeAdapter

    return TypeAdapter(section)


@lru_cache(maxsize=256)
def _read_acceptors(section: type[SettingsSection]) -> "Mapping[str, tuple[str, Accept, Callable[[], Any]]]":
    """Return the JSON key of each setting, what accepts its value, and what makes its default."""
    return {
        each.name: (
            section.model_fields[each.name].alias,
            build_acceptor(each.type, {key: each.metadata[key] for key in each.metadata if key not in _NO_LIMITS}),
            partial(_make_default, each),
        )
        for each in _declared(section)
    }


def _make_default(declared: "dataclasses.Field[Any]") -> Any:
    if declared.default is not MISSING:
        return declared.default
    make: Any = declared.default_factory
    if make is MISSING:  # the setting is required
        raise NotPlain
    return make()


@lru_cache(maxsize=256)
def _get_validator(section: type[SettingsSection]) -> "SchemaValidator":
    """Return the validator of a section; one within it that is not given costs nothing."""
    from pydantic import TypeAdapter
    from pydantic_core import SchemaValidator

    token = _validated_section.set(section)
    try:
        schema = TypeAdapter(section).core_schema
    finally:
        _validated_section.reset(token)
    # An adapter of a dataclass takes no configuration, and hiding the input is one of the outermost type.
    return SchemaValidator(schema, {"hide_input_in_errors": True})

"""Form of an elicitation: the fields of its schema, and the values that a person's texts stand for. Pure.

The schemas are those of MCP's primitive types: string, number, integer, boolean, an enumeration, and a list of
enumerated values. A pattern is not evaluated: the server checks it.
"""

import math
from collections.abc import Mapping, Sequence
from datetime import date, datetime
from typing import Any, Final, Literal, TypeAlias
from urllib.parse import urlsplit

from sophon._python.lazy_dataclass import dataclass
from sophon._python.lazy_pattern import lazy_pattern
from sophon.settings.types.json_type_checks import is_list, is_mapping

MAX_FIELDS: Final = 15
MAX_VALUES: Final = 50
MAX_TEXT: Final = 2000
LEAVE_OUT: Final = "(leave out)"
"""Answer that leaves an optional field out; offered as a choice."""

YES: Final = frozenset({"yes", "y", "true"})
NO: Final = frozenset({"no", "n", "false"})

FieldKind: TypeAlias = Literal["string", "integer", "number", "boolean", "choice", "choices"]
FieldValue: TypeAlias = str | int | float | bool | list[str]

_EMAIL = lazy_pattern(r"[^@\s]{1,200}@[^@\s]{1,200}")
_SECRET = lazy_pattern(
    r"(?i)pass(?:word|wd|phrase|code)|\bpwd\b|secret|credential|api[\s_-]?key|private[\s_-]?key|access[\s_-]?key"
    r"|(?:access|auth|bearer|refresh|api|session|security|login|id)[\s_-]?token|one[\s_-]?time[\s_-]?code"
    r"|card[\s_-]?number|seed[\s_-]?phrase"
)
_SECRET_NAME = lazy_pattern(r"(?i)^token$|\b(?:otp|2fa|mfa|cvv|cvc|pin|ssn|iban)\b")
"""Words that only a name or a title makes a request; a description may say what not to give."""


class InvalidForm(ValueError):
    """The schema is none that a person can be asked with."""


@dataclass(frozen=True, slots=True)
class FormField:
    """A field: `values` are those of an enumeration, `labels` what the person reads instead, `limits` the schema's."""

    name: str
    title: str
    description: str
    kind: FieldKind
    is_required: bool
    values: tuple[str, ...] = ()
    labels: tuple[str, ...] = ()
    default: FieldValue | None = None
    limits: Mapping[str, Any] | None = None

    @property
    def choices(self) -> list[str]:
        """Answers that are offered; a text is possible besides."""
        offered = {"boolean": ["yes", "no"], "choice": list(self.labels)}.get(self.kind, [])
        if self.default is not None and not offered:
            offered = [", ".join(self.default) if isinstance(self.default, list) else str(self.default)]
        return offered if self.is_required else [*offered, LEAVE_OUT]


def read_form(schema: Mapping[str, Any]) -> tuple[FormField, ...]:
    """Return the fields of a schema, in its order. Raises InvalidForm for what is no flat form of primitive types."""
    properties, required = schema.get("properties", {}), schema.get("required", [])
    if schema.get("type") != "object" or not is_mapping(properties) or not is_list(required):
        raise InvalidForm("the form is not described as an object")
    if len(properties) > MAX_FIELDS:
        raise InvalidForm(f"the form has {len(properties)} fields; at most {MAX_FIELDS} are asked")
    return tuple(_read_field(str(name), each, str(name) in required) for name, each in properties.items())


def _read_field(name: str, given: object, is_required: bool) -> FormField:
    if not is_mapping(given):
        raise InvalidForm(f"the field {name!r} has no schema")
    title, description = str(given.get("title") or name), str(given.get("description") or "")
    kind = given.get("type")
    if kind == "array":
        values, labels = _read_values(name, given.get("items"), key="anyOf")
        found: FieldKind = "choices"
    elif kind == "string" and ("enum" in given or "oneOf" in given):
        values, labels = _read_values(name, given, key="oneOf")
        found = "choice"
    elif kind in ("string", "integer", "number", "boolean"):
        values, labels, found = (), (), kind
    else:
        raise InvalidForm(f"the field {name!r} has a type that is not asked: {str(kind)[:40]}")
    field = FormField(name, title, description, found, is_required, values, labels, limits=dict(given))
    return FormField(name, title, description, found, is_required, values, labels, _read_default(field), dict(given))


def _read_values(name: str, given: object, *, key: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    if not is_mapping(given):
        raise InvalidForm(f"the field {name!r} lists no values")
    titled, plain = given.get(key), given.get("enum")
    if is_list(titled) and all(is_mapping(each) and "const" in each for each in titled):
        values = tuple(str(each["const"]) for each in titled if is_mapping(each))
        labels = tuple(str(each.get("title") or each["const"]) for each in titled if is_mapping(each))
    elif is_list(plain):
        values = tuple(map(str, plain))
        names = given.get("enumNames")
        labels = tuple(map(str, names)) if is_list(names) and len(names) == len(values) else values
    else:
        values = labels = ()
    if not 0 < len(values) <= MAX_VALUES:
        raise InvalidForm(f"the field {name!r} has {len(values)} values; 1 to {MAX_VALUES} are asked")
    return values, labels if len(set(labels)) == len(labels) else values


def _read_default(field: FormField) -> FieldValue | None:
    given = (field.limits or {}).get("default")
    if given is None or isinstance(given, (dict, bytes)):
        return None
    text = ", ".join(map(str, given)) if is_list(given) else str(given)
    try:
        value = parse_value(field, text)
    except ValueError:
        return None  # a default that its own schema forbids is not offered
    return value


def parse_value(field: FormField, text: str) -> FieldValue | None:
    """Return the value of an answer, None to leave the field out. Raises ValueError with the reason for a wrong one."""
    text = text.strip()
    if text == LEAVE_OUT:
        if field.is_required:
            raise ValueError("this field cannot be left out")
        return None
    limits = field.limits or {}
    if field.kind == "boolean":
        if text.casefold() not in YES | NO:
            raise ValueError("answer yes or no")
        return text.casefold() in YES
    if field.kind in ("integer", "number"):
        return _parse_number(field.kind, text, limits)
    if field.kind == "choice":
        return _find_value(field, text)
    if field.kind == "choices":
        chosen = list(dict.fromkeys(_find_value(field, each) for each in text.split(",") if each.strip()))
        _check_range(len(chosen), limits.get("minItems"), limits.get("maxItems"), "choose", "values")
        return chosen
    return _parse_string(text, limits)


def _parse_number(kind: str, text: str, limits: Mapping[str, Any]) -> int | float:
    try:
        number = int(text) if kind == "integer" else float(text)
    except ValueError:
        raise ValueError("this is not a whole number" if kind == "integer" else "this is not a number") from None
    if not math.isfinite(number):
        raise ValueError("this is not a number")
    _check_range(number, limits.get("minimum"), limits.get("maximum"), "the number must be", "")
    return number


def _find_value(field: FormField, text: str) -> str:
    wanted = text.strip().casefold()
    for names in (field.labels, field.values):
        for name, value in zip(names, field.values, strict=True):
            if name.strip().casefold() == wanted:
                return value
    if wanted.isascii() and wanted.isdigit() and len(wanted) < 4 and 1 <= int(wanted) <= len(field.values):
        return field.values[int(wanted) - 1]
    raise ValueError(f"{text.strip()[:40]!r} is none of the values")


def _parse_string(text: str, limits: Mapping[str, Any]) -> str:
    if len(text) > MAX_TEXT:
        raise ValueError(f"at most {MAX_TEXT} characters are possible")
    _check_range(len(text), limits.get("minLength"), limits.get("maxLength"), "the text must have", "characters")
    kind = str(limits.get("format"))
    if not _has_format(kind, text):
        raise ValueError(f"this is no {kind}")
    return text


def _has_format(kind: str, text: str) -> bool:
    """Return whether a text has one of the formats of the protocol; of another format nothing is checked."""
    try:
        if kind == "date":
            return date.fromisoformat(text).isoformat() == text
        if kind == "date-time":
            return "T" in text and bool(datetime.fromisoformat(text).isoformat())
        if kind == "uri":
            return bool(urlsplit(text).scheme)
    except ValueError:
        return False
    return kind != "email" or _EMAIL.fullmatch(text) is not None


def _check_range(value: float, low: object, high: object, what: str, unit: str) -> None:
    if isinstance(low, int | float) and value < low:
        raise ValueError(f"{what} at least {low:g} {unit}".rstrip())
    if isinstance(high, int | float) and value > high:
        raise ValueError(f"{what} at most {high:g} {unit}".rstrip())


def find_secret_request(message: str, fields: Sequence[FormField]) -> str:
    """Return the words with which a form asks for a secret, "" if it does not seem to.

    Servers must not ask for secrets in a form; what a person types here is stored with the conversation.
    """
    names = [text for each in fields for text in (each.name.replace("_", " "), each.title)]
    everything = [message, *names, *(each.description for each in fields)]
    found = [match[0] for text in everything if (match := _SECRET.search(text)) is not None]
    found += [match[0] for text in (message, *names) if (match := _SECRET_NAME.search(text)) is not None]
    return found[0] if found else ""

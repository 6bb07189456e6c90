"""Field types of settings: strict numbers, durations, choices, URLs, networks and import paths."""

import ipaddress
from datetime import timedelta
from typing import TYPE_CHECKING, Annotated, get_args
from urllib.parse import urlsplit

from sophon._python.lazy_pattern import lazy_pattern
from sophon._python.value_rules import ValueRules
from sophon.security import KNOWN_SECRETS, hide_url_secrets, query_secrets
from sophon.settings.types.section import build_value_error

if TYPE_CHECKING:
    from pydantic import GetCoreSchemaHandler
    from pydantic_core import CoreSchema

DURATION_PATTERN = r"^(?:(\d{1,8})\.)?([01]?\d|2[0-3]):([0-5]?\d):([0-5]?\d)(?:\.(\d{1,7}))?$"
"""`[days.]hours:minutes:seconds[.fraction]`, the constant format of a .NET TimeSpan."""

_DURATION = lazy_pattern(DURATION_PATTERN)
_TIME_OF_DAY = lazy_pattern(r"(?:[01][0-9]|2[0-3]):[0-5][0-9]")
_IMPORT_PATH = lazy_pattern(r"^[^\W\d]\w*(\.[^\W\d]\w*)*:[^\W\d]\w*(\.[^\W\d]\w*)*$")


class CaseInsensitive:
    """Annotation for a Literal of texts: values are matched ignoring case and stored in the declared spelling."""

    def rules_of(self, source: object) -> ValueRules:
        """Return the rules for a Literal."""
        spelling = {str(option).casefold(): str(option) for option in get_args(source)}

        def normalize_case(value: object) -> object:
            return spelling.get(value.casefold(), value) if isinstance(value, str) else value

        return ValueRules(before=normalize_case)

    def __get_pydantic_core_schema__(self, source: object, handler: "GetCoreSchemaHandler") -> "CoreSchema":
        return self.rules_of(source).__get_pydantic_core_schema__(source, handler)


def prefer_spelling(*names: str) -> ValueRules:
    """Return the rules of a text that is stored in the spelling of the name that it equals, ignoring case, if any."""
    spelling = {name.casefold(): name for name in names}

    def normalize_case(value: object) -> object:
        return spelling.get(value.casefold(), value) if isinstance(value, str) else value

    return ValueRules(before=normalize_case)


def parse_duration(value: object) -> timedelta:
    """Parse `HH:MM:SS` or `D.HH:MM:SS`, with an optional fraction; a timedelta is accepted. It must be above zero."""
    written = value  # an error shows what a person wrote, not what was made of it
    found = _DURATION.fullmatch(value) if isinstance(value, str) else None
    if found:
        days, hours, minutes, seconds, fraction = found.groups()
        value = timedelta(
            days=int(days or 0),
            hours=int(hours),
            minutes=int(minutes),
            seconds=int(seconds),
            microseconds=int((fraction or "0")[:6].ljust(6, "0")),
        )
    if not isinstance(value, timedelta) or value <= timedelta(0):
        raise build_value_error(
            f'{written!r} is not a duration; write it as "HH:MM:SS" or "D.HH:MM:SS", more than zero'
        )
    return value


def format_duration(value: timedelta) -> str:
    """Format a duration in the format of `parse_duration`: `00:05:00`, `1.00:00:00`, `00:00:00.250000`."""
    minutes, seconds = divmod(value.seconds, 60)
    hours, minutes = divmod(minutes, 60)
    days = f"{value.days}." if value.days else ""
    fraction = f".{value.microseconds:06}" if value.microseconds else ""
    return f"{days}{hours:02}:{minutes:02}:{seconds:02}{fraction}"


def _number_to_text(value: object) -> object:
    return str(value) if isinstance(value, int) and not isinstance(value, bool) else value


def _validate_url(value: str) -> str:
    try:
        parts = urlsplit(value)
        is_valid = parts.scheme in {"http", "https"} and bool(parts.hostname)
    except ValueError:
        raise build_value_error("not a URL; write it as https://host/path") from None
    if "@" in parts.netloc:
        raise build_value_error("a URL must not contain a user name or password; put secrets in their own setting")
    if not is_valid:
        raise build_value_error(f"{value!r} is not a URL; write it as https://host/path")
    for secret in query_secrets(value):
        KNOWN_SECRETS.add(secret)
    return value


def _validate_import_path(value: str) -> str:
    if not _IMPORT_PATH.fullmatch(value):
        raise build_value_error(f'{value!r} is not an import path; write it as "package.module:function"')
    return value


def _validate_classifier(value: str) -> str:
    if value != "shipped" and not value.endswith(".onnx") and not _IMPORT_PATH.fullmatch(value):
        raise build_value_error(
            f'{value!r} is no classifier; write "shipped", the path of an .onnx file, or "package.module:function"'
        )
    return value


def _validate_network(value: str) -> str:
    try:
        return str(ipaddress.ip_network(value))
    except ValueError as error:
        raise build_value_error(f'{value!r} is not a network ({error}); write it as "10.1.0.0/16"') from None


def _validate_time_zone(name: str) -> str:
    import zoneinfo  # lazy: UTC needs no database

    try:
        if name != "UTC":  # UTC also works on machines without a time zone database
            zoneinfo.ZoneInfo(name)
    except (KeyError, ValueError, OSError):
        raise build_value_error(f"{name!r} is not a time zone; write it as Europe/Vienna or UTC") from None
    return name


def _validate_time_of_day(value: str) -> str:
    if not _TIME_OF_DAY.fullmatch(value):
        raise build_value_error(f'{value!r} is not a time of day; write it as "22:00"')
    return value


WholeNumber = Annotated[int, ValueRules(strict=True)]
"""Integer; a text or a boolean is an error."""

FiniteNumber = Annotated[float, ValueRules(strict=True)]
"""Finite number; a text or a boolean is an error."""

Flag = Annotated[bool, ValueRules(strict=True)]
"""Strict boolean."""

Duration = Annotated[
    timedelta,
    ValueRules(
        before=parse_duration,
        dump=format_duration,
        json_schema={"type": "string", "format": "time-span", "pattern": DURATION_PATTERN},
    ),
]
"""Duration above zero: a timedelta in Python, `HH:MM:SS` or `D.HH:MM:SS` in JSON."""

PlatformId = Annotated[
    str,
    ValueRules(before=_number_to_text, json_schema={"type": ["string", "integer"], "format": "identity"}),
]
"""Id of a person, group or account on a platform: a text; an integer is converted to text."""

WebUrl = Annotated[
    str,
    ValueRules(after=_validate_url, dump=hide_url_secrets, json_schema={"type": "string", "format": "uri"}),
]
"""http or https URL without user name and password; dumped without its query, which may hold a key.
The values in the query are redacted in every error and log line."""

ImportPath = Annotated[
    str, ValueRules(after=_validate_import_path, json_schema={"type": "string", "format": "import-path"})
]
"""Import path `package.module:function`; validation does not import it."""

ClassifierReference = Annotated[str, ValueRules(after=_validate_classifier, json_schema={"type": "string"})]
"""Classifier of Shield: `shipped`, the path of an ONNX file, or an import path; nothing is opened or imported."""

TimeZoneName = Annotated[str, ValueRules(after=_validate_time_zone)]
"""Name of a time zone in the IANA database, such as Europe/Vienna, or UTC."""

TimeOfDay = Annotated[str, ValueRules(after=_validate_time_of_day)]
"""Time of day, HH:MM."""

CidrNetwork = Annotated[str, ValueRules(after=_validate_network, json_schema={"type": "string", "format": "cidr"})]
"""IPv4 or IPv6 network in CIDR notation, without host bits."""

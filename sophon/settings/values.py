"""The kinds of values settings are made of: strict numbers, durations, choices, addresses and import paths."""

import ipaddress
import re
from datetime import timedelta
from typing import Annotated, get_args
from urllib.parse import urlsplit

from pydantic import AfterValidator, BeforeValidator, GetCoreSchemaHandler, PlainSerializer, Strict, WithJsonSchema
from pydantic_core import CoreSchema, core_schema

from sophon.settings.section import refused

DURATION_PATTERN = r"^(?:(\d{1,8})\.)?([01]?\d|2[0-3]):([0-5]?\d):([0-5]?\d)(?:\.(\d{1,7}))?$"
"""`[days.]hours:minutes:seconds[.fraction]`, the constant format of a .NET TimeSpan."""

_DURATION = re.compile(DURATION_PATTERN)
_FACTORY = re.compile(r"^[^\W\d]\w*(\.[^\W\d]\w*)*:[^\W\d]\w*(\.[^\W\d]\w*)*$")


class AnyCase:
    """Marks a Literal of texts whose values may be written in any case; the declared spelling is what is kept."""

    def __get_pydantic_core_schema__(self, source: object, handler: GetCoreSchemaHandler) -> CoreSchema:
        spelling = {str(option).casefold(): str(option) for option in get_args(source)}

        def respell(value: object) -> object:
            return spelling.get(value.casefold(), value) if isinstance(value, str) else value

        return core_schema.no_info_before_validator_function(respell, handler(source))


def parse_duration(value: object) -> timedelta:
    """Read `HH:MM:SS` or `D.HH:MM:SS`, with an optional fraction; a timedelta passes. Zero and less are refused."""
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
        raise refused(f'{value!r} is not a duration; write it as "HH:MM:SS" or "D.HH:MM:SS", more than zero')
    return value


def format_duration(value: timedelta) -> str:
    """Write a duration as it is read: `00:05:00`, `1.00:00:00`, `00:00:00.250000`."""
    minutes, seconds = divmod(value.seconds, 60)
    hours, minutes = divmod(minutes, 60)
    days = f"{value.days}." if value.days else ""
    fraction = f".{value.microseconds:06}" if value.microseconds else ""
    return f"{days}{hours:02}:{minutes:02}:{seconds:02}{fraction}"


def _number_as_text(value: object) -> object:
    return str(value) if isinstance(value, int) and not isinstance(value, bool) else value


def _web_address(value: str) -> str:
    try:
        parts = urlsplit(value)
        named = parts.scheme in {"http", "https"} and bool(parts.hostname)
    except ValueError:
        raise refused("not a web address; write it as https://host/path") from None
    if "@" in parts.netloc:
        raise refused("a web address may not carry a user name or password; give secrets in a setting of their own")
    if not named:
        raise refused(f"{value!r} is not a web address; write it as https://host/path")
    return value


def _import_path(value: str) -> str:
    if not _FACTORY.fullmatch(value):
        raise refused(f'{value!r} is not an import path; write it as "package.module:function"')
    return value


def _network(value: str) -> str:
    try:
        return str(ipaddress.ip_network(value))
    except ValueError as error:
        raise refused(f'{value!r} is not a network ({error}); write it as "10.1.0.0/16"') from None


Whole = Annotated[int, Strict()]
"""A whole number; neither a text nor true or false."""

Number = Annotated[float, Strict()]
"""A finite number; neither a text nor true or false."""

Flag = Annotated[bool, Strict()]
"""true or false."""

Duration = Annotated[
    timedelta,
    BeforeValidator(parse_duration),
    PlainSerializer(format_duration, return_type=str),
    WithJsonSchema({"type": "string", "format": "time-span", "pattern": DURATION_PATTERN}),
]
"""A length of time above zero: a timedelta in Python, `HH:MM:SS` or `D.HH:MM:SS` in JSON."""

Identity = Annotated[
    str,
    BeforeValidator(_number_as_text),
    WithJsonSchema({"type": ["string", "integer"], "format": "identity"}),
]
"""The id of a person, group or account on a platform: a text; a whole number is taken as one."""

WebAddress = Annotated[str, AfterValidator(_web_address), WithJsonSchema({"type": "string", "format": "uri"})]
"""An http or https address without a password in it."""

ImportPath = Annotated[str, AfterValidator(_import_path), WithJsonSchema({"type": "string", "format": "import-path"})]
"""`package.module:function`. It is not imported here."""

Network = Annotated[str, AfterValidator(_network), WithJsonSchema({"type": "string", "format": "cidr"})]
"""An IPv4 or IPv6 network in CIDR notation, without host bits."""

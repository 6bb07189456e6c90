"""What the checks of the backends share: how a server is named, how clocks are compared, how an error is told."""

import os
from collections.abc import Mapping
from urllib.parse import urlsplit

from sophon._python.lazy_pattern import lazy_pattern
from sophon.extras import EXTRA_BY_PACKAGE, install_command
from sophon.security import redact
from sophon_hosting.programs.doctor.findings import DoctorFinding, failed, warning

CONNECT_SECONDS = 5.0
"""Time limit of connecting to an engine, and of a question to it."""

MAX_SKEW_SECONDS = 2.0
"""Difference between this machine's clock and an engine's that is worth a warning: leases last 9 seconds and more."""

_ERROR_NUMBER = lazy_pattern(r"Errno (\d+)")

CLOCK_FIX = "synchronise the clocks of both machines (NTP): due times, and times in the log, differ by that much"


def name_server(url: str) -> str:
    """Return the URL of a server without its user, password and parameters."""
    parts = urlsplit(url)
    host = parts.hostname or "localhost"
    host = f"[{host}]" if ":" in host else host
    port = f":{parts.port}" if parts.port else ""
    scheme = parts.scheme.partition("+")[0]
    return f"{scheme}://{host}{port}{parts.path}" if scheme != "unix" else f"unix://{parts.path}"


def unreachable(check: str, url: str, error: BaseException, setting: str) -> DoctorFinding:
    """Return the finding of a server that refuses, or that nobody can reach, without the secrets of its URL."""
    if isinstance(error, ImportError):
        extra = EXTRA_BY_PACKAGE.get(error.name or "", "postgres")  # psycopg may be there and lack its own library
        text = f"{name_server(url)} is not asked: {error.name or 'its client library'} is not installed"
        return failed(check, text, install_command(extra))
    reason = describe_connection_error(error)
    text = f"{name_server(url)} cannot be used: {hide_secrets(reason, url)}"
    return failed(check, text, f"start the server, or correct {setting}")


def describe_connection_error(error: BaseException) -> str:
    """Return the reason of an error in one line: its own words, or those of what caused it."""
    if isinstance(error, TimeoutError):
        return f"no answer within {CONNECT_SECONDS:g} s"
    text = str(error) or str(error.__cause__ or "") or type(error).__name__
    if number := _ERROR_NUMBER.search(text):
        return os.strerror(int(number[1]))
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return lines[0].rpartition(" failed: ")[2] if lines else type(error).__name__


def hide_secrets(text: str, url: str) -> str:
    """Return a text without the password of a URL, and without what looks like a secret."""
    password = urlsplit(url).password
    return redact(text.replace(password, "***") if password else text)


def check_skew(check: str, skew_seconds: float) -> list[DoctorFinding]:
    """Warn of clocks that differ by more than `MAX_SKEW_SECONDS`. Pure."""
    if abs(skew_seconds) <= MAX_SKEW_SECONDS:
        return []
    direction = "behind" if skew_seconds > 0 else "ahead of"
    text = f"the clock of this machine is {abs(skew_seconds):.1f} s {direction} that of the server"
    return [warning(check, text, CLOCK_FIX)]


def find_old_version(check: str, text: str, version: str, oldest: tuple[int, ...]) -> DoctorFinding | None:
    """Return the failure of a server that is older than `oldest`; `text` describes it."""
    if parse_version(version) >= oldest:
        return None
    return failed(check, text, f"update the server to {'.'.join(map(str, oldest))} or newer")


def parse_version(text: str) -> tuple[int, ...]:
    """Return the numbers at the beginning of a version: `7.0.15` as (7, 0, 15)."""
    numbers: list[int] = []
    for part in text.split("."):
        digits = part[: len(part) - len(part.lstrip("0123456789"))]
        if not digits:
            break
        numbers.append(int(digits))
        if digits != part:
            break
    return tuple(numbers)


def read_number(values: Mapping[str, object], name: str, default: float = 0) -> float:
    """Return a number of an engine's report; `default` if it is missing or none."""
    value = values.get(name)
    return float(value) if isinstance(value, (int, float)) else default

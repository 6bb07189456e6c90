"""Secrets in a URL: its password, and query parameters with the name of a secret."""

import re
from collections.abc import Iterator
from urllib.parse import parse_qsl, unquote, urlsplit

from sophon._python.lazy_pattern import lazy_pattern

HIDDEN = "***"
"""Stands for a hidden part of a URL that is shown."""

MIN_UNNAMED_CHARACTERS = 16
"""Length from which the value of a query parameter counts as a secret whatever the name of the parameter."""

_SECRET_PARAMETER = lazy_pattern(
    r"pass(?:word|wd|phrase)?$|pwd$|secret|token$|key$|credential|signature$|^sig$|^auth$|^authorization$",
    re.IGNORECASE,
)


def url_secrets(url: str) -> Iterator[str]:
    """Yield the password and the values of secret query parameters, as written and decoded; not a URL is all secret."""
    try:
        parts = urlsplit(url)
        password = parts.password
    except ValueError:
        yield url
        return
    if password:
        yield from (password, unquote(password))
    for part in parts.query.split("&"):
        name, _, value = part.partition("=")
        if value and is_secret_parameter(unquote(name)):
            yield value
            yield from (decoded for _, decoded in parse_qsl(part))


def query_secrets(url: str) -> Iterator[str]:
    """Yield the values of a URL's query that may be secrets, as written and decoded: those of secret parameters, and
    any of 16 characters or more; a shorter one, such as `api-version=2024-10-21`, also occurs in ordinary texts.
    """
    yield from url_secrets(url)
    for part in urlsplit(url).query.split("&"):
        value = part.partition("=")[2] or part
        if len(value) >= MIN_UNNAMED_CHARACTERS:
            yield from (value, unquote(value))


def is_secret_parameter(name: str) -> bool:
    """Return whether a query parameter of that name holds a secret: `sslpassword`, `api_key`, `sig`."""
    return _SECRET_PARAMETER.search(name) is not None


def hide_url_secrets(url: str) -> str:
    """Return the URL with scheme, host and path; its user information, query and fragment are hidden."""
    scheme, separator, rest = url.partition("://")
    credentials, at, location = rest.rpartition("@")
    # An unescaped password may contain these characters; an ambiguous URL is hidden as a whole.
    if not separator or "?" in credentials or "#" in credentials:
        return HIDDEN
    path = re.split(r"[?#]", location, maxsplit=1)
    return f"{scheme}://{HIDDEN + at if at else ''}{path[0]}{f'?{HIDDEN}' if len(path) > 1 else ''}"

"""Seen links: whether an address was in a text before, or may have been made up to carry data in it."""

import re
from collections.abc import Iterable, Mapping
from typing import Any, Final
from urllib.parse import urlsplit

MAX_URL_CHARACTERS: Final = 8000

_PLAIN_TYPES: Final = frozenset(
    {
        *("*/*", "text/html", "text/plain", "text/xml", "application/json", "application/xml", "application/rss+xml"),
        *("application/atom+xml", "application/xhtml+xml"),
    }
)

_LINK_CHARACTERS: Final = frozenset(
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~:/?#[]@!$&'()*+,;=%"
)
_CLOSING: Final = frozenset(".,;:!?)]'*")
"""Characters of a link that end it if they are followed by no other character of a link."""

_HOST_CHARACTERS: Final = frozenset("abcdefghijklmnopqrstuvwxyz0123456789-._@")


def is_seen_link(arguments: Mapping[str, Any], texts: Iterable[str]) -> bool:
    """Return whether a request for a page sends nothing but an address that one of the texts contains as a whole.

    A part of a link is another link: where a longer one is cut carries data too. Of an address without a path only the
    host must be in a text. Headers other than a common Accept send data.
    """
    url = arguments.get("url")
    if not isinstance(url, str) or not 0 < len(url) <= MAX_URL_CHARACTERS or not _has_plain_headers(arguments):
        return False
    host = _bare_host(url)
    return any(_contains_link(text, url) or (host and _contains_host(text, host)) for text in texts)


def _has_plain_headers(arguments: Mapping[str, Any]) -> bool:
    headers = arguments.get("headers")
    if not headers:
        return True
    if not isinstance(headers, Mapping):
        return False
    items: Mapping[object, object] = headers  # pyright: ignore[reportUnknownVariableType] - JSON
    return all(str(name).lower() == "accept" and value in _PLAIN_TYPES for name, value in items.items())


def _contains_link(text: str, url: str) -> bool:
    at = text.find(url)
    while at >= 0:
        end = at + len(url)
        while end < len(text) and text[end] in _CLOSING:
            end += 1
        before = text[at - 1 : at]
        if not (_continues_link(text[end : end + 1]) or (_continues_link(before) and before not in "('")):
            return True
        at = text.find(url, at + 1)
    return False


def _continues_link(character: str) -> bool:
    return character in _LINK_CHARACTERS or character.isalnum()


def _bare_host(url: str) -> str:
    """Return the host of an address that consists of nothing else; empty for any other."""
    try:
        host = urlsplit(url).hostname or ""
    except ValueError:
        return ""
    return host if host and re.fullmatch(rf"https?://{re.escape(host)}/?", url, re.IGNORECASE) else ""


def _contains_host(text: str, host: str) -> bool:
    lowered = text.lower()
    at = lowered.find(host)
    while at >= 0:
        before, after = lowered[at - 1 : at], lowered[at + len(host) : at + len(host) + 2]
        follows = after[:1] in _HOST_CHARACTERS and not (after[:1] == "." and after[1:] not in _HOST_CHARACTERS)
        if (not before or before not in _HOST_CHARACTERS) and (not after or not follows):
            return True
        at = lowered.find(host, at + 1)
    return False

"""Risk assessment: the risk of a call by its arguments, from patterns (reference/wasp.md 4.6).

It raises the risk of a call above that of its tool, never lowers it; LOW means that nothing was found.
"""

import ipaddress
import posixpath
import re
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from typing import Any, Final
from urllib.parse import urlsplit

from sophon.risk import Risk
from sophon.security.assessed_arguments import PATH_ARGUMENTS, RECIPIENT_ARGUMENTS, sends_mail
from sophon.security.commands.nested_scripts import find_all_commands
from sophon.security.linear_patterns import LinearPattern, compile_linear, make_encodable

MAX_CHARACTERS: Final = 1_000_000
"""A longer argument is of HIGH risk: nobody reads it."""

_SHELL_HIGH: Final = (
    r"\brm\s+(?:\S+\s+)*(?:-[a-z]*[rf][a-z]*|--recursive|--force|--no-preserve-root)\b",
    r"\bdd\b.*\b(?:if|of)=",
    r"\bmkfs(?:\.\w+)?\b|\bwipefs\b",
    r">{1,2}\|?\s*/dev/(?:sd|hd|vd|xvd|nvme|mmcblk|disk)",
    r"\bshred\b",
    r"[\w:]+\s*\(\)\s*\{[^}]*\|[^}]*&\s*;?\s*\}",  # fork bomb
    r"\bchmod\s+(?:-\S+\s+)*(?:[0-7]{0,2}[0-7][0-7][2367]|[ug]*[ao][ugoa]*[+=][rstx]*w)",
    r"\b(?:drop\s+(?:table|database|schema)|truncate\s+(?:table\s+)?\w)",
    r"\bkillall\b",
    r"\b(?:ip6?tables\s+(?:-\S+\s+)*(?:-F|--flush)|nft\s+flush)\b",
    r"(?:>{1,2}\|?\s*|\b(?:tee|cp|mv|install|sed\s+-i\S*)\s.*)/etc/(?:passwd|shadow|gshadow|group|sudoers)",
    r"/dev/(?:tcp|udp)/|\b(?:nc|ncat|netcat)\b.*\s-\w*[ec]\b",  # reverse shell
)
_SHELL_MEDIUM: Final = (
    r"\b(?:curl|wget)\b.*\|\s*(?:sudo\s+)?(?:\S*/)?(?:ba|z|da|k)?sh\b",
    r"\b(?:ba|z|da|k)?sh\s+(?:-c\s+)?[\"']?(?:<\(|\$\(|`)\s*(?:curl|wget)\b",
    r"\b(?:apt|apt-get|yum|dnf|apk|brew)\s+(?:-\S+\s+)*(?:remove|purge|autoremove|uninstall|erase|del)\b",
    r"\b(?:pip3?|npm|uv\s+pip)\s+uninstall\b",
    r"\bsystemctl\s+(?:-\S+\s+)*(?:stop|disable|mask|kill)\b",
    r"\bdocker\s+(?:container\s+|image\s+|volume\s+)?(?:rm|rmi|prune|kill)\b",
    r"\b(?:sudo|doas)\b",
    r">{1,2}\|?\s*/data/",
)
_PYTHON_HIGH: Final = (
    r"\bos\s*\.\s*(?:system|popen|exec[lv]\w*|spawn\w+)\b",
    r"\bsubprocess\b.*shell\s*=\s*True",
    r"\bshutil\s*\.\s*rmtree\b",
    r"\bos\s*\.\s*(?:remove|unlink|rmdir|removedirs)\s*\(\s*[rbuf]*[\"']/(?:etc|bin|usr|lib|sbin|boot|var)\b",
    r"\b__import__\s*\(\s*[\"']os\b",
    r"\b(?:eval|exec)\s*\(",
)
_PYTHON_MEDIUM: Final = (
    r"\bopen\s*\(\s*[rbuf]*[\"']/(?:etc|bin|usr|lib|sbin|boot)[^,)]*,\s*(?:mode\s*=\s*)?[\"'][wax]",
    r"\b(?:requests|httpx)\s*\.\s*(?:post|put|delete|patch)\b",
    r"\bsocket\s*\.\s*socket\b",
    r"\bimportlib\b|\b__import__\s*\(",
)

_SYSTEM_FOLDERS: Final = frozenset({"etc", "bin", "usr", "lib", "lib64", "sbin", "boot"})

_DATA_FOLDER: Final = "/data/"
"""Folder of an agent's own files in WASP; also the built-in tools' default root has that name."""

_WRITES: Final = re.compile(r"write|delete|remove|move|copy|create|append|save|edit|update", re.IGNORECASE)

_MAIL_ADDRESS: Final = re.compile(r"[^\s<>,;\"']+@[^\s<>,;\"']+")

_INTERNAL_SUFFIXES: Final = (".local", ".internal", ".lan", ".home.arpa", ".corp", ".intranet", ".localhost")


def assess_risk(tool_name: str, arguments: Mapping[str, Any], *, known_recipients: Iterable[str] = ()) -> Risk:
    """Return LOW, MEDIUM or HIGH by what a call's arguments would do; never raises.

    Looked at are `command` (shell), `code` (Python), `method` with `url`, the paths of files, and the recipients of
    a mail (HIGH if one of them is not among `known_recipients`), whatever the tool is called.
    """
    found = [
        *(_assess_shell(text) for text in _texts(arguments, "command")),
        *(_assess_patterns(text, _PYTHON_HIGH, _PYTHON_MEDIUM) for text in _texts(arguments, "code")),
        *(_assess_path(tool_name, path) for name in PATH_ARGUMENTS for path in _texts(arguments, name)),
        *(_assess_request(arguments, url) for url in _texts(arguments, "url")),
        _assess_recipients(tool_name, arguments, known_recipients),
    ]
    return max(found, default=Risk.LOW)


def find_mail_addresses(text: str) -> list[str]:
    """Return the mail addresses in a text, without the punctuation around them."""
    return [address.strip("()[]{}.:!?'`") for address in _MAIL_ADDRESS.findall(text)]


def _texts(arguments: Mapping[str, Any], name: str) -> Iterator[str]:
    """Yield the texts of an argument; a list of words, such as an argv, is joined."""
    value: object = arguments.get(name)
    if isinstance(value, str):
        yield make_encodable(value)
    elif isinstance(value, list | tuple):
        words: list[object] = list(value)  # pyright: ignore[reportUnknownArgumentType] - JSON
        yield make_encodable(" ".join(word for word in words if isinstance(word, str)))


def _assess_shell(text: str) -> Risk:
    """Assess a command as it is written, and as the shell understands it: `r''m -r -f` is `rm -r -f`."""
    risk = _assess_patterns(text, _SHELL_HIGH, _SHELL_MEDIUM)
    if risk is Risk.HIGH:
        return risk
    for command in find_all_commands(text).commands:
        words = " ".join(word.text for word in command.words)
        redirections = " ".join(f"{each.operator} {each.target.text}" for each in command.redirections)
        risk = max(risk, _assess_patterns(f"{words} {redirections}", _SHELL_HIGH, _SHELL_MEDIUM))
    return risk


def _assess_patterns(text: str, high: tuple[str, ...], medium: tuple[str, ...]) -> Risk:
    if len(text) > MAX_CHARACTERS or _compile(high).search(text):
        return Risk.HIGH
    return Risk.MEDIUM if _compile(medium).search(text) else Risk.LOW


@cache
def _compile(patterns: tuple[str, ...]) -> LinearPattern:
    return compile_linear("|".join(f"(?:{each})" for each in patterns), ignore_case=True)


def _assess_path(tool_name: str, path: str) -> Risk:
    normalized = posixpath.normpath(path.replace("\\", "/"))
    parts = normalized.lstrip("/").split("/")
    if normalized.startswith("/") and parts[0].casefold() in _SYSTEM_FOLDERS:
        return Risk.HIGH
    outside = normalized.startswith(("/", "~", "..")) and not f"{normalized}/".startswith(_DATA_FOLDER)
    return Risk.MEDIUM if outside and _WRITES.search(tool_name) else Risk.LOW


def _assess_request(arguments: Mapping[str, Any], url: str) -> Risk:
    method = str(arguments.get("method") or "GET").strip().upper()
    if method == "DELETE" or (method in ("PUT", "PATCH") and _is_internal(url)):
        return Risk.MEDIUM
    return Risk.LOW


def _is_internal(url: str) -> bool:
    """Return whether the URL names a private address or host; what cannot be read counts as one."""
    try:
        host = urlsplit(url if "://" in url else f"//{url}").hostname
    except ValueError:
        return True
    if not host:
        return True
    try:
        return not ipaddress.ip_address(host).is_global
    except ValueError:
        return "." not in host or host.rstrip(".").endswith(_INTERNAL_SUFFIXES)


def _assess_recipients(tool_name: str, arguments: Mapping[str, Any], known: Iterable[str]) -> Risk:
    if not sends_mail(tool_name):
        return Risk.LOW
    addresses = {
        address.casefold()
        for name in RECIPIENT_ARGUMENTS
        for text in _texts(arguments, name)
        for address in _MAIL_ADDRESS.findall(text)
    }
    return Risk.HIGH if addresses - {each.casefold() for each in known} else Risk.LOW

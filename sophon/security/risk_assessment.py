"""Risk assessment: the risk of a call by its arguments, from patterns (WASP, risk assessor).

It raises the risk of a call above that of its tool, never lowers it; LOW means that nothing was found.
"""

import ipaddress
import posixpath
import re
import shlex
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from typing import Any, Final
from urllib.parse import urlsplit

from sophon.risk import Risk
from sophon.security.assessed_arguments import (
    CODE_ARGUMENTS,
    PATH_ARGUMENTS,
    RECIPIENT_ARGUMENTS,
    SHELL_ARGUMENTS,
    find_objects,
    is_assessed,
    sends_mail,
)
from sophon.security.commands.command_forms import find_command_forms
from sophon.security.file_access import read_command_text
from sophon.security.heuristics.payload_texts import TooManyValues, find_texts
from sophon.security.linear_patterns import LinearPattern, compile_linear, make_encodable

MAX_CHARACTERS: Final = 1_000_000
"""A longer argument is of HIGH risk: nobody reads it."""

MAX_OBJECTS: Final = 2000
"""Objects with commands, paths and the like in the arguments; of more the risk is HIGH: each is read."""

_SHELL_HIGH: Final = (
    r"\brm\s+(?:\S+\s+)*(?:-[a-z]*[rf][a-z]*|--r[a-z]*|--f[a-z]*|--no-p[a-z-]*)\b",
    r"\bfind\b.*\s-delete\b|\s-(?:exec|execdir|ok|okdir)\s+(?:sudo\s+)?(?:/\S*/)?rm\b",
    r"\bgit\s+(?:-\S+\s+)*clean\s+(?:\S+\s+)*-[a-z]*f",
    r"\bLD_(?:PRELOAD|AUDIT)=|\benable\s+-f\b|\bsocat\b.*\b(?:exec|system|shell):",
    r"'[A-Za-z_]\w*\[[^\]']*(?:\$\(|`)",  # a subscript that a builtin of the shell evaluates in quotes
    r"\bdd\b.*\b(?:if|of)=",
    r"\bmkfs(?:\.\w+)?\b|\bwipefs\b",
    r"(?:>{1,2}\|?\s*|\b(?:tee|sponge|cp|mv|install)\s.*)/dev/(?:sd|hd|vd|xvd|nvme|mmcblk|disk)|\bblkdiscard\b",
    r"\bshred\b",
    r"[\w:]+\s*\(\)\s*\{[^}]*\|[^}]*&\s*;?\s*\}",  # fork bomb
    r"\bchmod\s+(?:-\S+\s+)*(?:[0-7]{0,2}[0-7][0-7][2367]|[ug]*[ao][ugoa]*[+=][rstx]*w)",
    r"\b(?:drop\s+(?:table|database|schema)|truncate\s+(?:table\s+)?\w)",
    r"\bkillall\b",
    r"\b(?:ip6?tables\s+(?:-\S+\s+)*(?:-F|--flush)|nft\s+flush)\b",
    r"(?:>{1,2}\|?\s*|\b(?:tee|cp|mv|install|sed\s+-i\S*)\s.*)/etc/(?:passwd|shadow|gshadow|group|sudoers)",
    r"/dev/(?:tcp|udp)/|\b(?:nc|ncat|netcat)\b.*\s-\w*[ec]\b",  # reverse shell
)
_WINDOWS_HIGH: Final = (
    r"\b(?:remove-item|ri|rni)\s(?:[^|;]*\s)?-(?:r|rec\w*|fo\w*)\b",
    r"\b(?:rd|rmdir)\s+(?:\S+\s+)*/s\b|\b(?:del|erase)\s+(?:\S+\s+)*/[sfq]\b",
    r"\b(?:rd|rmdir|del|erase|rm)\s+(?:[^|;]*\s)?-rec\w*\b",
    r"\bformat(?:\.com)?\s+[a-z]:|\bformat-volume\b|\bclear-disk\b|\bdiskpart\b|\bcipher\s+/w",
    r"\b(?:powershell|pwsh)(?:\.exe)?\b.*\s[-/]e(?:nc?|c|ncod\w*)?\s",
    r"\b(?:powershell|pwsh)(?:\.exe)?\s.*(?:&\s*[(\"'$]|\[char\]|-join\b|frombase64string)",
    r"(?:\biex|\binvoke-expression)\s*(?:\(|\$|[\"'])|\|\s*(?:iex|invoke-expression)\b|\biex\s+.*\b(?:iwr|irm|curl)\b",
    r"\bcertutil\b.*-urlcache|\bbitsadmin\b.*/transfer|\b(?:mshta|regsvr32|rundll32)\s",
    r"\breg(?:\.exe)?\s+delete\b|\bvssadmin\s+delete\b|\bwmic\b.*\bdelete\b|\bbcdedit\s+/",
)
"""Commands of PowerShell and cmd.exe; a caret and a backtick within a word are left out before."""
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
_DELETED: Final = r"\s*\(\s*(?:[\w.]+\(\s*)*[rbuf]*[\"'](?:~|/(?:[^t]|t[^m]|tm[^p]))"
"""A call whose argument is a path outside of the working folder, and not of a temporary file."""

_CODE_HIGH: Final = (
    r"\b(?:child_process|execSync|spawnSync|execFile\w*|shell_exec|passthru|proc_open|mainmodule)\b",
    r"\b(?:rmtree|remove_tree|rmsync|rmdirsync|rm_rf?|remove_entry_secure|removedirs|dirtree)\b",
    r"\bfs[\w.)\"']*\.\s*rm(?:dir)?\b|\bprocess\s*\.\s*binding\b",
    r"\bdeno\s*\.\s*(?:remove\w*|run|command)\b|\bbun\s*\.\s*(?:spawn\w*|\$)",
    rf"\b(?:unlink|unlinkSync|rmdir|rm|(?:os|fs)\s*\.\s*remove\w*|file\s*\.\s*(?:delete|unlink)){_DELETED}",
    rf"\bpath{_DELETED}[^\n;]*\.\s*(?:unlink|rmdir)\s*\(",
)
"""Patterns of code in any language: it starts programs, deletes folders, or files that are not its own."""

_PYTHON_HIGH: Final = (
    *_CODE_HIGH,
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

_INLINE_HIGH: Final = (
    *_PYTHON_HIGH,
    r"\b(?:system|popen|spawn\w*|subprocess|qx)\b|`|\bexec\b",
    r"\bos\s*\.\s*(?:execute|removedirs)\b|\bgetattr\s*\(\s*(?:os|subprocess|builtins|__builtins__|sys)\b",
    r"\bunlink(?:sync)?[\"']?\]?\s*[(\"'<@$]|\bimport\b[^;\n]*\b(?:remove|unlink|rmdir)\b|\brm\s*\(\s*[\"']|\bfile\s+delete\b",
    r"\bos\s*\.\s*(?:remove|truncate|rmdir)\b|\b(?:file|dir|fileutils)\s*\.\s*(?:delete|unlink|rm\w*|remove\w*)\b",
    r"\b(?:unlink|remove)\b.*\b(?:glob|rglob|walk|listdir|readdir)\b|\b(?:glob|rglob|walk|listdir|readdir)\b.*\b(?:unlink|remove)\b",
    r"\bopen\b[^;]*[\"']\s*\||\bopen\b[^;]*\|\s*[\"']|\bshell-command\b|\bdo\s+shell\s+script\b",
)
"""Patterns of code that a command passes to an interpreter: there it starts programs that no shell shows."""

_SYSTEM_FOLDERS: Final = frozenset({"etc", "bin", "usr", "lib", "lib64", "sbin", "boot"})

_DATA_FOLDER: Final = "/data/"
"""Folder of an agent's own files in WASP; also the built-in tools' default root has that name."""

_WRITES: Final = re.compile(r"write|delete|remove|move|copy|create|append|save|edit|update", re.IGNORECASE)

_MAIL_WORD: Final = re.compile(r"[^\s<>,;\"']+")

_INTERNAL_SUFFIXES: Final = (".local", ".internal", ".lan", ".home.arpa", ".corp", ".intranet", ".localhost")


def assess_risk(tool_name: str, arguments: object, *, known_recipients: Iterable[str] = ()) -> Risk:
    """Return LOW, MEDIUM or HIGH by what a call's arguments would do; never raises.

    Looked at are commands of a shell (`command`, `cmd`), code (`code`, `script`), `method` with `url`, the paths of
    files, and the recipients of a mail (HIGH if one of them is not among `known_recipients`), whatever the tool is
    called, and in objects among the arguments, too. A command is judged as the shell would expand it; one that may run
    any program is HIGH. Arguments that are no mapping are judged as commands and code.
    """
    top, known = _to_mapping(arguments), [*known_recipients]
    found = Risk.LOW
    try:
        objects = (each for each in find_objects(top) if each is top or is_assessed(tool_name, each))
        for count, named in enumerate(objects):
            found = Risk.HIGH if count == MAX_OBJECTS else max(found, _assess_object(tool_name, named, known))
            if found is Risk.HIGH:
                break
    except TooManyValues:
        return Risk.HIGH
    return found


def _assess_object(tool_name: str, named: Mapping[Any, Any], known_recipients: Iterable[str]) -> Risk:
    """Assess the arguments, or an object in them. Raises TooManyValues."""
    found = [
        *(_assess_shell(text) for text in _find_commands(named)),
        *(_assess_code(text) for name in CODE_ARGUMENTS for text in _texts(named, name)),
        *(_assess_path(tool_name, path) for name in PATH_ARGUMENTS for path in _texts(named, name)),
        *(_assess_request(named, url) for url in _texts(named, "url")),
        _assess_recipients(tool_name, named, known_recipients),
    ]
    return max(found, default=Risk.LOW)


def find_mail_addresses(text: str) -> list[str]:
    """Return the mail addresses in a text, without the punctuation around them."""
    return [address.strip("()[]{}.:!?'`") for address in _find_addresses(text)]


def _find_addresses(text: str) -> list[str]:
    # A pattern with the `@` in it takes quadratic time for a long word without one.
    return [word for word in _MAIL_WORD.findall(text) if "@" in word[1:-1]]


def _to_mapping(arguments: object) -> Mapping[Any, Any]:
    if isinstance(arguments, Mapping):
        return arguments  # pyright: ignore[reportUnknownVariableType] - JSON
    return {"command": arguments, "code": arguments}


def _find_commands(arguments: Mapping[Any, Any]) -> Iterator[str]:
    """Yield the commands: each as it is, and the whole of a program and its arguments in several."""
    for name in SHELL_ARGUMENTS:
        if name in arguments:
            yield from _texts(arguments, name, quotes=name != "commands")
    if "args" in arguments or "arguments" in arguments or "argv" in arguments:
        yield make_encodable(read_command_text(arguments))


def _texts(arguments: Mapping[Any, Any], name: str, *, quotes: bool = False) -> Iterator[str]:
    """Yield the texts of an argument, those in lists and objects too.

    A list of words, such as an argv, is joined, one in another list, too; with `quotes` so that a shell reads the same
    words, and its texts are no commands of their own. Raises TooManyValues.
    """
    value: object = arguments.get(name)
    words: list[str] = []
    if isinstance(value, list | tuple):
        items: list[object] = list(value)  # pyright: ignore[reportUnknownArgumentType] - JSON
        words = [word for word in items if isinstance(word, str)]
        yield make_encodable(shlex.join(words) if quotes else " ".join(words))
        if quotes and len(words) == len(items):
            return
        yield from _join_inner(items)
    for text in find_texts(arguments.get(name)):
        if text not in words or not quotes:
            yield make_encodable(text)


def _join_inner(items: list[object]) -> Iterator[str]:
    """Yield the lists of words in a list, each joined: `[["rm", "-r", "x"]]` has one command."""
    for each in items:
        if isinstance(each, list | tuple):
            inner: list[object] = list(each)  # pyright: ignore[reportUnknownArgumentType] - JSON
            yield make_encodable(shlex.join(word for word in inner if isinstance(word, str)))


def _assess_shell(text: str) -> Risk:
    """Assess a command as it is written, and as the shell understands it: `r''m -r -f` is `rm -r -f`."""
    risk = _assess_patterns(text, _SHELL_HIGH, _SHELL_MEDIUM)
    if _compile(_WINDOWS_HIGH).search(text.replace("^", "").replace("`", "")):
        return Risk.HIGH
    if risk is Risk.HIGH or find_command_forms(text).is_hidden:
        return Risk.HIGH
    return max(risk, _assess_forms(text))


def _assess_code(text: str) -> Risk:
    """Assess code as Python, and as a script of a shell, which it may be."""
    risk = _assess_patterns(text, _PYTHON_HIGH, _PYTHON_MEDIUM)
    if risk is Risk.HIGH:
        return risk
    forms = find_command_forms(text)
    if forms.is_unread or (forms.is_hidden and forms.is_readable and ("$" in text or "`" in text)):
        return Risk.HIGH
    return max(risk, _assess_forms(text))


def _assess_forms(text: str) -> Risk:
    forms = find_command_forms(text)
    assessed = (_assess_patterns(each, _SHELL_HIGH, _SHELL_MEDIUM) for each in forms.texts)
    inline = (_assess_patterns(each, _INLINE_HIGH, _PYTHON_MEDIUM) for each in forms.code)
    return max((*assessed, *inline), default=Risk.LOW)


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


def _assess_request(arguments: Mapping[Any, Any], url: str) -> Risk:
    given = arguments.get("method")
    method = given.strip().upper() if isinstance(given, str) else "GET"
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


def _assess_recipients(tool_name: str, arguments: Mapping[Any, Any], known: Iterable[str]) -> Risk:
    if not sends_mail(tool_name):
        return Risk.LOW
    addresses = {
        address.casefold()
        for name in RECIPIENT_ARGUMENTS
        for text in _texts(arguments, name)
        for address in _find_addresses(text)
    }
    return Risk.HIGH if addresses - {each.casefold() for each in known} else Risk.LOW

"""Commands in the arguments of programs that are no shells: `tar --to-command`, `git -c core.pager=` and the like.

Sources: the manuals of the programs, and gtfobins.github.io for the options that start another program.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Final


def find_option_scripts(program: str, words: Sequence[str]) -> Iterator[str]:
    """Yield the texts that a program runs as commands; `words` are its arguments."""
    options = _OPTIONS.get(program)
    if options is not None:
        yield from _find_values(options, words)
    if program in _ESCAPING:
        yield from (match[1] for word in words for match in _ESCAPED.finditer(word))
    if program == "git":
        yield from _find_in_git(words)
    elif program == "make":
        yield from (word.partition("=")[2] for word in words if _VARIABLE.match(word))


def find_awk_scripts(code: str) -> Iterator[str | None]:
    """Yield the commands whose output or input is a pipe of AWK code; None for one that the code computes."""
    for match in _AWK_PIPE.finditer(code):
        text = match["to"] or match["source"]
        command = None if text is None else "".join(_AWK_STRING.findall(text)).replace('\\"', '"')
        yield None if command is None or _SHELL.match(command) else command


def _find_values(options: "re.Pattern[str]", words: Sequence[str]) -> Iterator[str]:
    for index, word in enumerate(words):
        match = options.match(word)
        if match is None:
            continue
        value = word[match.end() :]
        if value or word.endswith("="):
            yield value
        elif index + 1 < len(words):
            yield words[index + 1].removeprefix("exec=")


def _find_in_git(words: Sequence[str]) -> Iterator[str]:
    plain = list(words)
    while plain and plain[0].startswith("-"):
        option = plain.pop(0)
        if option in ("-c", "-C", "--git-dir", "--work-tree", "--namespace", "--exec-path") and plain:
            value = plain.pop(0)
            if option == "-c":
                name, _, text = value.partition("=")
                yield from _read_git_setting(name, text)
    yield from (match[1].replace("% ", " ") for word in words for match in _GIT_EXT.finditer(word))
    if not plain:
        return
    command, rest = plain[0], plain[1:]
    if command == "config":
        values = [each for each in rest if not each.startswith("-")]
        if len(values) > 1:
            yield from _read_git_setting(values[0], values[1])
    elif command in ("submodule", "bisect"):
        start = next((at for at, each in enumerate(rest) if each in ("foreach", "run")), None)
        if start is not None:
            yield " ".join(each for each in rest[start + 1 :] if each != "--recursive")
    elif command in _GIT_OPTIONS:
        yield from _find_values(_GIT_OPTIONS[command], rest)


def _read_git_setting(name: str, text: str) -> Iterator[str]:
    if _GIT_SETTING.fullmatch(name):
        yield text.removeprefix("!")


def _compile(pattern: str) -> "re.Pattern[str]":
    return re.compile(pattern, re.IGNORECASE)


_SSH_OPTION: Final = _compile(r"(?:-o)?\s*(?:Proxy|Local|KnownHosts|Remote)Command[= ]\s*")
_OPTIONS: Final[Mapping[str, "re.Pattern[str]"]] = {
    "tar": re.compile(
        r"(?:--(?:use-compress-program|to-command|rsh-command|info-script|new-volume-script)|-[A-Za-z]*[IF])(?:=|\Z)"
        r"|--checkpoint-action(?:=exec=|\Z)"
    ),
    **dict.fromkeys(("ssh", "sshfs", "ssh-copy-id"), _SSH_OPTION),
    **dict.fromkeys(("scp", "sftp"), _compile(f"{_SSH_OPTION.pattern}|-[SD]\\Z")),
    "rsync": re.compile(r"(?:--(?:rsh|rsync-path)|-[A-Za-z]*e)(?:=|\Z)"),
    "make": re.compile(r"--eval(?:=|\Z)"),
    "man": re.compile(r"(?:--pager(?:=|\Z)|-P)"),
    **dict.fromkeys(("mapfile", "readarray", "complete", "compgen"), re.compile("-C")),
    "bind": re.compile(r"-x\Z"),
    "sg": re.compile(r"-c\Z"),
    "zip": re.compile(r"(?:-TT|--unzip-command)(?:=|\Z)"),
    "env": re.compile(r"--split-string(?:=|\Z)"),
    "expect": re.compile(r"-c\Z"),
}
"""Beginnings of the options whose value is a command, in the same word or the next."""

_GIT_OPTIONS: Final[Mapping[str, "re.Pattern[str]"]] = {
    "rebase": re.compile(r"(?:--exec(?:=|\Z)|-x)"),
    "difftool": re.compile(r"(?:--extcmd(?:=|\Z)|-x)"),
    "grep": re.compile(r"(?:--open-files-in-pager=|-O(?=.))"),
    "filter-branch": re.compile(r"--[a-z-]+-filter(?:=|\Z)"),
    **dict.fromkeys(("clone", "fetch", "pull", "ls-remote"), re.compile(r"(?:--upload-pack(?:=|\Z)|-u\Z)")),
    "push": re.compile(r"--(?:receive-pack|exec)(?:=|\Z)"),
}
_GIT_SETTING: Final = _compile(
    r"core\.(?:pager|editor|sshcommand|fsmonitor|askpass|gitproxy)|pager\..+|alias\..+|sequence\.editor|gpg(?:\..+)?\.program"
    r"|diff\.external|diff\..+\.(?:command|textconv)|(?:diff|merge)tool\..+\.(?:cmd|path)|merge\..+\.driver"
    r"|filter\..+\.(?:clean|smudge|process)|credential\.(?:.+\.)?helper|interactive\.difffilter|.+\.(?:upload|receive)pack"
)
_GIT_EXT: Final = re.compile(r"ext::(.+)", re.DOTALL)

_ESCAPING: Final = frozenset(
    {
        *("vim", "vi", "nvim", "view", "ex", "ed", "less", "more", "psql", "mysql", "mariadb", "sqlite3", "gdb", "ftp"),
        *("mutt", "mail", "nano", "rvim", "gvim"),
    }
)
"""Programs whose own commands start others with `!`, `\\!`, `.shell` or `shell`."""
_ESCAPED: Final = re.compile(r"(?:^|[\n+;:|])\s*(?:\\?!|\.(?:shell|system)\s|shell\s)([^\n]+)")
_VARIABLE: Final = re.compile(r"[A-Za-z_][\w.-]*[:+?]?=")

_SHELL: Final = re.compile(r"\s*(?:\S*/)?(?:ba|z|da|k|a)?sh\b(?!\s+-\w*c)")
"""A shell that runs what AWK writes to it."""
_AWK_STRING: Final = re.compile(r'"((?:[^"\\]|\\.)*)"')
_AWK_PIPE: Final = re.compile(
    r'(?P<source>(?:"(?:[^"\\]|\\.)*"\s*)+)\|&?\s*getline\b|\b(?!getline)[A-Za-z_]\w*\s*\|&?\s*getline\b'
    r'|\bprintf?\b(?:"(?:[^"\\]|\\.)*"|[^|;{}\n"])*+\|&?(?!\|)\s*(?:(?P<to>(?:"(?:[^"\\]|\\.)*"\s*)+)|(?!getline\b)[A-Za-z_]\w*)'
)

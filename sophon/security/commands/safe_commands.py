"""Safe commands: the fast path of Shield, on which a command needs no evaluation (OpenParallax, Shield).

A safe command is one statement of a program on the list below, with nothing that composes, redirects or substitutes,
after an optional `cd <absolute folder> &&`. Programs that read any path (`cat`, `ls`, `grep`, `find`) are not on it.
Narrower than the published list: of a program that can run other programs, only the subcommands that do not, and none
of the options that name a program, a configuration or another folder.
"""

import re
from collections.abc import Mapping
from pathlib import PurePosixPath
from typing import Final

from tree_sitter import Node

from sophon._python.lazy_dataclass import dataclass
from sophon.security.commands.syntax import SimpleCommand, SyntaxProblem, parse_script, read_command


@dataclass(frozen=True, slots=True)
class _Rule:
    """What is safe of a program. `subcommands`: the first argument must be one of these; empty: any arguments.

    `refused` are options that make any call unsafe; with `arguments` each argument must match.
    `has_clusters`: short options may be joined, as in `-am`.
    """

    subcommands: frozenset[str] = frozenset()
    refused: tuple[str, ...] = ()
    has_clusters: bool = True
    arguments: re.Pattern[str] | None = None


def _subcommands(names: str, *, refused: str = "") -> _Rule:
    return _Rule(subcommands=frozenset(names.split()), refused=tuple(refused.split()))


_ONLY_VERSION: Final = _Rule(arguments=re.compile(r"--version|-V|-v|version"))
_NO_ARGUMENTS: Final = _Rule(arguments=re.compile(r"(?!)"))
_FLAGS: Final = _Rule(arguments=re.compile(r"-[A-Za-z]{1,8}|--[a-z-]{1,30}"))

_GIT: Final = _subcommands(
    "status diff log show branch tag rev-parse describe blame shortlog ls-files ls-tree cat-file remote add commit "
    "checkout switch merge stash fetch pull init",
    refused="-c -C --exec --exec-path --config-env --git-dir --work-tree --upload-pack --receive-pack --ext-diff "
    "--textconv --output --open-files-in-pager --template --separate-git-dir -x --no-index --namespace "
    "--pathspec-from-file",
)
_NODE: Final = _subcommands(
    "install ci test run ls list outdated view audit start build lint why version",
    refused="--prefix -C --script-shell --global -g --userconfig --globalconfig --registry --node-options --cwd --dir",
)

_RULES: Final[Mapping[str, _Rule]] = {
    "git": _GIT,
    "npm": _NODE,
    "yarn": _NODE,
    "pnpm": _NODE,
    "make": _Rule(
        refused=("-f", "--file", "--makefile", "-C", "--directory", "-I", "--include-dir", "--eval", "-E"),
        arguments=re.compile(r"-[jknsBi]{1,4}|-j\d{1,3}|-l\d{1,3}|\d{1,3}|[A-Za-z_][\w./:-]{0,99}"),
    ),
    "go": _Rule(
        subcommands=frozenset({"build", "test", "vet", "fmt", "version", "list", "mod", "doc"}),
        refused=("-toolexec", "-exec", "-overlay", "-modfile", "-C", "-vettool", "-ldflags", "-o"),
        has_clusters=False,
    ),
    "cargo": _subcommands(
        "build check test fmt clippy doc tree version metadata bench",
        refused="--config --manifest-path --target-dir --out-dir -C -Z --artifact-dir",
    ),
    "docker": _subcommands(
        "ps images logs version info stats top port history", refused="-H --host --config -c --context"
    ),
    "kubectl": _subcommands(
        "get describe logs version top explain api-resources api-versions cluster-info",
        refused="--kubeconfig --server -s --token --as --as-group --raw -f --filename --from-file "
        "--insecure-skip-tls-verify",
    ),
    "date": _Rule(
        refused=("-s", "--set", "-f", "--file", "-r", "--reference"), arguments=re.compile(r"-[uIR]|--utc|\+.{0,99}")
    ),
    "echo": _Rule(),
    "pwd": _NO_ARGUMENTS,
    "whoami": _NO_ARGUMENTS,
    "uptime": _NO_ARGUMENTS,
    "hostname": _NO_ARGUMENTS,
    "arch": _NO_ARGUMENTS,
    "nproc": _NO_ARGUMENTS,
    "true": _NO_ARGUMENTS,
    "uname": _FLAGS,
    "id": _FLAGS,
    "df": _FLAGS,
    "free": _FLAGS,
    "cal": _Rule(arguments=re.compile(r"\d{1,4}")),
    **dict.fromkeys(("python", "python3", "node", "ruby", "java", "rustc", "gcc", "pip", "uv", "deno"), _ONLY_VERSION),
}

_REMOTE_HELPER: Final = re.compile(r"^[A-Za-z][\w+.-]*::")
"""`git fetch ext::sh -c ...` runs a program."""


def is_safe_command(command: str) -> bool:
    """Return whether the command is safe without evaluation; never raises."""
    if len(command) > _MAX_CHARACTERS or any(ord(each) < ord(" ") or ord(each) == _DELETE for each in command.strip()):
        return False
    try:
        program = parse_script(command.strip()).children
    except SyntaxProblem:
        return False
    if len(program) != 1:
        return False
    statement = _strip_cd(program[0])
    return statement is not None and statement.type == "command" and _is_safe(read_command(statement))


_MAX_CHARACTERS: Final = 2000

_DELETE: Final = 127


def _strip_cd(statement: Node) -> Node | None:
    """Return the command behind `cd <absolute folder> &&`, or the statement itself; None if the folder is not one."""
    if statement.type != "list":
        return statement
    if len(statement.children) != 3 or statement.children[1].type != "&&" or statement.children[0].type != "command":
        return None
    change = read_command(statement.children[0])
    if change.name != "cd" or len(change.arguments) != 1 or change.redirections or change.assignments:
        return None
    folder = change.arguments[0]
    is_plain = not folder.is_dynamic and PurePosixPath(folder.text).is_absolute()
    return statement.children[2] if is_plain else None


def _is_safe(command: SimpleCommand) -> bool:
    rule = _RULES.get(command.name or "")
    if rule is None or command.assignments or command.redirections or any(word.is_dynamic for word in command.words):
        return False
    arguments = [word.text for word in command.arguments]
    if rule.subcommands and (not arguments or arguments[0] not in rule.subcommands):
        return False
    if any(_REMOTE_HELPER.match(each) or _is_refused(each, rule) for each in arguments):
        return False
    return rule.arguments is None or all(rule.arguments.fullmatch(each) for each in arguments)


def _is_refused(argument: str, rule: _Rule) -> bool:
    """Return whether an argument is a refused option: alone, with its value, abbreviated, or joined with others."""
    if not argument.startswith("-") or argument in ("-", "--"):
        return False
    name = argument.partition("=")[0]
    if name.startswith("--") and rule.has_clusters:
        return any(option.startswith(name) for option in rule.refused if option.startswith("--"))
    if not rule.has_clusters:
        return f"-{name.lstrip('-')}" in rule.refused
    return any(option[1] in name[1:] for option in rule.refused if not option.startswith("--"))

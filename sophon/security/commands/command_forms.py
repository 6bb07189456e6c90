"""Forms of a command: its simple commands as the shell understands them, for rules that are patterns."""

import re
from functools import lru_cache
from itertools import islice
from typing import Final

from sophon._python.lazy_dataclass import dataclass
from sophon.security.commands.nested_scripts import find_all_commands
from sophon.security.commands.shell_patterns import matches_pattern
from sophon.security.commands.syntax import SimpleCommand
from sophon.security.linear_patterns import make_encodable

MAX_FORMS: Final = 2000
"""Forms of one command; one with more counts as hidden."""

SECRET_FILES: Final = (
    *("~/.ssh/id_rsa", "~/.ssh/id_ed25519", "~/.ssh/id_ecdsa", "~/.aws/credentials", "~/.netrc", "~/.git-credentials"),
    *("~/.kube/config", "~/.docker/config.json", "~/.pgpass", "/etc/shadow", "/etc/gshadow"),
)
"""Files that a pattern such as `~/.s?h/id*` is compared with."""


@dataclass(frozen=True, slots=True)
class CommandForms:
    """`texts` are the simple commands, `code` the scripts of other interpreters than shells.

    `is_hidden`, `is_unread`: it may run any program, see `Commands`.
    """

    texts: tuple[str, ...]
    code: tuple[str, ...]
    is_hidden: bool
    is_readable: bool
    is_unread: bool


@lru_cache(maxsize=16)
def find_command_forms(command: str) -> CommandForms:
    """Return the forms of a command: `r''m -r -f` is `rm -r -f`. Without any for one that cannot be parsed."""
    found = find_all_commands(command)
    forms = (make_encodable(form) for each in found.commands for form in _list_forms(each))
    texts = list(islice(dict.fromkeys(forms), MAX_FORMS + 1))
    is_hidden = found.is_hidden or len(texts) > MAX_FORMS
    code = tuple(map(make_encodable, found.code))
    return CommandForms(tuple(texts[:MAX_FORMS]), code, is_hidden, found.is_readable, found.is_unread)


def _list_forms(command: SimpleCommand) -> list[str]:
    words = " ".join(word.text for word in command.words)
    redirections = " ".join(f"{each.operator} {each.target.text}" for each in command.redirections)
    form = f"{words} {redirections}".strip()
    patterns = [word.text for word in command.words[1:] if word.is_dynamic and _GLOB.search(word.text)]
    # A variable that is not set is empty: `rm -${x}rf` is `rm -rf`.
    unset = [_VARIABLE.sub("", form)] if "$" in form else []
    named = (form.replace(pattern, name, 1) for pattern in patterns for name in _find_secret_files(pattern))
    return [form, *unset, *named]


def _find_secret_files(pattern: str) -> list[str]:
    return [name for name in SECRET_FILES if matches_pattern(name, pattern)]


_VARIABLE: Final = re.compile(r"\$(?:\w+|\{\w+\}|[@*])")
_GLOB: Final = re.compile(r"[*?\[]")

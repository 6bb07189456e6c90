"""The shell: runs a command that the person spelt out, word for word."""

import re

from sophon.models.offline.display import block
from sophon.models.offline.skill import Ask, Finding, Skill, Wish
from sophon.models.offline.words import unquoted
from sophon.tools.tool import Risk

_RUN = re.compile(
    r"(?:run|execute)(?: (?:the|this|a|following|shell|terminal|system|bash|my)){0,3}"
    r"(?P<named> commands?| in (?:the|a) (?:shell|terminal))?(?P<colon>:)? (?P<command>.+)",
    re.IGNORECASE | re.DOTALL,
)
_COMMANDS = """
    ls uname echo cat pwd date whoami df du git python python3 uptime hostname id env free head tail wc ps which grep
    find make node npm pip true false sleep printf touch mkdir rm cp mv curl ping
"""
_KNOWN = frozenset(_COMMANDS.split())
_GOOD = "exit code 0\n--- stdout\n"
"""How system.execute begins when all went well and there is only output; anything else is shown as it is."""
_QUIET = re.compile(r"\s*(?:exit code 0\s*)?")


def _match(ask: Ask) -> Wish | None:
    found = _RUN.fullmatch(ask.clause)
    if found is None:
        return None
    stated = found["command"].strip()
    command = unquoted(stated)
    spelt_out = found["named"] or found["colon"] or command != stated or command.split(" ", 1)[0] in _KNOWN
    return Wish("system.execute", {"command": command}) if spelt_out and command.strip() else None


def _command(wish: Wish) -> str:
    return str(wish.arguments.get("command", ""))


def _tell(finding: Finding) -> str:
    ran = f"I ran `{_command(finding.wish)}`"
    if _QUIET.fullmatch(finding.text):
        return f"{ran}; it printed nothing."
    return f"{ran}. Its output:\n{block(finding.text.removeprefix(_GOOD))}"


SHELL = Skill(
    tool="system.execute",
    group="system",
    match=_match,
    tell=_tell,
    deed=lambda wish: f"run the command `{_command(wish)}`",
    risk=Risk.CRITICAL,
    store="machine",
    writes=True,
)

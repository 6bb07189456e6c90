"""Commands in a chat: `/stop`, `/approve K7Q2M9XA`. They skip the queue and the model."""

import re
from dataclasses import dataclass, field

COMMANDS = {
    "new": "begin a new conversation",
    "stop": "stop what is running",
    "status": "what is running and waiting",
    "model": "which model answers; /model NAME chooses one, /model auto lets the host choose",
    "usage": "tokens and cost of this conversation",
    "pending": "the decisions that wait for somebody",
    "approve": "/approve ID lets it happen",
    "reject": "/reject ID REASON does not",
    "help": "these commands",
}
"""What there is, and what it does."""

_COMMAND = re.compile(r"/([A-Za-z][A-Za-z0-9_]{0,31})(?:@([A-Za-z0-9_]+))?(?:\s+(.*))?", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Command:
    """`name` in small letters, without slash; it may be none of ours. `rest` is what stands behind it, `bot` whom it
    names (`/stop@other_bot`).
    """

    name: str
    rest: str = ""
    bot: str = field(default="", compare=False)

    @property
    def known(self) -> bool:
        return self.name in COMMANDS


def command_of(text: str) -> Command | None:
    """The command that a message is; None for anything else, a path such as `/etc/hosts` included."""
    found = _COMMAND.fullmatch(text.strip())
    return Command(found[1].lower(), (found[3] or "").strip(), found[2] or "") if found else None


def help_text() -> str:
    """All commands, a line each."""
    return "\n".join(f"/{name}: {does}" for name, does in COMMANDS.items())

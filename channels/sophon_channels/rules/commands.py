"""Chat commands (`/stop`, `/approve K7Q2M9XA`), which bypass the queue and the model."""

import re
from dataclasses import dataclass, field

COMMANDS = {
    "new": "start a new conversation",
    "stop": "stop the running tasks",
    "status": "show running and waiting tasks",
    "model": "show the model; /model NAME selects one, /model auto lets the host select",
    "usage": "show tokens and cost of this conversation",
    "pending": "list the approvals that wait for a decision",
    "approve": "approve a call: /approve ID",
    "reject": "reject a call: /reject ID REASON",
    "help": "list the commands",
}
"""Name and description of every command."""

_COMMAND = re.compile(r"/([A-Za-z][A-Za-z0-9_]{0,31})(?:@([A-Za-z0-9_]+))?(?:\s+(.*))?", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Command:
    """A command in a message. `name` is in lower case, without the slash, and may be unknown. `rest` is the text behind
    the name, `bot` the name of the bot that it addresses (`/stop@other_bot`).
    """

    name: str
    rest: str = ""
    bot: str = field(default="", compare=False)

    @property
    def known(self) -> bool:
        """Whether a command of this name exists."""
        return self.name in COMMANDS


def command_of(text: str) -> Command | None:
    """Parse a message that is a command; None for any other text, including a path such as `/etc/hosts`. Pure."""
    match = _COMMAND.fullmatch(text.strip())
    return Command(match[1].lower(), (match[3] or "").strip(), match[2] or "") if match else None


def help_text() -> str:
    """Return the help text: one line per command."""
    return "\n".join(f"/{name}: {description}" for name, description in COMMANDS.items())

"""Chat commands (`/stop`, `/approve K7Q2M9XA`), which bypass the queue and the model."""

import re
from dataclasses import dataclass, field

COMMAND_DESCRIPTIONS = {
    "new": "start a new conversation",
    "stop": "stop the running tasks",
    "status": "show running and waiting tasks",
    "model": "show the model; /model NAME selects one, /model auto lets the host select",
    "usage": "show tokens and cost of this conversation",
    "last": "send the answers again that were not delivered, or else the last answer",
    "pending": "list the approvals that wait for a decision",
    "approve": "approve a call: /approve ID",
    "reject": "reject a call: /reject ID REASON",
    "help": "list the commands",
}
"""Name and description of every command."""

_COMMAND = re.compile(r"/([A-Za-z][A-Za-z0-9_]{0,31})(?:@([A-Za-z0-9_]+))?(?:\s+(.*))?", re.DOTALL)


@dataclass(frozen=True, slots=True)
class ChatCommand:
    """A command in a message. `name` is in lower case, without the slash, and may be unknown. `arguments` is the text
    behind the name, `bot_name` the name of the bot that it addresses (`/stop@other_bot`).
    """

    name: str
    arguments: str = ""
    bot_name: str = field(default="", compare=False)

    @property
    def is_known(self) -> bool:
        """Whether a command of this name exists."""
        return self.name in COMMAND_DESCRIPTIONS


def parse_command(text: str) -> ChatCommand | None:
    """Parse a message that is a command; None for any other text, including a path such as `/etc/hosts`. Pure."""
    match = _COMMAND.fullmatch(text.strip())
    return ChatCommand(match[1].lower(), (match[3] or "").strip(), match[2] or "") if match else None


def format_help() -> str:
    """Return the help text: one line per command."""
    return "\n".join(f"/{name}: {description}" for name, description in COMMAND_DESCRIPTIONS.items())

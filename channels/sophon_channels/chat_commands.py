"""Chat commands (`/stop`, `/approve K7Q2M9XA`), which bypass the queue and the model."""

import re
from dataclasses import field

from sophon._python.lazy_dataclass import dataclass

COMMAND_DESCRIPTIONS = {
    "start": "show what this is, and the commands",
    "new": "start a new conversation",
    "stop": "stop the running tasks",
    "retry": "answer your last message again",
    "status": "show running and waiting tasks",
    "agent": "show who answers here; /agent NAME selects an agent, /agent main the one without a file",
    "model": "show the model; /model NAME selects one, /model auto lets the host select",
    "prompt": "show the prompt of this chat; /prompt TEXT changes it, /prompt none removes it",
    "language": "show the language of answers; /language de changes it, /language default takes that back",
    "memory": "show what is remembered here; /memory chat, session or none changes it",
    "tools": "show which tools may be used here; /tools NAME, NAME restricts them, /tools * allows all",
    "preferences": "show how you want to be answered; /preferences language de changes it",
    "usage": "show tokens and cost of this conversation",
    "last": "send the answers again that were not delivered, or else the last answer",
    "pending": "list the approvals that wait for a decision",
    "approve": "approve a call: /approve ID; with chat behind it, later ones like it too",
    "edit": "change the arguments of a call before it runs: /edit ID",
    "cancel": "end the editing of a call, which waits on",
    "reject": "reject a call: /reject ID REASON",
    "answer": "answer a question: /answer ID TEXT",
    "otr": "talk off the record, until /new: nothing is stored",
    "help": "list the commands",
}
"""Name and description of every command."""

_COMMAND = re.compile(r"/([A-Za-z][A-Za-z0-9_]{0,31})(?:@([A-Za-z0-9_]+))?(?:\s+(.*))?", re.DOTALL)


@dataclass(frozen=True, slots=True)
class ChatCommand:
    """A command in a message. `name` is in lower case, without the slash, and may be unknown. `arguments` is the text
    behind the name, `bot_name` the name of another bot that it addresses (`/stop@other_bot`): a channel removes the
    name of its own bot.
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


GREETING = (
    "This is Sophon, an assistant. Write what you want to know or have done, or send a file; the answer comes here. "
    "What needs an approval is asked about first."
)
"""First lines of the answer to /start in a direct chat."""
GROUP_GREETING = f"{GREETING} In this group, mention me or reply to one of my messages."
"""First lines of the answer to /start in a group."""


def format_greeting(*, in_group: bool) -> str:
    """Return the answer to /start: what this is, then the commands."""
    return f"{GROUP_GREETING if in_group else GREETING}\n\n{format_help()}"


def format_help() -> str:
    """Return the help text: one line per command."""
    return "\n".join(f"/{name}: {description}" for name, description in COMMAND_DESCRIPTIONS.items())

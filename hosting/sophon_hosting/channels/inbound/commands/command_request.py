"""Request of a chat command: the command, its message, and who may do what."""

from sophon._python.lazy_dataclass import dataclass
from sophon_channels.chat_commands import ChatCommand
from sophon_channels.contract import InboundMessage


@dataclass(frozen=True, slots=True)
class ChatCommandRequest:
    """A command with its message and the chat's session id. `is_approver`: the person may stop tasks of others too, and
    change what holds in a group.
    """

    command: ChatCommand
    message: InboundMessage
    session_id: str
    is_approver: bool

"""The chat session's contract, and the options and front end that its implementations share."""

from collections.abc import Callable
from dataclasses import field
from typing import Protocol

from sophon._python.lazy_dataclass import dataclass
from sophon.messages import Response
from sophon_hosting.cli.chat.rendering.turn_renderer import TurnRenderer
from sophon_hosting.cli.chat.termination_signals import ExitRequest
from sophon_hosting.cli.error_reporting import EXIT_FAILURE

SUCCESSFUL_FINISH_REASONS = frozenset({"stop", "length", "tool_calls", "rejected"})
"""Finish reasons with exit code 0; a turn whose tool call the user rejected counts as a success."""


@dataclass(slots=True)
class TurnChoices:
    """Options of the next turns, changed by slash commands; None leaves the choice to the settings."""

    session: str
    model: str | None = None
    planning: str | None = None
    stream: bool = True


@dataclass(slots=True)
class ChatFrontend:
    """User-facing side of a chat: the renderer, the error output, and the flag of a requested exit."""

    renderer: TurnRenderer
    write_error: Callable[[str], None]
    exit_request: ExitRequest = field(default_factory=ExitRequest)
    ran_out_of_input: Callable[[], bool] = lambda: False
    """Returns whether a question was rejected only because the input had ended."""

    def choose_exit_code(self, response: Response) -> int:
        """Return the exit code for a turn that ended with this response."""
        succeeded = response.finish_reason in SUCCESSFUL_FINISH_REASONS and not self.ran_out_of_input()
        return 0 if succeeded else EXIT_FAILURE


class Chat(Protocol):
    """Chat session, in this process (`LocalChat`) or with a host (`RemoteChat`)."""

    @property
    def frontend(self) -> ChatFrontend:
        """Renderer, error output and exit flag of the chat."""
        ...

    def run_turn(self, text: str) -> int:
        """Run one turn and return its exit code."""
        ...

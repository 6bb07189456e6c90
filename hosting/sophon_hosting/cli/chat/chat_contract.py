"""The chat session's contract, and the options and front end that its implementations share."""

from collections.abc import Callable
from dataclasses import field
from typing import Protocol

from sophon.lazy_dataclass import dataclass
from sophon_hosting.cli.chat.rendering.turn_renderer import TurnRenderer
from sophon_hosting.cli.chat.termination_signals import ExitRequest

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


class Chat(Protocol):
    """Chat session, in this process (`LocalChat`) or with a host (`RemoteChat`)."""

    @property
    def frontend(self) -> ChatFrontend:
        """Renderer, error output and exit flag of the chat."""
        ...

    def run_turn(self, text: str) -> int:
        """Run one turn and return its exit code."""
        ...

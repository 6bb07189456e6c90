"""Chat session: turn loop, files, preferences and options that the local chat and the chat with a host share."""

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import field
from typing import Any

from sophon._python.lazy_dataclass import dataclass
from sophon.attachments import Attachment
from sophon.messages import Response
from sophon.preferences import Preferences
from sophon_hosting.cli.error_reporting import EXIT_FAILURE, EXIT_INTERRUPTED
from sophon_hosting.programs.chat.rendering.turn_renderer import TurnRenderer
from sophon_hosting.programs.chat.termination_signals import ExitRequest

SUCCESSFUL_FINISH_REASONS = frozenset({"stop", "length", "tool_calls", "rejected"})
"""Finish reasons with exit code 0; a turn whose tool call the user rejected counts as a success."""

SHORT_ID_CHARACTERS = 12
"""Characters of a generated session id, short enough to be typed."""


@dataclass(slots=True)
class TurnChoices:
    """Options of the next turns, changed by slash commands; None leaves the choice to the settings."""

    session: str
    model: str | None = None
    planning: str | None = None
    stream: bool = True


@dataclass(frozen=True, slots=True)
class CallableSkill:
    """A skill that a person may call by `/name`."""

    name: str
    argument_hint: str
    description: str


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


class Chat(ABC):
    """Chat session: `LocalChat` runs its turns in this process, `RemoteChat` on a host. Ctrl-C cancels a turn."""

    def __init__(self, runner: asyncio.Runner, choices: TurnChoices, frontend: ChatFrontend) -> None:
        self._runner, self.choices, self.frontend = runner, choices, frontend
        self.attached: list[Attachment] = []
        """Files of the next message."""

    @abstractmethod
    def run_turn(self, text: str) -> int:
        """Run one turn, with the files that are attached, and return its exit code.

        Raises KeyboardInterrupt, and only if the program was asked to exit.
        """

    @abstractmethod
    def prepare_regeneration(self, model: str) -> Callable[[], int]:
        """Return what answers the last message again in a new branch, with a model if one is named."""

    @abstractmethod
    def attach(self, name: str, content: bytes) -> None:
        """Store a file for the next message. Raises SophonError for one that messages may not have."""

    @abstractmethod
    def list_callable_skills(self) -> Sequence[CallableSkill]:
        """Return the skills that a person may call by `/name`."""

    @abstractmethod
    def get_preferences(self) -> Preferences:
        """Return how the user wants to be answered."""

    @abstractmethod
    def set_preferences(self, preferences: Preferences) -> Preferences:
        """Replace the preferences and return what is stored. Raises SophonError, for example for an unknown model."""

    def enter_session(self, session_id: str) -> None:
        """Go on in another session."""
        self.choices.session = session_id

    def describe_session(self) -> str:
        """Return the session as a text for people."""
        return f"session {self.choices.session}"

    def take_attached(self) -> list[Attachment]:
        """Return the files of the message that is sent now; the next one has none of them."""
        attached, self.attached = self.attached, []
        return attached

    def _run(self, turn: Coroutine[Any, Any, Response]) -> int:
        """Run a turn and return its exit code; failure or cancellation has been reported on return."""
        self.frontend.renderer.start_turn()
        try:
            response = self._runner.run(turn)
        except Exception as error:  # noqa: BLE001 - the outermost layer of a turn: reports, and the next turn may run
            return self._report_failure(error)
        except KeyboardInterrupt:
            self._finish_turn(Response(finish_reason="cancelled"))
            if self.frontend.exit_request.requested:
                raise
            return EXIT_INTERRUPTED
        self._finish_turn(response)
        return self.frontend.choose_exit_code(response)

    def _finish_turn(self, response: Response) -> None:
        self.frontend.renderer.finish_turn(response, self.choices.session)

    def _report_failure(self, error: Exception) -> int:
        """Report a turn that ended without a response, and return its exit code; or raise the error."""
        raise error

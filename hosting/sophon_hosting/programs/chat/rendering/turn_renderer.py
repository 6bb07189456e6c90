"""The turn renderer's contract: renders the events and the end of a turn."""

from typing import Protocol

from sophon.events import Event
from sophon.messages import Response


class TurnRenderer(Protocol):
    """Renders the turns of a chat."""

    def start_turn(self) -> None:
        """Reset the state at the start of a turn."""
        ...

    def emit(self, event: Event, /) -> None:
        """Render one event."""
        ...

    def finish_turn(self, response: Response, session_id: str) -> None:
        """Render the end of a turn."""
        ...

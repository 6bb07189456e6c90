"""Room filler: what a turn adds to its prompts is chosen once the size of the rest in the window is known."""

from typing import Protocol

from sophon.extensions import Key
from sophon.models.model import ModelRequest


class RoomFiller(Protocol):
    """Protocol of a call layer that adds as much to the requests of a turn as there is room for.

    It adds nothing for a model before `fill` was called for it, and registers what it adds as overhead.
    """

    def fill(self, request: ModelRequest, room: int) -> int:
        """Choose what is added to the requests for `request.model` in at most `room` tokens; return its tokens."""
        ...


ROOM_FILLERS: Key[list[RoomFiller]] = Key("window.room_fillers")
"""Those of the turn, in the order in which they choose."""

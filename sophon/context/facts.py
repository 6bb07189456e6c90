"""The facts of a turn: ids, text, origin. Set when the turn is created, read-only for every middleware."""

from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from sophon.tools.tool import Risk


@dataclass(frozen=True, slots=True)
class Step:
    """The plan step that a child turn executes.

    `approved_risk` is the risk level up to which a person approved the step with its plan; None if nobody was asked.
    """

    id: str
    tool_hints: tuple[str, ...] = ()
    model_hint: str | None = None
    approved_risk: "Risk | None" = None


@dataclass(slots=True, eq=False)
class TurnFacts:
    """What never changes during a turn. The fields are `Final`: type checkers reject an assignment."""

    run_id: Final[str]
    session_id: Final[str]
    text: Final[str]
    principal: Final[str] = ""
    channel: Final[str] = "local"
    stream: Final[bool] = False
    planning: Final[str | None] = None
    """Planning mode that the sender chose for this message, but not for its steps; None for the settings' mode."""
    depth: Final[int] = 0
    """0 for a turn, 1 for a step of its plan, and so on."""
    step: Final[Step | None] = None
    started_at: Final[datetime | None] = None

    @property
    def task_id(self) -> str:
        """The run id of the whole turn, also in a plan step."""
        return self.run_id.partition("/")[0]

"""The facts of a turn: ids, text, origin. Set when the turn is created, read-only for every middleware."""

from datetime import datetime
from typing import TYPE_CHECKING, Final

from sophon._python.lazy_dataclass import dataclass

if TYPE_CHECKING:
    from sophon.tools.tool import Risk


@dataclass(frozen=True, slots=True)
class Step:
    """The plan step that a child turn executes.

    `approved_risk` is the risk level up to which a person approved the step with its plan; None if nobody was asked. It
    covers the tools of `tool_hints` if there are any, and never a call of Critical risk.
    `started_at` is the turn's active time in seconds when this try of the step began, or that of the step whose plan it
    belongs to; None for no time limit of its own.
    """

    id: str
    tool_hints: tuple[str, ...] = ()
    model_hint: str | None = None
    approved_risk: "Risk | None" = None
    started_at: float | None = None


@dataclass(slots=True, eq=False)
class TurnFacts:
    """What never changes during a turn. The fields are `Final`: type checkers reject an assignment."""

    run_id: Final[str]
    session_id: Final[str]
    text: Final[str]
    principal: Final[str] = ""
    """Who wrote the message; their rights apply."""
    data_owner: Final[str] = ""
    """Principal whose long-term memory and files the turn uses: in a group the group's, else `principal`."""
    group: Final[bool] = False
    """Whether the answer is read by a group. The private data of `principal` must not reach such a turn."""
    channel: Final[str] = "local"
    stream: Final[bool] = False
    planning: Final[str | None] = None
    """Planning mode that the sender chose for this message, but not for its steps; None for the settings' mode."""
    max_iterations: Final[int | None] = None
    """Maximum rounds of tool calls that the sender chose for this message and its steps; None for the chain's."""
    temperature: Final[float | None] = None
    """Temperature that the sender chose for the replies of this message and its steps; None for the model's own."""
    depth: Final[int] = 0
    """0 for a turn, 1 for a step of its plan, and so on."""
    step: Final[Step | None] = None
    started_at: Final[datetime | None] = None

    @property
    def task_id(self) -> str:
        """The run id of the whole turn, also in a plan step."""
        return self.run_id.partition("/")[0]

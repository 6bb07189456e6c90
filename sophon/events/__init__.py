"""Events of a running turn: one dataclass per event, its fields named as in the wire format, one module per area.

`emit` sets `session_id`, `task_id` (the whole turn), `run_id` (the turn, or the plan step inside it) and, for a
durable event of a host, `seq`. Durable events can be replayed; transient events are lost without a listener, except
that a host stores traces apart, soon after they were emitted. Secrets in the text of an error are replaced when its
event is made.
"""

from contextlib import suppress
from importlib import import_module
from typing import TYPE_CHECKING, Final

from sophon.errors import SettingsError
from sophon.events.agents import AgentSelected, AgentState, SubAgentChanged
from sophon.events.approvals import ApprovalRequested, ApprovalResolved, GuardDecision, GuardVerdict
from sophon.events.base import Emit, Event, EventSink, NullEventSink, event_from_wire, event_type, event_types
from sophon.events.memory import MemoryFlush, MemoryRecalled
from sophon.events.models import BudgetAlert, ModelAttempt, ModelFallback, ProviderExcluded
from sophon.events.plans import PlanProposed, PlanStepChanged, StepStatus
from sophon.events.routing import DecisionMade, RouteChosen, Stage, StageCompleted
from sophon.events.sessions import AnswerUndelivered, FeedbackRecorded, SessionChanged, SessionDeleted
from sophon.events.streaming import Reasoning, ReasoningChunk, StreamChunk, StreamCompleted, StreamReset
from sophon.events.tools import (
    CustomToolChanged,
    SkillLoaded,
    SkillsOffered,
    ToolCallCompleted,
    ToolCallStarted,
    ToolsOffered,
)
from sophon.events.turn import (
    AgentActivity,
    AgentStatus,
    ContextCompacted,
    LoopWarning,
    Message,
    Progress,
    TaskCancelled,
    TaskCompleted,
    TaskFailed,
    TaskQueued,
    TaskStarted,
)

FEATURES: Final = "sophon_hosting.features.registry"
"""Module that knows the events of the features of a host, by name, because it stands above the framework."""

if not TYPE_CHECKING:  # a type checker is to find a name that there is not

    def __getattr__(name: str) -> type[Event]:
        """Return an event of a feature, as `GoalChanged`: all events can be imported from here."""
        if name[:1].isupper():
            with suppress(SettingsError):  # of a package that cannot be loaded; a host says so when it starts
                import_module(FEATURES).load_features()
            for each in event_types().values():
                if each.__name__ == name:
                    return each
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


__all__ = [
    "AgentActivity",
    "AgentSelected",
    "AgentState",
    "AgentStatus",
    "AnswerUndelivered",
    "ApprovalRequested",
    "ApprovalResolved",
    "BudgetAlert",
    "ContextCompacted",
    "CustomToolChanged",
    "DecisionMade",
    "Emit",
    "Event",
    "EventSink",
    "FeedbackRecorded",
    "GuardDecision",
    "GuardVerdict",
    "LoopWarning",
    "MemoryFlush",
    "MemoryRecalled",
    "Message",
    "ModelAttempt",
    "ModelFallback",
    "NullEventSink",
    "PlanProposed",
    "PlanStepChanged",
    "Progress",
    "ProviderExcluded",
    "Reasoning",
    "ReasoningChunk",
    "RouteChosen",
    "SessionChanged",
    "SessionDeleted",
    "SkillLoaded",
    "SkillsOffered",
    "Stage",
    "StageCompleted",
    "StepStatus",
    "StreamChunk",
    "StreamCompleted",
    "StreamReset",
    "SubAgentChanged",
    "TaskCancelled",
    "TaskCompleted",
    "TaskFailed",
    "TaskQueued",
    "TaskStarted",
    "ToolCallCompleted",
    "ToolCallStarted",
    "ToolsOffered",
    "event_from_wire",
    "event_type",
    "event_types",
]

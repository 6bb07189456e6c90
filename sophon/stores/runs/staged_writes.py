"""Staged writes: what a running turn stores in the transaction of a later write instead of one of its own."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from sophon.approvals import ApprovalRequest
from sophon.lazy_dataclass import dataclass
from sophon.stores.audit.contract import AuditEvent
from sophon.stores.data_labels.contract import LabelWrite
from sophon.stores.rate_windows.contract import RateEvent
from sophon.stores.route_averages.contract import RouteObservation
from sophon.stores.run_fence import RunFence
from sophon.stores.snapshots.contract import SnapshotEvent
from sophon.stores.sub_agents.contract import SubAgentRun
from sophon.stores.tool_call_journal.contract import JournalEntry
from sophon.stores.traces.contract import TraceWrite
from sophon.stores.trajectories.contract import TrajectoryWrite
from sophon.stores.vectors.contract import VectorWrite


@dataclass(frozen=True, slots=True)
class LogWrite:
    """Write to a log of a run's checkpoints: the entries from `start` on are replaced by `entries`, plain JSON values.

    A run has any number of logs, told apart by their numbers `log`; one without entries does not exist. `start` is at
    most the number of entries that the log has.
    """

    log: int
    start: int
    entries: Sequence[Any] = ()


@dataclass(frozen=True, slots=True)
class CheckpointWrite:
    """A checkpoint of a run; see `RunStore.checkpoint`."""

    run_id: str
    state: Mapping[str, Any]
    logs: Sequence[LogWrite] = ()


@dataclass(frozen=True, slots=True)
class CallWrite:
    """A tool call that is about to be executed or, with a result, was; see `Journal`."""

    run_id: str
    entry: JournalEntry


@dataclass(frozen=True, slots=True)
class ApprovalWrite:
    """A request for an approval; one with a known id changes nothing. See `ApprovalStore.get_or_create`."""

    request: ApprovalRequest
    at: datetime


@dataclass(frozen=True, slots=True)
class StagedWrites:
    """What is stored with another write; each kind in the order in which it was produced.

    `fences` are those of the turns in whose name it is stored. Raises StaleRun, and the transaction stores nothing, if
    one of them is old.
    """

    checkpoints: Sequence[CheckpointWrite] = ()
    calls: Sequence[CallWrite] = ()
    approvals: Sequence[ApprovalWrite] = ()
    audit: Sequence[AuditEvent] = ()
    rates: Sequence[RateEvent] = ()
    labels: Sequence[LabelWrite] = ()
    snapshots: Sequence[SnapshotEvent] = ()
    trajectories: Sequence[TrajectoryWrite] = ()
    vectors: Sequence[VectorWrite] = ()
    routes: Sequence[RouteObservation] = ()
    sub_agents: Sequence[SubAgentRun] = ()
    traces: Sequence[TraceWrite] = ()
    fences: Sequence[RunFence] = ()


NOTHING_STAGED = StagedWrites()

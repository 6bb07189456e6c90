"""What a chaos run has found: compares what was accepted with what the store, the queue and the effects say."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import field
from pathlib import Path

from sophon._python.lazy_dataclass import dataclass
from sophon.stores.contract import Store
from sophon_hosting.store.events.logged_event import LoggedEvent
from sophon_hosting.store.runs.contract import Run

ENDS = ("task_completed", "task_failed", "task_cancelled")
AT_MOST_ONCE = ("tool_call_completed", "approval_requested", "approval_resolved")
MAX_RUNS = 100_000


@dataclass(slots=True)
class Report:
    """Violations by guarantee, each as a line that names what it is about; empty lists if all held."""

    lost: list[str] = field(default_factory=lambda: [])
    doubled: list[str] = field(default_factory=lambda: [])
    disordered: list[str] = field(default_factory=lambda: [])
    poison: list[str] = field(default_factory=lambda: [])
    counts: dict[str, int] = field(default_factory=lambda: {})

    @property
    def violations(self) -> list[str]:
        """All of them."""
        return [*self.lost, *self.doubled, *self.disordered, *self.poison]

    def render(self) -> str:
        """Return the table of the run."""
        rows = {
            "lost": len(self.lost),
            "twice to a visible effect": len(self.doubled),
            "out of order within a session": len(self.disordered),
            "poison tasks not given up": len(self.poison),
            **self.counts,
        }
        width = max(map(len, rows))
        lines = [f"{name:<{width}}  {count:>7,}" for name, count in rows.items()]
        return "\n".join([*lines, *self.violations[:20]])


async def examine(
    store: Store,
    folder: Path,
    sessions: Mapping[str, Sequence[str]],
    poison: frozenset[str],
    dead_letters: set[str] | None,
) -> Report:
    """Compare what was accepted, the texts of each session in their order, with what has become of it.

    `dead_letters` are the ids of the tasks that the queue has given up; None if its server has forgotten them.
    """
    report = Report()
    runs = list(reversed(await store.runs.list(limit=MAX_RUNS)))
    effects = Counter((folder / "effects.txt").read_text().split())
    report.doubled += [f"{text}: {count} effects" for text, count in effects.items() if count > 1]
    entries = Counter(entry.run_id for entry in await store.outbox.list(limit=MAX_RUNS))
    by_session: dict[str, list[Run]] = {session: [] for session in sessions}
    for run in runs:
        by_session[run.session_id].append(run)
    for session, texts in sessions.items():
        mine = by_session[session]
        accepted = Counter(run.text for run in mine)
        report.lost += [f"{text}: not accepted" for text in texts if not accepted[text]]
        report.doubled += [f"{text}: accepted {accepted[text]} times" for text in texts if accepted[text] > 1]
        if [run.text for run in mine] != list(texts):
            report.disordered.append(f"{session}: accepted in another order")
        for run in mine:
            _examine_run(
                report, run, run.text in poison, dead_letters is None or run.id in dead_letters, entries[run.id]
            )
        _examine_events(report, session, await store.events.list_after(session, 0, MAX_RUNS), mine)
        await _examine_history(report, store, session, mine)
    return report


def _examine_run(report: Report, run: Run, is_poison: bool, is_dead: bool, entries: int) -> None:
    if not run.is_finished:
        report.lost.append(f"{run.text}: {run.status}, after {run.starts} starts")
    elif is_poison:
        if run.error is None or run.error.code != "gave_up" or not is_dead:
            report.poison.append(f"{run.text}: {run.status}, {run.error}, {'dead' if is_dead else 'no dead'} letter")
    elif run.status != "completed":
        report.lost.append(f"{run.text}: {run.status}, {run.error}")
    if run.is_finished and entries != 1:
        (report.doubled if entries else report.lost).append(f"{run.text}: {entries} replies in the outbox")


def _examine_events(report: Report, session: str, events: Sequence[LoggedEvent], runs: Sequence[Run]) -> None:
    """Who catches up sees each task begin, speak and end, once each, and in the order of the messages."""
    if [event.seq for event in events] != list(range(1, len(events) + 1)):
        report.disordered.append(f"{session}: the events are not numbered one by one")
    if [event.task_id for event in events if event.name in ENDS] != [run.id for run in runs]:
        report.disordered.append(f"{session}: the tasks did not end once each, in their order")
    for run in runs:
        names = [event.name for event in events if event.task_id == run.id]
        counts = Counter(names)
        if counts["task_queued"] != 1 or names[0] != "task_queued":
            report.disordered.append(f"{run.text}: begins with {names[:2]}")
        if names[-1] not in ENDS:
            report.disordered.append(f"{run.text}: after its end: {', '.join(names)}")
        report.doubled += [f"{run.text}: {counts[name]} x {name}" for name in AT_MOST_ONCE if counts[name] > 1]
        if counts["approval_requested"] != counts["approval_resolved"]:
            report.lost.append(f"{run.text}: a question without its answer")


async def _examine_history(report: Report, store: Store, session: str, runs: Sequence[Run]) -> None:
    """The conversation has each message and, if the task succeeded, one answer, in their order."""
    history = (await store.sessions.load_history(session)).messages
    said = [(each.role, each.content) for each in history if each.role != "tool" and not each.tool_calls]
    users = [text for role, text in said if role == "user"]
    if users != [run.text for run in runs]:
        report.disordered.append(f"{session}: the conversation is not in the order of the messages")
    answers = sum(role == "assistant" for role, _ in said)
    if answers != sum(run.status == "completed" for run in runs):
        report.doubled.append(f"{session}: {answers} answers")

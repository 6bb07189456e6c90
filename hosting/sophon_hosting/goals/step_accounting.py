"""Accounting of a goal's steps: tokens, model calls, bytes of results and memory, and time in which steps run."""

from dataclasses import replace
from datetime import datetime, timedelta
from typing import Final

from sophon.goals.goal import Goal
from sophon.goals.task_graph import list_running
from sophon.goals.task_node import TaskNode
from sophon.principals import memory_scope
from sophon.stores.contract import Store
from sophon.stores.runs.contract import Run
from sophon_hosting.run_audience import audience_of_run

MAX_ENTRIES: Final = 50
"""Newest memory entries that are looked at after a step."""


def count_time(goal: Goal, now: datetime, *, is_first_look: bool) -> Goal:
    """Return the goal with the time since the last look added, if a step was running and waited for nobody.

    The first look of a process adds nothing: while the host was down, no step ran.
    """
    is_running = any(not node.waits for node in list_running(goal.nodes))
    since = goal.counted_at
    if is_running and since is not None and not is_first_look:
        elapsed = max((now - since) / timedelta(seconds=1), 0.0)
        goal = replace(goal, spent=goal.spent.add(runtime_seconds=elapsed))
    return replace(goal, counted_at=now)


async def count_usage(goal: Goal, store: Store) -> tuple[Goal, int, int]:
    """Return the goal with what its sessions have used by now, and the model calls and tokens that are new.

    What models wrote while planning is counted apart, so it is no part of the execution.
    """
    calls = tokens = written = 0
    for session_id in goal.list_work_sessions():
        for total in await store.usage.list_totals(session_id=session_id):
            calls += total.calls
            tokens += total.usage.total_tokens
            written += total.usage.output_tokens
    spent = goal.spent
    execution = max(written - spent.planning_tokens, spent.execution_tokens)
    new_calls, new_tokens = max(calls - spent.model_calls, 0), max(tokens - spent.model_tokens, 0)
    changed = replace(
        spent,
        execution_tokens=execution,
        model_calls=spent.model_calls + new_calls,
        model_tokens=spent.model_tokens + new_tokens,
    )
    return replace(goal, spent=changed), new_calls, new_tokens


async def count_memory(goal: Goal, node: TaskNode, run: Run, store: Store) -> int:
    """Return the bytes of the step's result and of the memory entries that it has written."""
    text = str((run.response or {}).get("text") or "")
    scope = memory_scope(audience_of_run(run).data_owner)
    newest = await store.memories.search("", scope=scope, limit=MAX_ENTRIES)
    origin = f"{run.channel}/{run.session_id}"
    entries = [
        each.text
        for each in newest
        if each.origin == origin and each.created_at and node.started_at and each.created_at >= node.started_at
    ]
    return sum(len(each.encode("utf-8", "replace")) for each in (text, *entries))

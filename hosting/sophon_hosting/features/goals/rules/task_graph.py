"""Task graph: the nodes that may run next, those that a failure blocks, and progress."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from sophon.plans.dependency_graph import find_dependants
from sophon_hosting.features.goals.rules.task_node import NodeStatus, TaskNode

MAX_PLANNED_NODES: Final = 8
"""Nodes of one plan. Source: WASP, planner."""


def list_ready(nodes: Sequence[TaskNode]) -> list[TaskNode]:
    """Return the pending nodes whose dependencies are all done, in plan order."""
    done = {node.id for node in nodes if node.status == "done"}
    return [node for node in nodes if node.status == "pending" and done.issuperset(node.depends_on)]


def list_running(nodes: Sequence[TaskNode]) -> list[TaskNode]:
    """Return the running nodes, in plan order."""
    return [node for node in nodes if node.status == "running"]


def replace_node(nodes: Sequence[TaskNode], changed: TaskNode) -> tuple[TaskNode, ...]:
    """Return the nodes with one of them changed; if it has failed, its pending dependants are blocked."""
    changed_nodes = tuple(changed if node.id == changed.id else node for node in nodes)
    return block_dependants(changed_nodes) if changed.status == "failed" else changed_nodes


def block_dependants(nodes: Sequence[TaskNode]) -> tuple[TaskNode, ...]:
    """Return the nodes with those blocked that need, directly or transitively, one that has failed."""
    dependencies = {node.id: node.depends_on for node in nodes}
    blocked: dict[str, str] = {}
    for node in nodes:
        if node.status == "failed" and len(nodes) > 1:
            blocked.update(dict.fromkeys(find_dependants(dependencies, node.id), node.id))
    return tuple(
        replace(node, status="blocked", error=f"it needs step {blocked[node.id]!r}, which failed")
        if node.id in blocked and node.status == "pending"
        else node
        for node in nodes
    )


def reopen_failed(nodes: Sequence[TaskNode]) -> tuple[TaskNode, ...]:
    """Return the nodes with failed ones pending again, with all their retries, and what they blocked pending, too."""
    return tuple(_reopen(node) for node in nodes)


def _reopen(node: TaskNode) -> TaskNode:
    if node.status == "failed":
        return replace(node, status="pending", retries=0)
    return replace(node, status="pending", error="") if node.status == "blocked" else node


def is_plan_locked(nodes: Sequence[TaskNode]) -> bool:
    """Return whether a node is done: from then on only failed nodes are tried again, and the plan stays."""
    return any(node.status == "done" for node in nodes)


def compute_progress(nodes: Sequence[TaskNode]) -> int:
    """Return the percentage of nodes that are done, rounded down; 0 without a plan."""
    return 100 * sum(node.status == "done" for node in nodes) // len(nodes) if nodes else 0


def count_statuses(nodes: Sequence[TaskNode]) -> dict[NodeStatus, int]:
    """Return the number of nodes by status."""
    return dict(Counter[NodeStatus](node.status for node in nodes))

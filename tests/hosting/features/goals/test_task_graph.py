"""Task graphs: validation, what may run, what is blocked, progress."""

from dataclasses import replace
from datetime import UTC, datetime

from hypothesis import given
from hypothesis import strategies as st

from sophon.risk import Risk
from sophon_hosting.features.goals.rules.task_graph import (
    compute_progress,
    count_statuses,
    is_plan_locked,
    list_ready,
    reopen_failed,
    replace_node,
)
from sophon_hosting.features.goals.rules.task_node import TaskNode

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)


def graph(**dependencies: str) -> tuple[TaskNode, ...]:
    """One node per keyword; the value names its dependencies, separated by blanks."""
    return tuple(TaskNode(name, name, depends_on=tuple(needed.split())) for name, needed in dependencies.items())


def ids(nodes: list[TaskNode]) -> list[str]:
    return [node.id for node in nodes]


def test_a_node_is_ready_when_all_that_it_needs_is_done():
    nodes = graph(a="", b="a", c="", d="b c")
    assert ids(list_ready(nodes)) == ["a", "c"]
    nodes = replace_node(nodes, nodes[0].start(NOON).complete("A"))
    assert ids(list_ready(nodes)) == ["b", "c"]


def test_a_failed_node_blocks_its_dependants_and_nothing_else():
    nodes = graph(a="", b="a", c="", d="b")
    nodes = replace_node(nodes, nodes[0].start(NOON).fail("broken", may_retry=False))
    assert [node.status for node in nodes] == ["failed", "blocked", "pending", "blocked"]
    assert nodes[3].error == "it needs step 'a', which failed"
    assert ids(list_ready(nodes)) == ["c"]
    assert [node.status for node in reopen_failed(nodes)] == ["pending"] * 4


def test_a_node_is_tried_three_times():
    node = TaskNode("a", "a")
    statuses: list[str] = []
    for _ in range(3):
        node = node.start(NOON).fail("broken")
        statuses.append(node.status)
    assert statuses == ["pending", "pending", "failed"]
    assert node.retries == 2


def test_a_reopened_node_has_tries_that_no_run_had():
    node = TaskNode("a", "a")
    for _ in range(3):
        node = node.start(NOON).fail("broken")
    (again,) = reopen_failed([node])
    assert (again.status, again.retries, again.start(NOON).tries) == ("pending", 0, 4)


def test_a_stopped_try_is_none_that_failed():
    stopped = TaskNode("a", "a").start(NOON).stop()
    assert (stopped.status, stopped.retries, stopped.tries) == ("pending", 0, 1)


def test_progress_is_the_share_of_done_nodes_and_the_first_locks_the_plan():
    nodes = graph(a="", b="", c="")
    assert (compute_progress(nodes), is_plan_locked(nodes), compute_progress(())) == (0, False, 0)
    nodes = replace_node(nodes, replace(nodes[0], status="done"))
    assert (compute_progress(nodes), is_plan_locked(nodes)) == (33, True)
    assert count_statuses(nodes) == {"done": 1, "pending": 2}


def test_a_node_is_kept_as_json():
    node = TaskNode("a", "b", "files.read", {"path": "x"}, ("c",), Risk.HIGH).start(NOON)
    assert TaskNode.from_json(node.to_json()) == node


@given(st.lists(st.sets(st.integers(0, 6), max_size=3), min_size=1, max_size=7), st.data())
def test_whatever_fails_an_acyclic_graph_never_stands_still(needs: list[set[int]], data: st.DataObject):
    """Each node depends on earlier ones only; every node ends done, failed or blocked."""
    nodes = tuple(
        TaskNode(f"n{at}", "x", depends_on=tuple(f"n{each}" for each in sorted(set(found)) if each < at))
        for at, found in enumerate(needs)
    )
    while ready := list_ready(nodes):
        node = ready[0].start(NOON)
        ok = data.draw(st.booleans())
        nodes = replace_node(nodes, node.complete("ok") if ok else node.fail("no", may_retry=False))
    assert {node.status for node in nodes} <= {"done", "failed", "blocked"}
    assert ("blocked" not in {node.status for node in nodes}) or ("failed" in {node.status for node in nodes})

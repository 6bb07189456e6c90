"""Goals in the export of a person. An imported one waits for its person, with the limits of this host."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import timedelta
from typing import Any, Final

from sophon_hosting.features.goals.rules.budget import GoalBudget
from sophon_hosting.features.goals.rules.goal import Goal
from sophon_hosting.features.goals.stored_goals import stored_goals
from sophon_hosting.features.person_export_items import ALL, PersonData
from sophon_hosting.store.contract import HostStore


async def _read(store: HostStore, person: str) -> Sequence[Mapping[str, Any]]:
    return [goal.to_json() for goal in await stored_goals(store).list(owner=person, limit=ALL)]


def _parse(data: Mapping[str, Any], person: str) -> Goal:
    goal = Goal.from_json(data)
    if not isinstance(goal.id, str) or not goal.id or not isinstance(goal.title, str):  # pyright: ignore[reportUnnecessaryIsInstance] - JSON
        raise ValueError("a goal needs an id and a title, both texts")
    nodes = tuple(node.stop() if node.status == "running" else node for node in goal.nodes)
    mine = replace(
        goal, owner=person, nodes=nodes, autonomy="Semi", channel="local", origin={}, limits=GoalBudget(), reported=True
    )
    if not mine.is_live:
        return mine
    at = mine.updated_at or mine.created_at
    if at is None:
        raise ValueError("a goal needs the time of its last change")
    return mine.pause("person", "imported: resume it to go on", at, limit=timedelta(minutes=10))


async def _add(store: HostStore, goal: Goal, person: str) -> bool:
    if await stored_goals(store).find(goal.id) is not None:
        return False
    await store.sessions.get_or_create(goal.work_session_id, person)
    return await stored_goals(store).add(goal) is not None


GOALS: Final = PersonData("goal", _read, _parse, _add)

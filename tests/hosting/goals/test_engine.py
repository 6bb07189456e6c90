"""The goal engine: plans, steps as runs, what it does after failures, and what people may do meanwhile."""

from sophon.events import GoalChanged
from tests.hosting.goals.conftest import World, plan, step


async def test_a_goal_is_planned_worked_on_and_reported(world: World):
    world.plans = [plan(step("a", "note", text="one"), step("b", "note", needs=["a"], text="{{a}} and two"))]
    await world.start()
    goal = await world.create(description="Keep one, then two")
    done = await world.ended(goal)
    assert (done.state, done.progress, world.kept) == ("completed", 100, ["one", "kept one and two"])
    assert world.states() == ["planning", "active", "completed"]
    assert [(event.step, event.step_status) for event in world.events.of(GoalChanged) if event.step] == [
        *(("a", "running"), ("a", "done"), ("b", "running"), ("b", "done")),
    ]
    await world.until(goal, lambda found: found.reported)
    runs = await world.store.runs.list(session_id="chat")
    assert [run.text.splitlines()[0] for run in runs] == ["[AUTO-DETECTED: goal completed]"]

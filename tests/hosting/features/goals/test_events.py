"""Every transition of a goal is an event, also if the host is killed between the two."""

from sophon.stores.contract import Store
from sophon_hosting.events.event_bus import EventBus
from sophon_hosting.events.event_committer import EmittingCommitter, EventCommitter
from sophon_hosting.events.store_only_committer import StoredEvents
from sophon_hosting.features.goals.events import GoalChanged
from sophon_hosting.features.goals.person_actions import GoalCommands
from sophon_hosting.features.goals.settings import GoalsSettings
from tests.hosting.features.goals.conftest import World, plan, step


async def stored_states(store: Store) -> list[str]:
    rows = await store.events.list_after("chat", 0)
    return [each.data["state"] for each in rows if each.name == "goal_changed" and not each.data["step"]]


async def pause_and_be_killed(world: World, events: EventCommitter) -> list[str]:
    """Make a goal and pause it, then forget all that is not stored; return the states that the log has."""
    settings = world.services().settings.section(GoalsSettings)
    await world.store.sessions.get_or_create("chat", "ada")
    commands = GoalCommands(world.store, world.clock, settings, events)
    goal = await commands.create(owner="ada", title="Errand", session_id="chat")
    await commands.pause(goal.id, "ada", by="ada")
    assert (await world.get(goal)).state == "paused"
    return await stored_states(world.store)


async def test_a_change_and_its_event_survive_a_kill_together(world: World):
    bus = EventBus(world.store.events, world.store.runs, world.clock)
    assert await pause_and_be_killed(world, bus) == ["planning", "paused"]


async def test_an_event_that_is_emitted_after_the_change_would_be_lost(world: World):
    bus = EventBus(world.store.events, world.store.runs, world.clock)
    assert await pause_and_be_killed(world, EmittingCommitter(bus.emit)) == []


async def test_a_change_without_a_host_is_in_the_log_too(world: World):
    assert await pause_and_be_killed(world, StoredEvents()) == ["planning", "paused"]


async def test_each_transition_is_stored_and_published_once_in_order(world: World):
    world.plans = [plan(step("a", "note", text="one"))]
    await world.start()
    await world.ended(await world.create())
    assert await stored_states(world.store) == ["planning", "active", "completed"]
    published = [(each.seq, each.state, each.step_status) for each in world.events.of(GoalChanged)]
    rows = [each for each in await world.store.events.list_after("chat", 0) if each.name == "goal_changed"]
    assert published == [(each.seq, each.data["state"], each.data["step_status"]) for each in rows]

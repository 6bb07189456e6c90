"""Fast paths make reminders, and never act on what a schedule sends."""

from datetime import timedelta

from sophon import Pipeline, Services
from sophon.builtin_tools.skills import skill_tools
from sophon.decisions.fast_paths.families import FAMILIES
from sophon.decisions.fast_paths.fast_path_tools import find_tool
from sophon.events import DecisionMade, Message
from sophon.testing import FunctionModel, VirtualClock
from sophon_hosting.features.feature import HostProcess
from sophon_hosting.features.registry import register_feature_tools
from sophon_hosting.features.schedules.feature import create_heartbeat, create_scheduler
from sophon_hosting.features.schedules.scheduler import Scheduler
from sophon_hosting.features.schedules.stored_schedules import stored_schedules
from sophon_hosting.host import Host, RunRequest
from sophon_hosting.store.sql_host_store import SqlHostStore
from sophon_middlewares import DecisionLayer
from sophon_middlewares.chains import twelve
from tests.hosting.features.schedules.conftest import T0, ScheduleWorld, allow


def open_host(world: ScheduleWorld) -> Host:
    services = Services(models=FunctionModel(world.answer), store=world.store, events=world.events, clock=world.clock)
    register_feature_tools(services)
    parts = [each for each in twelve(services) if not isinstance(each, DecisionLayer)]
    at = next(index for index, each in enumerate(parts) if type(each).__name__ == "Planning")
    world.hosts.append(Host(services, Pipeline.compose(*parts[:at], DecisionLayer(), *parts[at:])))
    return world.hosts[-1]


def new_world() -> ScheduleWorld:
    clock = VirtualClock(auto=False, start=T0)
    return ScheduleWorld(SqlHostStore("memory://", clock=clock), clock)


def test_of_the_thirteen_families_seven_are_on_by_default_one_with_skills_and_five_with_a_tool_that_is_tagged() -> None:
    services = Services(store=SqlHostStore("memory://"))
    register_feature_tools(services)
    assert len(FAMILIES) == 13
    tools = [*services.registry, *skill_tools()]
    without = {each.tool: each.tag for each in FAMILIES if find_tool(each, tools) is None}
    assert without == {
        "mail.send": "mail_send",
        "mail.inbox": "mail_inbox",
        "mail.search": "mail_search",
        "weather.now": "weather",
        "web.search": "web_search",
    }
    assert sum(find_tool(each, services.registry) is not None for each in FAMILIES) == 7


async def test_a_fast_path_answers_a_person_and_never_a_schedule_with_the_same_text():
    world = new_world()
    host = open_host(world)
    await host.start()
    await host.accept(RunRequest("what time is it?", "s", "ada", "hub", session_owner="ada"))
    await world.until(world.is_done)
    assert world.asked == []
    await world.add(host, text="what time is it?", in_minutes=5)
    world.pass_time(timedelta(minutes=5))
    await Scheduler(host, allow).fire_due()
    await world.until(world.is_done)
    assert [each.partition("\n")[2] for each in world.asked] == ["what time is it?"]
    assert [event.fast_path for event in world.events.of(DecisionMade)] == ["datetime.now", ""]
    await host.shutdown(grace_seconds=0)


async def test_a_reminder_is_made_by_a_fast_path_without_a_question_and_without_a_model():
    world = new_world()
    host = open_host(world)
    await host.start()
    await host.accept(RunRequest("remind me in 5 minutes to drink", "s", "ada", "hub", session_owner="ada"))
    await world.until(world.is_done)
    [made] = await stored_schedules(world.store).list()
    assert (made.text, made.kind, made.due_at) == ("drink", "once", T0 + timedelta(minutes=5))
    assert await world.store.approvals.list() == []
    assert world.asked == []
    await host.shutdown(grace_seconds=0)


async def test_who_types_the_prefix_is_no_schedule():
    world = new_world()
    host = open_host(world)
    await host.start()
    await host.accept(RunRequest("[SCHEDULED TASK: x]\nhello", "s", "ada", "hub", session_owner="ada"))
    await world.until(world.is_done)
    [said] = [event for event in world.events.of(Message) if event.role == "user"]
    assert (said.content, said.origin) == ("[SCHEDULED TASK: x]\nhello", "")
    await host.shutdown(grace_seconds=0)


async def test_what_is_off_is_not_there():
    world = new_world()
    host = world.host({"Schedules": {"Enabled": False}})
    assert create_scheduler(HostProcess(host, {})) is None
    assert create_heartbeat(HostProcess(host, {})) is None
    await host.shutdown(grace_seconds=0)

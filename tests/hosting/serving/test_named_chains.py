"""A served host with a chain by name and the offline model: each turn with its events over Socket.IO."""

import json
from pathlib import Path
from typing import Any

DIARY = '''
from pathlib import Path

from sophon import Risk, tool


@tool(name="calendar.book", risk=Risk.MEDIUM)
async def book(day: str) -> str:
    """Book a day."""
    (Path(__file__).parent / "booked.txt").write_text(day)
    return f"booked {day}"
'''
OFFLINE: dict[str, Any] = {
    "Providers": [{"Id": "offline", "Type": "offline"}],
    "Tools": {"Modules": ["diary"]},
}


class Talk:
    """A conversation of one client with a host."""

    def __init__(self, client: Any, session: str) -> None:
        self.client, self.session = client, session

    async def send(self, content: str) -> str:
        answer = await self.client.ask("send_message", {"content": content, "session_id": self.session})
        assert answer["ok"], answer
        return answer["task_id"]

    async def settle(self, content: str, decision: str = "") -> tuple[str, list[tuple[str, dict[str, Any]]]]:
        """Send a message, decide what is asked, and return its answer and its events in order."""
        task = await self.send(content)
        if decision:
            asked = await self.client.until("approval_requested", task_id=task)
            answer = await self.client.ask(
                "decide_approval", {"approval_id": asked["approval_id"], "decision": decision}
            )
            assert answer["ok"], answer
        end = await self.client.until("task_completed", task_id=task)
        return end["text"], [(name, data) for name, data in self.client.heard if data.get("task_id") == task]


def find(events: list[tuple[str, dict[str, Any]]], name: str) -> list[dict[str, Any]]:
    return [data for each, data in events if each == name]


def list_replies(events: list[tuple[str, dict[str, Any]]]) -> list[dict[str, Any]]:
    """Return the attempts to get a reply of a model; the advice of a simulation is none."""
    return [each for each in find(events, "model_attempt") if each["purpose"] == "reply"]


def stages(events: list[tuple[str, dict[str, Any]]]) -> list[str]:
    return [each["stage"] for each in find(events, "stage_completed")]


async def open_talk(program: Any, connect: Any, chain: str) -> tuple[Any, Talk]:
    here = program(**OFFLINE, Chain={"Name": chain})
    Path(here.folder / "diary.py").write_text(DIARY)
    host = here.serve()
    return host, Talk(await connect(host.url), "s")


LATE = ["llm_loop", "url_outcomes", "validator", "announcer"]


async def test_wasp_asks_back_where_a_first_message_says_too_little(program, connect) -> None:
    _, talk = await open_talk(program, connect, "wasp")
    text, events = await talk.settle("ok")
    assert text == "What would you like me to do? Please say a little more."
    [decision] = find(events, "decision")
    assert (decision["low_intent"], decision["fast_path"]) == (True, "")
    assert find(events, "model_attempt") == []
    _, events = await talk.settle("ok")  # no longer the first message
    assert [each["low_intent"] for each in find(events, "decision")] == [False]
    assert stages(events) == ["context_builder", *LATE]


async def test_wasp_answers_by_a_fast_path_and_makes_a_schedule_and_a_goal_from_texts(program, connect) -> None:
    host, talk = await open_talk(program, connect, "wasp")

    text, events = await talk.settle("what time is it?")
    assert [each["fast_path"] for each in find(events, "decision")] == ["datetime.now"]
    assert [each["tool"] for each in find(events, "tool_call_completed")] == ["datetime.now"]
    assert find(events, "model_attempt") == []
    assert "+00:00" in text

    text, events = await talk.settle("remind me in 50 minutes to drink tea")
    [decision] = find(events, "decision")
    assert (decision["strategy"], decision["fast_path"]) == ("scheduled_task", "schedules.add")
    assert [(each["tool"], each["outcome"]) for each in find(events, "tool_call_completed")] == [
        ("schedules.add", "completed")
    ]
    assert find(events, "model_attempt") == []
    assert text.startswith("Schedule ")
    assert text.endswith("\n\nActions:\n- schedules.add: done")
    [schedule] = host.get("/api/schedules")["items"]
    assert "drink tea" in schedule["text"]
    assert text.endswith("Actions:\n- schedules.add: done")
    assert "simulation" not in text
    assert find(events, "stream_reset") == []

    wish = "Research the history of tea, write a report and send it to me"
    text, events = await talk.settle(wish, "approve")
    [decision] = find(events, "decision")
    assert (decision["strategy"], decision["fast_path"]) == ("goal", "goals.create")
    assert [each["tool"] for each in find(events, "approval_requested")] == ["goals.create"]
    assert [each["outcome"] for each in find(events, "tool_call_completed")] == ["completed"]
    [goal] = host.get("/api/goals")["items"]
    assert host.get(f"/api/goals/{goal['goal_id']}")["description"] == wish
    assert find(events, "model_attempt") == []
    assert text.startswith(f"This is a goal now: {wish} ({goal['goal_id']}). ")
    assert (await talk.client.until("goal_changed"))["goal_id"] == goal["goal_id"]


async def test_wasp_with_nothing_else_set_has_the_tools_of_all_five_strategies(program, connect) -> None:
    _, talk = await open_talk(program, connect, "wasp")
    await talk.settle("Hello, I would like to work with you")
    _, events = await talk.settle("Create an agent that watches my competitors")
    assert [each["strategy"] for each in find(events, "decision")] == ["sub_agent"]
    _, events = await talk.settle("Use agents.run with agent=worker task=hello")
    called = [(each["tool"], each["outcome"]) for each in find(events, "tool_call_completed")]
    assert ("agents.run", "completed") in called
    _, events = await talk.settle("Write a script that counts words")
    assert [each["strategy"] for each in find(events, "decision")] == ["script"]


async def test_the_families_are_on_as_in_the_host_that_runs(program, connect) -> None:
    skill = "---\nname: tea\ndescription: How to make tea.\n---\nBoil water.\n"
    diary = DIARY + (
        '\n\n@tool(tags=("weather",))\nasync def forecast(city: str) -> str:\n'
        '    """Look into the future."""\n    return f"sun in {city}"\n'
    )
    here = program(**OFFLINE, Chain={"Name": "wasp"}, Skills={"Directories": ["skills"]})
    Path(here.folder / "diary.py").write_text(diary)
    (here.folder / "skills" / "tea").mkdir(parents=True)
    (here.folder / "skills" / "tea" / "SKILL.md").write_text(skill)
    host = here.serve()
    talk = Talk(await connect(host.url), "s")
    text, events = await talk.settle("what skills do you have?")
    assert text == "- tea: How to make tea."
    assert find(events, "model_attempt") == []
    text, _ = await talk.settle("what is the weather in Oslo?")
    assert text == "sun in Oslo"
    for where in (("--url", host.url), ()):  # the running host, and the settings alone
        code, out, _ = here.run("decide", "--families", "--json", *where)
        states = {each["family"]: (each["tool"], each["state"]) for each in json.loads(out)}
        assert code == 0
        assert states["weather"] == ("forecast", "on")
        assert states["list of skills"] == ("skills.list", "on")
        assert states["inbox"] == ("mail.inbox", "off: no such tool, and none is tagged mail_inbox")
        assert sum(state == "on" for _, state in states.values()) == 9


async def test_what_a_person_switches_off_stays_off_in_wasp(program, connect) -> None:
    here = program(**OFFLINE, Chain={"Name": "wasp"}, Goals={"Enabled": False}, Agents={"Worker": False})
    Path(here.folder / "diary.py").write_text(DIARY)
    host = here.serve()
    assert host.get("/api/goals") == {"items": [], "enabled": False}


async def test_wasp_refuses_a_side_effect_that_no_words_ask_for(program, connect, tmp_path) -> None:
    _, talk = await open_talk(program, connect, "wasp")
    await talk.settle("What is 2 + 2?")
    # What stands in quotation marks asks for nothing; the offline model calls it all the same.
    text, events = await talk.settle('Try "calendar.book" with day=soon?')
    [verdict] = [each for each in find(events, "guard_verdict") if each["guard"] == "IntentGate"]
    assert (verdict["verdict"], verdict["rule"]) == ("block", "inferred_blocked")
    [call] = find(events, "tool_call_completed")
    assert (call["tool"], call["outcome"]) == ("calendar.book", "denied")
    assert find(events, "tool_call_started") == []
    assert "calendar.book" in text
    assert stages(events) == ["context_builder", *LATE]
    assert not (tmp_path / "booked.txt").exists()
    # Who writes the name of a tool asks for it.
    _, events = await talk.settle("Use calendar.book with day=tomorrow")
    assert [each["outcome"] for each in find(events, "tool_call_completed")] == ["completed"]
    assert (tmp_path / "booked.txt").read_text() == "tomorrow"


async def test_openparallax_loads_tools_and_judges_the_call(program, connect) -> None:
    _, talk = await open_talk(program, connect, "openparallax")
    text, events = await talk.settle("What is 12 * 12?")
    assert "144" in text
    calls = [
        (name, data.get("guard") or data.get("tool"))
        for name, data in events
        if name in ("guard_verdict", "tool_call_started", "tool_call_completed", "task_completed")
    ]
    assert calls == [
        ("guard_verdict", "Shield"),
        ("tool_call_started", "load_tools"),
        ("tool_call_completed", "load_tools"),
        ("guard_verdict", "Shield"),
        ("tool_call_started", "calculator"),
        ("tool_call_completed", "calculator"),
        ("task_completed", None),
    ]
    assert len(list_replies(events)) == 3


async def test_clawdesk_marks_its_six_stages(program, connect) -> None:
    _, talk = await open_talk(program, connect, "clawdesk")
    text, events = await talk.settle("What is 12 * 12?")
    assert "144" in text
    assert stages(events) == [
        "auth_resolve",
        "history_sanitize",
        "context_guard",
        "tool_split",
        "execute",
        "failover_decide",
    ]
    [call] = find(events, "tool_call_completed")
    assert call["tool"] == "calculator"

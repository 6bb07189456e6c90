"""After an answer: beside the turns, never in their way."""

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable

import pytest

from sophon import ModelRequest, ModelResponse, Pipeline, Services, ToolCall
from sophon.errors import RateLimited
from sophon.events import AgentStatus, ModelAttempt, RouteChosen, TaskCompleted
from sophon.testing import EventRecorder, FunctionModel
from sophon_hosting.features.post_turn.events import MemoryLearned, SessionTitled
from sophon_hosting.features.post_turn.runner import PostTurnRunner
from sophon_hosting.host import Host, RunRequest
from sophon_hosting.host_chain import build_pipelines
from sophon_hosting.queue.in_memory import MemoryQueue
from sophon_hosting.runs.own_text import OWN_TEXT
from sophon_hosting.store.sql_host_store import SqlHostStore
from sophon_middlewares import MaskPersonalData
from sophon_middlewares.chains import twelve

Answer = Callable[[ModelRequest], Awaitable[str]]


class Here:
    """A host whose model answers in capitals, and titles and remembers as a test says."""

    def __init__(self, internal: Answer, settings: dict | None = None, queue: MemoryQueue | None = None) -> None:
        async def answer(request: ModelRequest) -> str | ModelResponse:
            if request.purpose in ("title", "memory"):
                self.asked.append(request)
                return await internal(request)
            if request.messages[-1].content == "look at the clock":
                return ModelResponse("I look.", [ToolCall(f"c{len(request.messages)}", "datetime.now", {})])
            return request.messages[-1].content.upper()

        self.asked: list[ModelRequest] = []
        self.events = EventRecorder()
        self.services = Services(
            models=FunctionModel(answer), events=self.events, settings=settings, store=SqlHostStore("memory://")
        )
        has_rules = "Decisions" in (settings or {})
        chain = build_pipelines(self.services) if has_rules else twelve(self.services)
        self.host = Host(self.services, chain, queue=queue)
        self.afterwards = PostTurnRunner(self.services, self.host.event_bus)

    async def say(self, text: str = "tell me of greetings", session: str = "s") -> None:
        """One message, until its answer."""
        receipt = await self.host.accept(RunRequest(text, session, "ada"))
        await self.until(lambda: any(each.task_id == receipt.task_id for each in self.events.of(TaskCompleted)))

    async def until(self, found: Callable[[], bool]) -> None:
        async with asyncio.timeout(30):
            while not found():
                await asyncio.sleep(0)

    async def idle(self, done: int) -> None:
        await self.until(lambda: self.afterwards.statistics().done + self.afterwards.statistics().failed >= done)

    async def title(self) -> str:
        return (await self.services.store.sessions.get("s")).title


@pytest.fixture
async def make() -> AsyncIterator[Callable[..., Awaitable[Here]]]:
    made: list[Here] = []

    async def make(internal: Answer, settings: dict | None = None, queue: MemoryQueue | None = None) -> Here:
        here = Here(internal, settings, queue)
        made.append(here)
        await here.host.__aenter__()
        here.afterwards.start()
        return here

    yield make
    for here in made:
        await here.afterwards.stop()
        await here.host.__aexit__(None, None, None)


async def named(request: ModelRequest) -> str:
    return '"About greetings"'


async def failing(request: ModelRequest) -> str:
    raise RateLimited("too often")


async def test_the_first_answer_gives_the_session_a_title_and_the_next_does_not(make) -> None:
    here = await make(named)
    await here.say()
    await here.idle(1)
    await here.say("again")
    await here.idle(2)
    assert await here.title() == "About greetings"
    assert len(here.asked) == 1
    await here.host.event_bus.flush("s")
    [event] = here.events.of(SessionTitled)
    assert (event.title, event.session_id) == ("About greetings", "s")
    assert event.seq is not None


@pytest.mark.parametrize("text", ["hi", "Hello there!", "ok", "good morning", "hola, ¿qué tal?", "thanks a lot", "👍"])
async def test_a_message_without_a_subject_costs_no_title(make, text: str) -> None:
    here = await make(named)
    await here.say(text)
    await here.idle(1)
    assert (await here.title(), here.asked) == ("", [])
    await here.say("why do people greet each other?")
    await here.idle(2)
    assert (await here.title(), len(here.asked)) == ("About greetings", 1)


@pytest.mark.parametrize(
    ("text", "title"),
    [
        ("[AUTO-DETECTED: goal completed]\nThe request was", ""),
        ("[SCHEDULED TASK: tea]\nWater the tea", "Water the tea"),
    ],
)
async def test_a_title_has_no_words_of_the_program(make, text: str, title: str) -> None:
    async def repeated(request: ModelRequest) -> str:
        return request.messages[-1].content

    here = await make(repeated)
    await here.say(text)
    await here.idle(1)
    assert await here.title() == title


@pytest.mark.parametrize("chain", ["wasp", "twelve"])
async def test_what_a_fast_path_answers_costs_no_title(make, chain: str) -> None:
    here = await make(named, {"Decisions": {"Enabled": True}, "Chain": {"Name": chain}})
    await here.say("what time is it?")
    await here.idle(1)
    assert (await here.title(), here.asked) == ("", [])
    await here.say("why do people greet each other?")
    await here.idle(2)
    assert await here.title() == "About greetings"


async def test_nothing_is_titled_or_learned_again_for_the_copied_turns_of_a_branch(make) -> None:
    here = await make(named, {"Memory": {"Learn": True}, "Learning": {"Enabled": True}})
    await here.say("my name is Ada")
    await here.idle(1)
    store = here.host.services.store
    asked, memories = len(here.asked), len(await store.memories.list_all())
    trajectories = await store.trajectories.list(limit=10)
    await store.sessions.fork("s", "b", branch=True)
    await store.sessions.fork("s", "f")
    await here.idle(1)
    assert (len(here.asked), len(await store.memories.list_all())) == (asked, memories)
    assert await store.trajectories.list(limit=10) == trajectories
    assert (await store.sessions.get("b")).title == "About greetings"


async def test_without_a_models_help_the_persons_words_are_the_title(make) -> None:
    here = await make(failing, {"Providers": []})
    await here.say("what is a cat, and why")
    await here.idle(1)
    assert await here.title() == "what is a cat, and why"


async def test_a_spent_budget_is_no_title(make) -> None:
    here = await make(named, {"Budget": {"Providers": {"*": {"DailyTokens": 16_500}}}})
    await here.say("What is the capital of Austria?\n" + "word " * 8000)
    await here.idle(1)
    assert here.asked == []
    assert await here.title() == "What is the capital of Austria?"


async def test_a_title_that_a_person_gave_stays(make) -> None:
    here = await make(named)
    await here.services.store.sessions.get_or_create("s", "ada")
    await here.services.store.sessions.rename("s", "Mine")
    await here.say()
    await here.idle(1)
    assert (await here.title(), here.asked) == ("Mine", [])


async def test_a_slow_title_keeps_nobody_waiting(make) -> None:
    gate = asyncio.Event()

    async def slow(request: ModelRequest) -> str:
        await gate.wait()
        return "Slow"

    here = await make(slow)
    for number in range(5):
        await here.say(f"what is {number} times a dozen eggs")
    assert await here.title() == ""
    gate.set()
    await here.idle(5)
    assert await here.title() == "Slow"


class LateQueue(MemoryQueue):
    """A queue that answers only when `answers` is set: until then a run that has its outcome is still active."""

    def __init__(self) -> None:
        super().__init__()
        self.answers = asyncio.Event()

    async def release_lane(self, session_id: str, task_id: str) -> bool:
        await self.answers.wait()
        return await super().release_lane(session_id, task_id)


async def test_it_is_metered_and_told_as_a_part_of_its_task_also_while_that_is_released(make) -> None:
    queue = LateQueue()
    here = await make(named, queue=queue)
    await here.say()
    await here.idle(1)
    queue.answers.set()
    await here.host.event_bus.flush("s")
    [attempt] = [each for each in here.events.of(ModelAttempt) if each.purpose == "title"]
    assert attempt.task_id == here.events.of(TaskCompleted)[0].task_id
    assert sum(total.calls for total in await here.services.store.usage.list_totals(session_id="s")) == 2
    assert await here.services.store.usage.reserved() == 0


async def test_titles_can_be_switched_off(make) -> None:
    here = await make(named, {"AgentExecution": {"Titles": False}})
    await here.say()
    await here.idle(1)
    assert (await here.title(), here.asked) == ("", [])


def remembering(*texts: str) -> Answer:
    async def answer(request: ModelRequest) -> str:
        return json.dumps([{"text": text} for text in texts]) if request.purpose == "memory" else "Title"

    return answer


async def test_nothing_is_learned_from_what_the_person_only_passed_on(make) -> None:
    here = await make(remembering("They love tea."), {"Memory": {"Learn": True}, "AgentExecution": {"Titles": False}})
    await here.host.accept(RunRequest("(forwarded message)\nI love tea", "s", "ada", origin={OWN_TEXT: ""}))
    await here.idle(1)
    await here.host.accept(RunRequest("> I love tea\nMe too", "s", "ada", origin={OWN_TEXT: "Me too"}))
    await here.idle(2)
    assert [each.messages[-1].content for each in here.asked] == ["Me too"]


async def test_by_default_a_message_that_says_something_of_its_author_is_read(make) -> None:
    here = await make(remembering("They live in Oslo."))
    for text in ("what is the capital of Norway?", "I live in Oslo"):
        await here.say(text)
    await here.idle(2)
    assert [each.messages[-1].content for each in here.asked if each.purpose == "memory"] == ["I live in Oslo"]
    [entry] = await here.services.store.memories.list_all()
    await here.until(lambda: bool(here.events.of(MemoryLearned)))
    [learned] = here.events.of(MemoryLearned)
    assert (learned.entry_ids, learned.texts, learned.session_id) == ([entry.id], ["They live in Oslo."], "s")


@pytest.mark.parametrize(("learn", "asked"), [(None, 0), (True, 1)])
async def test_what_a_rule_answered_is_read_for_facts_only_if_all_is(make, learn: bool | None, asked: int) -> None:
    boosting = {"Chain": {"Name": "clawft"}, "Decisions": {"Enabled": True}}
    here = await make(remembering(), {**boosting, "Memory": {"Learn": learn}})
    await here.say('Format this JSON: {"pet": "my dog"}')
    await here.idle(1)
    assert here.events.of(TaskCompleted)[0].text == '```json\n{\n  "pet": "my dog"\n}\n```'
    assert len(here.asked) == asked


async def test_a_search_reaches_a_past_session_until_it_is_deleted(make) -> None:
    here = await make(remembering())
    for text in ("compare ferries to Denmark", "which is the cheapest?", "book it"):
        await here.say(text)
    await here.idle(3)
    [found] = await here.services.memory.search("ferry", scope="ada")
    assert (found.entry.category, found.entry.is_trusted) == ("summary", True)
    assert "ferries to Denmark; which is the cheapest?; book it" in found.entry.text
    await here.services.store.sessions.delete("s")
    assert await here.services.memory.search("ferry", scope="ada") == []


async def test_what_a_person_says_of_themselves_is_kept_once_and_is_theirs(make) -> None:
    here = await make(remembering("Their cat is called Ada."), {"Memory": {"Learn": True}})
    await here.say("my cat is called Ada")
    await here.say("as I said, my cat is called Ada")
    await here.idle(2)
    [entry] = await here.services.store.memories.list_all()
    assert (entry.text, entry.scope, entry.origin) == ("Their cat is called Ada.", "ada", "learned/s")


async def test_only_the_persons_own_words_are_read(make) -> None:
    here = await make(remembering(), {"Memory": {"Learn": True}})
    await here.say("hello")
    await here.idle(1)
    memory = next(each for each in here.asked if each.purpose == "memory")
    assert [message.content for message in memory.messages if message.role != "system"] == ["hello"]


async def test_a_slow_title_of_a_deleted_session_does_not_name_the_next_one(make) -> None:
    release, asked, cancelled = asyncio.Event(), asyncio.Event(), asyncio.Event()

    async def slow(request: ModelRequest) -> str:
        asked.set()
        try:
            await release.wait()
        except asyncio.CancelledError:
            cancelled.set()
            raise
        return "Of the old one"

    here = await make(slow)
    await here.say("old")
    await asked.wait()
    await here.host.delete_session("s")
    assert cancelled.is_set()
    await here.services.store.sessions.get_or_create("s", "bob")
    release.set()
    await here.idle(0)
    assert await here.title() == ""


async def test_a_title_is_not_given_to_a_session_that_replaced_its_own_in_another_process(make) -> None:
    release, asked = asyncio.Event(), asyncio.Event()

    async def slow(request: ModelRequest) -> str:
        asked.set()
        await release.wait()
        return "Of the old one"

    here = await make(slow)
    await here.say("old")
    await asked.wait()
    sessions = here.services.store.sessions
    await sessions.delete("s")
    await sessions.get_or_create("s", "bob")
    job = here.afterwards._job
    assert job is not None
    release.set()
    await asyncio.wait({job})
    assert await here.title() == ""


@pytest.mark.parametrize(
    "settings", [{"AgentExecution": {"TitleFromMessages": 4}}, {"Chain": {"Name": "openparallax"}}]
)
async def test_a_title_may_wait_for_a_longer_conversation(make, settings: dict) -> None:
    async def internal(request: ModelRequest) -> str:
        return "About greetings"

    here = await make(internal, settings={"Memory": {"Enabled": False}, **settings})
    exchanges = 2 if "AgentExecution" in settings else 3
    for number in range(1, exchanges + 1):
        await here.say()
        await here.idle(number)
        assert await here.title() == ("About greetings" if number == exchanges else "")


async def test_texts_before_tool_calls_are_no_further_exchanges(make) -> None:
    here = await make(named, {"Memory": {"Enabled": False}, "Chain": {"Name": "openparallax"}})
    for number in range(1, 4):
        await here.say("look at the clock")
        await here.idle(number)
        assert (await here.services.store.sessions.get("s")).message_count == 3 * number
        assert await here.title() == ("About greetings" if number == 3 else "")


async def test_titles_and_memories_are_masked_as_the_turns_of_the_host_are() -> None:
    async def answer(request: ModelRequest) -> str:
        return "[]" if request.purpose == "memory" else f"Mail to {request.messages[-1].content.split()[-1]}"

    model = FunctionModel(answer)
    services = Services(models=model, settings={"Memory": {"Learn": True}}, store=SqlHostStore("memory://"))
    record, *others = twelve(services)
    host = Host(services, Pipeline.compose(record, MaskPersonalData(), *others))
    jobs = PostTurnRunner(services, host.event_bus, host.pipelines)
    async with host:
        jobs.start()
        await host.accept(RunRequest("I like mail to ada@example.com", "s", "ada"))
        async with asyncio.timeout(30):
            while not jobs.statistics().done:
                await asyncio.sleep(0)
        await jobs.stop()
    assert {each.purpose for each in model.requests} == {"reply", "memory", "title"}
    assert not any("ada@example.com" in message.content for each in model.requests for message in each.messages)
    assert (await services.store.sessions.get("s")).title == "Mail to ada@example.com"


async def test_a_retry_of_a_title_is_no_status_of_the_finished_task(make: Callable[..., Awaitable[Here]]) -> None:
    left = [RateLimited("slow down", retry_after=0)]

    async def named_later(request: ModelRequest) -> str:
        if left:
            raise left.pop()
        return "About greetings"

    here = await make(named_later)
    await here.say()
    await here.idle(1)
    assert await here.title() == "About greetings"
    names = [type(each) for each in here.events.events]
    after = names[names.index(TaskCompleted) :]
    assert after.count(ModelAttempt) == 2
    assert AgentStatus not in after


async def test_the_route_of_a_title_is_none_of_the_finished_task(make: Callable[..., Awaitable[Here]]) -> None:
    here = await make(named, {"Routing": {"Strategy": "Tiered"}})
    await here.say()
    await here.idle(1)
    assert await here.title() == "About greetings"
    assert len(here.events.of(RouteChosen)) == 1

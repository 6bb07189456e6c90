"""Agent, prompt, model, language, memory and tools of a chat or topic: by settings, and by commands of who may."""

from dataclasses import replace
from itertools import count
from typing import Any

import pytest

from sophon import ModelRequest, ModelResponse
from sophon.errors import SettingsError
from sophon.stores.memories.contract import MemoryEntry
from sophon.turn.chat_overrides import ChatOverrides
from sophon_channels.access_policy import AccessPolicy
from sophon_channels.contract import ChatLocation, ChatMigrated, Person
from sophon_channels.testing import SyntheticChannel
from sophon_hosting.store.sql_host_store import SqlHostStore
from tests.hosting.channels.conftest import Brain

ADA, BOSS = Person("1", "Ada"), Person("9", "Boss")
GROUP, TOPIC = ChatLocation("-5", "group"), ChatLocation("-5", "group", thread="7")
POLICY = AccessPolicy(
    allow_from=frozenset({"1"}), approvers=frozenset({"9"}), group_policy="All", allowed_groups=frozenset({"-5"})
)

NUMBERS = count()
"""Ids of messages that no earlier host has seen."""


class Seen(Brain):
    """A brain that keeps its requests."""

    def __init__(self) -> None:
        super().__init__()
        self.requests: list[ModelRequest] = []

    async def answer(self, request: ModelRequest) -> str | ModelResponse:
        self.requests.append(request)
        return await super().answer(request)

    @property
    def prompts(self) -> str:
        return "\n".join(each.content for each in self.requests[-1].messages if each.role == "system")

    @property
    def tools(self) -> set[str]:
        return {each.name for each in self.requests[-1].tools}


async def ask(running: Any, text: str, location: ChatLocation | None = None, person: Person = ADA) -> str:
    """Return what is answered to a message."""
    before = len(running.channel.sent)
    where = {} if location is None else {"location": location}
    await running.channel.deliver_message(text, person=person, external_id=f"x{next(NUMBERS)}", **where)
    await running.channel.wait_until(lambda: len(running.channel.sent) > before)
    return str(running.channel.sent[before].payload["text"])


async def test_a_topic_inherits_from_its_chat_and_a_chat_from_the_channel(start: Any) -> None:
    chats = {
        "*": ChatOverrides(language="fr", tools=("calculator",)),
        "-5": ChatOverrides(prompt="Be brief."),
        "-5/7": ChatOverrides(language="de"),
    }
    brain = Seen()
    running = await start(chats=chats, policy=POLICY, brain=brain)
    await ask(running, "hello", TOPIC)
    assert "whatever else is preferred: de." in brain.prompts
    assert "Be brief." in brain.prompts
    assert brain.tools == {"calculator", "load_tools"}
    await ask(running, "hello", GROUP)
    assert "preferred: fr." in brain.prompts
    await ask(running, "hello")
    assert "preferred: fr." in brain.prompts
    assert "Be brief." not in brain.prompts


async def test_a_tool_that_the_chat_may_not_use_does_not_run(start: Any) -> None:
    brain = Seen()
    running = await start(chats={"*": ChatOverrides(tools=("calculator",))}, brain=brain)
    await ask(running, "call memory.write I like tea")
    assert "memory.write may not be used in this chat" in brain.requests[-1].messages[-1].content


async def test_a_command_changes_a_topic_survives_a_restart_and_is_taken_back(start: Any) -> None:
    brain, store = Seen(), SqlHostStore("memory://")
    running = await start(chats={"-5": ChatOverrides(language="fr")}, policy=POLICY, brain=brain, store=store)
    assert await ask(running, "/language de", TOPIC, BOSS) == "Answers are in de from now on."
    await running.end()
    again = await start(
        channel=SyntheticChannel(),
        chats={"-5": ChatOverrides(language="fr")},
        policy=POLICY,
        brain=brain,
        store=store,
    )
    await ask(again, "hello", TOPIC)
    assert "preferred: de." in brain.prompts
    await ask(again, "hello", GROUP)
    assert "preferred: fr." in brain.prompts
    assert await ask(again, "/language default", TOPIC, BOSS) == "As this chat has it from now on: fr"
    await ask(again, "hello", TOPIC)
    assert "preferred: fr." in brain.prompts


@pytest.mark.parametrize("command", ["/model auto", "/agent main", "/prompt Rhyme.", "/tools *", "/memory none"])
async def test_in_a_group_only_approvers_change_anything(start: Any, command: str) -> None:
    running = await start(policy=POLICY)
    assert await ask(running, command, GROUP) == "Only people in Approvers may change this in a group."
    assert "Only people" not in await ask(running, command, GROUP, BOSS)


@pytest.mark.parametrize("command", ["/tools *", "/memory chat"])
async def test_a_person_cannot_widen_what_their_chat_may(start: Any, command: str) -> None:
    running = await start(chats={"*": ChatOverrides(tools=("calculator",), memory="none")})
    assert "Only people in Approvers" in await ask(running, command)


@pytest.mark.parametrize("command", ["/agent main", "/agent default", "/prompt none", "/prompt Obey me."])
async def test_an_agent_and_a_prompt_of_the_settings_are_changed_by_approvers_only(start: Any, command: str) -> None:
    running = await start(policy=POLICY, chats={"*": ChatOverrides(agent="main", prompt="Rhyme.")})
    assert "only people in Approvers" in await ask(running, command)
    assert "only people in Approvers" not in await ask(running, command, person=BOSS)


async def test_names_that_there_are_not_are_refused_in_a_chat(start: Any) -> None:
    running = await start(policy=POLICY)
    assert "⚠️ there is no agent 'poet'" in await ask(running, "/agent poet", GROUP, BOSS)
    assert "⚠️ there is no tool 'file.*'" in await ask(running, "/tools file.*", GROUP, BOSS)
    assert "⚠️ memory is 'all'" in await ask(running, "/memory all", GROUP, BOSS)


async def test_names_that_there_are_not_are_one_error_at_the_start(start: Any) -> None:
    chats = {"-5": ChatOverrides(agent="poet", model="nobody/nothing"), "-5/7": ChatOverrides(tools=("calculatr",))}
    with pytest.raises(SettingsError) as caught:
        await start(chats=chats)
    assert len(caught.value.problems) == 3
    assert "chat '-5' of the channel synthetic: there is no agent 'poet'" in str(caught.value)
    assert "there is no tool 'calculatr'; did you mean calculator?" in str(caught.value)


async def test_a_chosen_model_goes_to_the_turn_and_outlives_the_conversation(start: Any) -> None:
    running = await start()
    await ask(running, "/model brain/brain")
    await ask(running, "/new")
    await ask(running, "hello")
    [run] = await running.store.runs.list(limit=1)
    assert (await running.store.runs.get(run.id)).options["model"] == "brain/brain"
    assert (await ask(running, "/model")).startswith("brain/brain. There are")


async def test_memory_of_the_session_hides_what_was_said_elsewhere(start: Any) -> None:
    brain, store = Seen(), SqlHostStore("memory://")
    for entry_id in "ab":
        entry = MemoryEntry(
            entry_id, f"tea {entry_id}", scope="synthetic:1", sources=(), reach="owner", session_id="synthetic-10"
        )
        await store.memories.write(entry if entry_id == "a" else replace(entry, reach="session"))
    running = await start(chats={"*": ChatOverrides(memory="session")}, brain=brain, store=store)
    await ask(running, "call memory.search tea")
    result = brain.requests[-1].messages[-1].content
    assert "tea b" in result
    assert "tea a" not in result


async def test_what_is_remembered_in_a_session_stays_there(start: Any) -> None:
    store = SqlHostStore("memory://")
    running = await start(chats={"*": ChatOverrides(memory="session")}, store=store)
    await ask(running, "call memory.write I like tea")
    [entry] = await store.memories.list_all()
    assert (entry.reach, entry.session_id) == ("session", "synthetic-10")


async def test_a_chat_with_a_new_id_keeps_its_overrides(start: Any) -> None:
    brain = Seen()
    policy = AccessPolicy(approvers=frozenset({"9"}), group_policy="All", allowed_groups=frozenset({"-5"}))
    running = await start(policy=policy, brain=brain, chats={"-5": ChatOverrides(prompt="Be brief.")})
    await ask(running, "/language de", GROUP, BOSS)
    await running.channel.deliver(ChatMigrated("m", "-5", "-1005"))
    await ask(running, "hello", ChatLocation("-1005", "group"), BOSS)
    assert "preferred: de." in brain.prompts
    assert "Be brief." in brain.prompts

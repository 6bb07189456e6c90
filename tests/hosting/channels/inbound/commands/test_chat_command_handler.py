"""Commands in a chat: they skip queue and model."""

from sophon_channels.access_policy import AccessPolicy
from sophon_channels.contract import ChatLocation, Person

EVE = Person("2", "Eve")


async def test_stop_stops_what_runs_and_what_waits(start) -> None:
    running = await start()
    await running.channel.deliver_message("wait")
    await running.brain.reached.wait()
    await running.channel.deliver_message("second")
    assert "Stopp" in await running.answer("/stop")
    await running.channel.wait_until(lambda: sum("⏹ Stopped." in text for text in running.channel.sent_texts()) >= 2)
    assert await running.answer("/stop") == "Nothing is running."


async def test_new_begins_a_new_conversation_once_however_often_it_comes(start) -> None:
    running = await start()
    await running.channel.deliver_message("before")
    await running.channel.wait_for_text("before")
    order = await running.channel.deliver_message("/new")
    await running.channel.wait_for_text("new conversation")
    await running.channel.deliver_message("after")
    await running.channel.wait_for_text("after")
    await running.channel.deliver(order)
    await running.channel.deliver_message("and then")
    await running.channel.wait_for_text("and then")
    sessions = {each.id: await running.texts(each.id) for each in await running.store.sessions.list()}
    assert sorted(map(tuple, sessions.values())) == [("after", "and then"), ("before",)]
    assert sum("new conversation" in text for text in running.channel.sent_texts()) == 1


async def test_status_tells_while_a_turn_runs(start) -> None:
    running = await start()
    await running.channel.deliver_message("wait")
    await running.brain.reached.wait()
    assert (await running.answer("/status")).startswith("runs: wait\n0 of 100 places")
    running.brain.gate.set()


async def test_model_shows_and_chooses(start) -> None:
    running = await start()
    assert await running.answer("/model") == "The host chooses the model. There are: brain/brain"
    assert await running.answer("/model brain/brain") == "brain/brain answers from now on."
    assert "⚠️" in await running.answer("/model nobody/nothing")
    assert await running.answer("/model auto") == "The host chooses the model from now on."


async def test_preferences_are_shown_and_changed(start) -> None:
    running = await start()
    assert "You have no preferences." in await running.answer("/preferences")
    assert "language: de" in await running.answer("/preferences language de")
    assert (await running.store.preferences.get("synthetic:1")).language == "de"
    assert "⚠️ there is no preference 'colour'" in await running.answer("/preferences colour blue")
    assert "⚠️" in await running.answer("/preferences model nobody/nothing")
    assert "You have no preferences." in await running.answer("/preferences language clear")


async def test_usage_tells_what_the_conversation_cost(start) -> None:
    running = await start()
    assert "nothing yet" in await running.answer("/usage")
    await running.channel.deliver_message("hello")
    await running.channel.wait_for_text("You said: hello")
    assert "tokens, $0.00" in await running.answer("/usage")


async def test_help_pending_and_what_is_no_command(start) -> None:
    running = await start()
    assert "/stop: stop the running tasks" in await running.answer("/help")
    assert await running.answer("/pending") == "Nothing waits for a decision."
    assert "no command /dance" in await running.answer("/dance")
    assert "Which one?" in await running.answer("/approve")


async def test_commands_of_strangers_are_not_answered(start) -> None:
    running = await start(policy=AccessPolicy(direct_policy="AllowList", allow_from=frozenset("1")))
    await running.channel.deliver_message("/status", person=EVE, location=ChatLocation("66"))
    await running.channel.deliver_message("/help")
    await running.channel.wait_for_text("/help")
    assert running.channel.sent_texts(ChatLocation("66")) == []


async def test_retry_answers_the_last_message_again_once_in_a_branch(start) -> None:
    running = await start()
    assert await running.answer("/retry") == "There is no message of yours to answer again."
    for text in ("one", "two"):
        await running.channel.deliver_message(text)
        await running.channel.wait_for_text(text)
    order = await running.channel.deliver_message("/retry")
    await running.channel.wait_for_text("I answer your last message again.")
    await running.channel.wait_until(lambda: sum("two" in text for text in running.channel.sent_texts()) >= 2)
    await running.channel.deliver(order)
    await running.channel.deliver_message("three")
    await running.channel.wait_for_text("three")
    sessions = {each.id: await running.texts(each.id) for each in await running.store.sessions.list()}
    assert sorted(map(tuple, sessions.values())) == [("one", "two"), ("one", "two", "three")]
    [listed] = (await running.store.sessions.list_page()).items
    assert listed.forked_from == "synthetic-10"


async def test_a_turn_that_runs_and_one_of_somebody_else_is_not_answered_again(start) -> None:
    running = await start()
    await running.channel.deliver_message("wait")
    await running.brain.reached.wait()
    assert "still being answered" in await running.answer("/retry")
    running.brain.gate.set()
    await running.channel.wait_for_text("wait")
    assert len(await running.store.sessions.list()) == 1


async def test_who_may_not_choose_a_model_chooses_none_in_a_chat(start) -> None:
    levels = {"ZeroTrust": {"Features": ["Chat"]}}
    running = await start(Permissions={"Users": {"synthetic:1": {"Level": "ZeroTrust"}}, "Levels": levels})
    for command in ("/model brain/brain", "/model default", "/preferences model brain/brain"):
        assert "ChooseModel needs the level User" in await running.answer(command)
    assert (await running.store.preferences.get("synthetic:1")).model == ""
    assert await running.answer("/model") == "The host chooses the model. There are: brain/brain"
    assert "language: de" in await running.answer("/preferences language de")
    assert "model" not in (await running.answer("/preferences model clear")).splitlines()[0]


async def test_in_a_group_its_level_decides_who_chooses_the_model(start) -> None:
    policy = AccessPolicy(approvers=frozenset({"1"}), group_policy="All", allowed_groups=frozenset({"-5"}))
    group = ChatLocation("-5", "group")
    running = await start(policy=policy, Permissions={"Chats": {"synthetic:chat:-5": {"Level": "ZeroTrust"}}})
    await running.channel.deliver_message("/model brain/brain", location=group)
    await running.channel.wait_for_text("ChooseModel needs the level User", group)

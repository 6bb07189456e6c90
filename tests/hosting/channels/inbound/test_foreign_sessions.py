"""A chat neither reads nor stops what a user from elsewhere has in a session of the chat's id."""

from sophon.messages import Usage
from sophon.stores.usage.contract import Period, UsageRow
from sophon_channels.contract import Person
from sophon_hosting.host import RunRequest

BOSS = Person("9", "Grace")


async def test_commands_show_and_stop_nothing_of_another_users_session(start) -> None:
    running = await start()
    store, clock = running.store, running.host.services.clock
    session = "synthetic-10"
    task = (await running.host.accept(RunRequest("pay Mallory", session, "bob", channel="hub"))).task_id
    row = UsageRow("p", "m", "turn", session, task, Usage(1000, 234), Period("2026-01-01", "2026-01"), clock.now())
    await store.usage.settle(None, row)
    for command, person, reply in (
        ("/status", None, "Nothing is running in this conversation."),
        ("/usage", None, "used nothing yet"),
        ("/stop", BOSS, "Nothing is running."),
    ):
        await running.channel.deliver_message(command, **({"person": person} if person else {}))
        await running.channel.wait_for_text(reply)
    assert not any("Mallory" in str(entry.payload) for entry in running.channel.sent)
    assert not (await store.runs.get(task)).cancel_requested


async def test_a_task_from_elsewhere_in_a_chats_session_is_not_shown_in_the_chat(start) -> None:
    running = await start()
    await running.store.sessions.get_or_create("synthetic-10", "synthetic:1")
    await running.host.accept(RunRequest("pay Mallory", "synthetic-10", "bob", channel="hub"))
    await running.channel.deliver_message("/status")
    await running.channel.wait_for_text("Nothing is running in this conversation.")

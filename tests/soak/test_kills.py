"""A host that is killed at random while every message is delivered three times loses, doubles and reorders nothing."""

import random
from collections import Counter

from sophon_hosting.store.factory import host_store_from_url
from tests.databases import SQLITE
from tests.soak.traffic import run_traffic

SESSIONS, MESSAGES, KILLS = 8, 12, 10
ENDS = ("task_completed", "task_failed", "task_cancelled")


async def test_every_accepted_message_has_one_outcome(program, seed: int) -> None:
    # A task that is killed five times is given up, which another test shows: here nothing else may end one.
    here = program(Queue={"MaxDeliveries": KILLS + 1})
    traffic = await run_traffic(here, random.Random(seed), sessions=SESSIONS, messages=MESSAGES, kills=KILLS)
    store = host_store_from_url(SQLITE, folder=here.folder)
    await store.open()
    runs = list(reversed(await store.runs.list(limit=5000)))
    assert len(runs) == SESSIONS * MESSAGES
    for session, sender in traffic.senders.items():
        mine = [run for run in runs if run.session_id == session]
        texts = list(sender.tasks)
        # Accepted once: all copies of a message have one task, and the tasks are in the order of the messages.
        assert [{run.id} for run in mine] == list(sender.tasks.values())
        assert [run.text for run in mine] == texts
        assert {run.status for run in mine} == {"completed"}
        # Answered once: the conversation has each message and its answer, in order.
        history = (await store.sessions.load_history(session)).messages
        said = [(each.role, each.content) for each in history if each.role != "tool" and not each.tool_calls]
        assert said == [line for text in texts for line in (("user", text), ("assistant", f"Done: {text}"))]
        # Visible once: who listened all the time has heard what the host keeps, each event once and in order.
        events = await store.events.list_after(session, 0, 100_000)
        heard = traffic.listener.heard[session]
        assert [event.seq for event in events] == list(range(1, len(events) + 1))
        assert [(data["seq"], name) for name, data in heard] == [(event.seq, event.name) for event in events]
        assert [event.task_id for event in events if event.name in ENDS] == [run.id for run in mine]
        assert Counter(event.task_id for event in events if event.name == "message") == {run.id: 2 for run in mine}
    await store.close()
    assert set(Counter(traffic.host.effects()).values()) == {1}

"""Questions in a chat: buttons, text, who may decide, once, over a kill, and everybody sees it."""

import asyncio
from contextlib import suppress
from dataclasses import replace
from typing import Any

import pytest

from sophon import ModelRequest, ModelResponse, ToolCall
from sophon.approvals import Decision
from sophon_channels.contract import ChatLocation, Person
from sophon_channels.testing import DEFAULT_LOCATION, SyntheticChannel
from sophon_hosting.events.wire_event import WireEvent
from sophon_hosting.store.sql_host_store import SqlHostStore
from tests.hosting.channels.conftest import Brain

EVE, BOSS = Person("2", "Eve"), Person("9", "Grace")
GROUP = ChatLocation("-20", "group")


async def asked(running, text: str = "pay Bob", **more: object) -> tuple[str, str]:
    """Have something asked; the data of approve and reject."""
    await running.channel.deliver_message(text, **more)
    await running.channel.wait_until(lambda: any(entry.payload.get("buttons") for entry in running.channel.sent))
    approve, reject, *_ = running.channel.sent[-1].payload["buttons"]
    return approve, reject


def code_of(data: str) -> str:
    return data.split(":")[1]


async def test_a_button_lets_it_run_and_the_question_says_who_pressed(start) -> None:
    running = await start()
    approve, _ = await asked(running)
    question = running.channel.sent[-1]
    assert "May pay run? (high risk)" in question.payload["text"]
    assert "  to: Bob" in question.payload["text"]
    note = await running.channel.deliver_press(approve)
    assert "Approved by Ada at " in note
    await running.channel.wait_for_text("You said: paid Bob")
    await running.channel.wait_for_text("✅ Approved by Ada at ")
    decided = next(entry for entry in running.channel.sent if entry.id.startswith("decided:"))
    assert "✅ Approved by Ada at " in decided.payload["text"]
    assert decided.payload["replaces"] == (await running.store.outbox.get(question.id)).platform_id
    assert running.brain.paid == ["Bob"]


async def test_reject_by_text_has_a_reason_that_the_agent_reads(start) -> None:
    running = await start()
    _, reject = await asked(running)
    await running.channel.deliver_message(f"/reject {code_of(reject).lower()} too expensive")
    await running.channel.wait_for_text("❌ Rejected by Ada at ")
    said = await running.channel.wait_for_text("You said: ")
    assert "too expensive" in said
    assert running.brain.paid == []


async def test_pressing_again_tells_who_was_first(start) -> None:
    running = await start()
    approve, reject = await asked(running)
    await running.channel.deliver_press(approve)
    assert (await running.channel.deliver_press(reject)).startswith("already approved by Ada at ")
    assert (await running.channel.deliver_press(approve)).startswith("already approved by Ada at ")
    await running.channel.wait_for_text("You said: paid Bob")
    assert running.brain.paid == ["Bob"]


@pytest.mark.parametrize("text", ["continue", "yes", "approve", "ok, go on"])
async def test_quiet_text_decides_nothing(start, text: str) -> None:
    running = await start()
    await asked(running)
    await running.channel.deliver_message(text)
    await running.channel.deliver_message("/pending")
    assert "Run pay" in await running.channel.wait_for_text("/approve ID or /reject")
    assert running.brain.paid == []


async def test_a_stranger_decides_nothing_and_an_approver_does(start) -> None:
    running = await start()
    approve, _ = await asked(running, location=GROUP, is_mention=True)
    assert await running.channel.deliver_press(approve, person=EVE, location=GROUP) == "you may not decide this"
    assert "Approved by Grace" in await running.channel.deliver_press(approve, person=BOSS, location=GROUP)
    await running.channel.wait_for_text("You said: paid Bob", GROUP)


async def test_a_code_counts_in_its_own_chat_only(start) -> None:
    running = await start()
    approve, _ = await asked(running)
    other = ChatLocation("77")
    assert "not known here" in await running.channel.deliver_press(approve, location=other)
    await running.channel.deliver_message(f"/approve {code_of(approve)}", location=other)
    await running.channel.wait_for_text("not known here", other)
    assert running.brain.paid == []


async def test_an_approver_learns_in_their_own_chat_where_a_call_is_decided(start) -> None:
    running = await start()
    approve, _ = await asked(running)
    own = ChatLocation("9")
    command = f"/approve {code_of(approve)}"
    for location, answer in ((own, "this waits in another chat"), (GROUP, "not known here any more")):
        await running.channel.deliver_message(command, person=BOSS, location=location, is_mention=True)
        await running.channel.wait_for_text(answer, location)
    await running.channel.deliver_message("/pending", person=BOSS, location=own)
    assert "In other conversations 1 waits" in await running.channel.wait_for_text("Nothing waits", own)
    await running.channel.deliver_message("/pending", location=ChatLocation("77"))
    assert "other" not in await running.channel.wait_for_text("Nothing waits", ChatLocation("77"))
    assert running.brain.paid == []
    await running.channel.deliver_press(approve)
    await running.channel.wait_for_text("You said: paid Bob")
    await running.channel.deliver_message(f"/edit {code_of(approve)}", person=BOSS, location=own)
    await running.channel.wait_for_text("not known here any more", own)


async def test_of_two_who_press_at_once_one_decides(start) -> None:
    running = await start()
    approve, reject = await asked(running)
    notes = await asyncio.gather(
        running.channel.deliver_press(approve),
        running.channel.deliver_press(reject, person=BOSS, location=DEFAULT_LOCATION),
    )
    assert sum(note.startswith("already") for note in notes) == 1
    await running.channel.wait_until(lambda: any(entry.kind == "answer" for entry in running.channel.sent))
    assert running.brain.paid in ([], ["Bob"])


async def test_a_kill_between_the_question_and_the_press_changes_nothing(start) -> None:
    first = await start()
    approve, _ = await asked(first)
    await first.end()
    again = await start(store=first.store, brain=first.brain)
    await again.channel.deliver_press(approve)
    await again.channel.deliver_press(approve)
    await again.channel.wait_for_text("You said: paid Bob")
    assert first.brain.paid == ["Bob"]
    assert not any("May pay run?" in text and "Approved" not in text for text in again.channel.sent_texts())


async def test_a_question_that_a_kill_left_unasked_is_asked_by_the_next_start(start) -> None:
    first = await start(channel=SyntheticChannel())
    first.host.event_bus.unsubscribe_all(first.switchboard._handle_event)
    await first.channel.deliver_message("pay Bob")
    async with asyncio.timeout(30):
        while not await first.store.runs.list(status="suspended"):
            await asyncio.sleep(0)
    first.host.event_bus.subscribe_all(first.switchboard._handle_event)
    await first.end()
    again = await start(store=first.store)
    await again.channel.wait_for_text("May pay run?")


class SlowToFind:
    """Approvals of a busy store: whether a request exists is read slower than its event is stored and published."""

    def __init__(self, approvals: Any, is_published: asyncio.Event) -> None:
        self._approvals, self._is_published = approvals, is_published

    async def find(self, approval_id: str) -> Any:
        if await self._approvals.find(approval_id) is None:
            with suppress(TimeoutError):
                async with asyncio.timeout(5):
                    await self._is_published.wait()
        return await self._approvals.find(approval_id)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._approvals, name)


async def test_a_question_is_stored_once_its_event_is_published_however_busy_the_store_is(start) -> None:
    store, published, known = SqlHostStore("memory://"), asyncio.Event(), []
    store.approvals = SlowToFind(store.approvals, published)
    running = await start(store=store)

    def note(frame: WireEvent) -> None:
        if frame.name == "approval_requested":
            rows = store._database._connection.exec_driver_sql("SELECT id FROM approvals")  # what is committed by now
            known.append(frame.data["approval_id"] in rows.scalars())
            published.set()

    running.host.event_bus.subscribe_all(note)
    await asked(running)
    assert known == [True]


async def test_what_is_decided_elsewhere_is_told_in_the_chat(start) -> None:
    running = await start()
    await asked(running)
    [record] = await running.store.approvals.list()
    await running.host.approvals.decide(record.request.id, Decision.approve(), "synthetic:1")
    await running.channel.wait_for_text("✅ Approved by Ada")


async def test_what_expires_says_so_in_the_chat(start) -> None:
    running = await start(Approval={"Timeout": "00:00:01"})
    approve, _ = await asked(running)
    await running.channel.wait_for_text("⌛ Expired: nobody decided in time.")
    assert await running.channel.deliver_press(approve) == "already expired: nobody decided in time."


async def test_where_a_button_shows_nothing_a_press_that_does_not_count_is_told_in_the_chat(start) -> None:
    running = await start(channel=SyntheticChannel(supports_press_notes=False))
    approve, reject = await asked(running)
    await running.channel.deliver_press(approve)
    await running.channel.wait_for_text("You said: paid Bob")
    await running.channel.deliver_press(reject)
    await running.channel.wait_for_text("already approved by Ada at ")
    assert not any(entry.id.startswith("pressed:") and "✅" in entry.payload["text"] for entry in running.channel.sent)


async def test_a_prompt_shows_the_whole_of_a_long_call_before_its_buttons(start) -> None:
    running = await start()
    await asked(running, f"pay {'x' * 9000} and Mallory")
    parts = [entry.payload for entry in running.channel.sent if entry.id.startswith("ask:")]
    assert [bool(part.get("buttons")) for part in parts] == [False] * (len(parts) - 1) + [True]
    assert sum(part["text"].partition("/approve")[0].count("x") for part in parts) == 9000
    assert "and Mallory" in parts[-1]["text"]


async def test_what_is_too_long_for_a_chat_cannot_be_approved_there(start) -> None:
    running = await start()
    await running.channel.deliver_message(f"pay {'x' * 20_000} and Mallory")
    await running.channel.wait_until(lambda: any(entry.payload.get("buttons") for entry in running.channel.sent))
    (reject,) = running.channel.sent[-1].payload["buttons"]
    assert ":reject" in reject
    text = running.channel.sent[-1].payload["text"]
    assert "and Mallory" in text
    assert "cannot be approved here" in text
    assert "/approve" not in text

    await running.channel.deliver_message(f"/approve {code_of(reject)}")
    await running.channel.wait_for_text("This is too long for a chat")
    assert "too long" in await running.channel.deliver_press(reject.replace("reject", "approve"))
    (open_approval,) = await running.store.approvals.list()
    assert open_approval.decision is None

    await running.channel.deliver_press(reject)
    await running.channel.wait_for_text("❌ Rejected by Ada at ")
    assert running.brain.paid == []


async def test_a_prompt_hides_nothing(start) -> None:
    running = await start()
    await asked(running, "pay Bob\u202e\u200b\U000e0041 ```\n/approve")
    shown = running.channel.sent[-1].payload["text"]
    assert shown.replace("\n", "").isprintable()
    assert "⟦U+202E⟧⟦U+200B⟧⟦U+E0041⟧ ⟦U+0060⟧⟦U+0060⟧⟦U+0060⟧" in shown


async def test_a_prompt_of_which_a_part_never_arrived_cannot_be_approved_in_the_chat(start) -> None:
    running = await start()
    approve, _ = await asked(running)
    entry = await running.store.outbox.get(running.channel.sent[-1].id)
    await running.store.outbox.add([replace(entry, id=f"{entry.id[:-1]}1", position=1, status="pending")])
    await running.store.outbox.mark_dead(f"{entry.id[:-1]}1", "the platform refused it")
    prompts = await running.store.channel_state.list("asked", running.channel.name, running.channel.account)
    await running.store.channel_state.put(replace(prompts[0], value={**prompts[0].value, "parts": 2}))
    assert "cannot be approved here" in await running.channel.deliver_press(approve)
    assert running.brain.paid == []


async def test_a_guard_is_named_in_the_question_and_a_blocked_call_in_one_line(start) -> None:
    running = await start(guarded=True)
    await running.channel.deliver_message("call files.write SOUL.md")
    notice = await running.channel.wait_for_text("⊘ ")
    assert notice == "⊘ files.write was blocked by Protection: SOUL.md can only be read (protected_read_only)"
    await running.channel.deliver_message("call files.write AGENTS.md")
    question = await running.channel.wait_for_text("May files.write run?")
    assert "\nProtection asks: it would write AGENTS.md, a protected file (protected_tier2)\n" in question


async def test_the_arguments_that_somebody_edited_elsewhere_are_shown_in_the_chat(start) -> None:
    running = await start()
    await asked(running)
    (record,) = await running.store.approvals.list()
    await running.host.approvals.decide(record.request.id, Decision.edit({"to": "Eve"}), record_owner(running))
    decided = await running.channel.wait_for_text("Approved, with changes, by ")
    assert decided.endswith("\nIt runs with edited arguments:\n  to: Eve")


def record_owner(running) -> str:
    return f"{running.channel.name}:1"


async def test_a_model_that_is_blocked_again_and_again_does_not_flood_the_chat(start) -> None:
    running = await start(guarded=True, brain=Stubborn())
    await running.channel.deliver_message("write your soul")
    await running.channel.wait_for_text("May pay run?")  # shown after the notices of all five calls before
    sent = [str(each.payload["text"]) for each in running.channel.sent]
    assert len([text for text in sent if text.startswith("⊘ ")]) == 3


class Stubborn(Brain):
    """A model that tries five times to write a file that no tool may write, and then asks for something else."""

    async def answer(self, request: ModelRequest) -> str | ModelResponse:
        tried = sum(each.role == "tool" for each in request.messages)
        if tried == 5:
            return ModelResponse("", [ToolCall("p", "pay", {"to": "Bob"})])
        return ModelResponse(
            "", [ToolCall(f"s{tried}", "files.write", {"path": f"{'./' * tried}SOUL.md", "content": str(tried)})]
        )


async def test_a_question_is_answered_in_the_chat_by_number_or_text_and_once(start) -> None:
    asking = {"question": "Which colour?", "choices": ["red", "blue"]}

    class Asking(Brain):
        async def answer(self, request: ModelRequest) -> str | ModelResponse:
            last = request.messages[-1]
            return ModelResponse("", [ToolCall("c1", "chat.ask", asking)]) if last.role == "user" else last.content

    running = await start(brain=Asking(), Approval={"Questions": True})
    await running.channel.deliver_message("paint it")
    await running.channel.wait_until(lambda: any(entry.payload.get("buttons") for entry in running.channel.sent))
    prompt = running.channel.sent[-1].payload
    red, blue, cancel = prompt["buttons"]
    code = code_of(cancel)
    assert (code_of(red), code_of(blue)) == (code, code)
    assert "2. blue" in prompt["text"]
    assert f"/answer {code} TEXT" in prompt["text"]

    assert "only reject" not in await running.channel.deliver_press(cancel.replace("reject", "approve"))
    await running.channel.deliver_message(f"/approve {code}")
    await running.channel.wait_for_text("a question is answered or rejected")
    await running.channel.deliver_message(f"/answer {code} 2", person=EVE, location=GROUP)
    await running.channel.deliver_message(f"/answer {code}")
    await running.channel.wait_for_text("What is the answer?")
    await running.channel.deliver_message(f"/answer {code} 2")
    await running.channel.wait_for_text("The person answered: blue")
    await running.channel.wait_for_text("✅ Answered by Ada at ")
    await running.channel.deliver_message(f"/answer {code} red")
    await running.channel.wait_for_text("already answered by Ada")


async def test_a_press_of_a_choice_is_the_answer(start) -> None:
    class Asking(Brain):
        async def answer(self, request: ModelRequest) -> str | ModelResponse:
            last, asking = request.messages[-1], {"question": "Which colour?", "choices": ["red", "blue"]}
            return ModelResponse("", [ToolCall("c1", "chat.ask", asking)]) if last.role == "user" else last.content

    running = await start(brain=Asking(), Approval={"Questions": True})
    await running.channel.deliver_message("paint it")
    await running.channel.wait_until(lambda: any(entry.payload.get("buttons") for entry in running.channel.sent))
    _, blue, _ = running.channel.sent[-1].payload["buttons"]
    await running.channel.deliver_press(blue)
    await running.channel.wait_for_text("The person answered: blue")
    await running.channel.wait_for_text("✅ Answered by Ada at ")


async def test_a_press_of_a_choice_approves_nothing(start) -> None:
    running = await start()
    approve, _ = await asked(running)
    await running.channel.deliver_press(approve.replace("approve", "1"))
    (record,) = await running.store.approvals.list()
    assert record.decision is None

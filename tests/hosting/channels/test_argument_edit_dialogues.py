"""Editing the arguments of a call in a chat: step by step, once, over a kill, by whom, and what is not an edit."""

from datetime import UTC, datetime

import pytest

from sophon import ModelRequest, ModelResponse, Risk, ToolCall, tool
from sophon.approvals import Decision
from sophon.testing import VirtualClock
from sophon_channels.contract import ChatLocation, MessageEdited, Person
from tests.hosting.channels.conftest import Brain
from tests.hosting.channels.test_approval_prompts import asked, code_of

EVE, BOSS = Person("2", "Eve"), Person("9", "Grace")
GROUP = ChatLocation("-20", "group")


async def begun(running, **more) -> str:
    """Have a call asked about and its editing begun; the code of the prompt."""
    approve, _ = await asked(running, **more)
    code = code_of(approve)
    person = {key: value for key, value in more.items() if key in ("location", "person")}
    assert "write the new value" in await running.channel.deliver_press(f"ap:{code}:edit", **person)
    return code


async def version(running, count: int = 1) -> list[str]:
    """The buttons below the newest edited version."""

    def shown() -> list:
        return [each for each in running.channel.sent if each.id.startswith("edited:")]

    await running.channel.wait_until(lambda: len(shown()) >= count)
    return shown()[-1].payload["buttons"]


async def test_a_value_is_asked_for_shown_and_runs_when_it_is_approved(start) -> None:
    running = await start()
    await begun(running)
    question = await running.channel.wait_for_text("Write the new value of to of pay")
    assert "to: Bob" in question
    await running.channel.deliver_message("Carol")
    shown = await running.channel.wait_for_text("So pay would run. May it?")
    assert "  to: Carol\n" in shown
    assert running.brain.paid == []
    run, _, _ = await version(running)
    assert "Approved, with changes, by Ada" in await running.channel.deliver_press(run)
    await running.channel.wait_for_text("\npaid Carol")
    assert (await running.channel.wait_for_text("It runs with edited arguments")).endswith("  to: Carol")
    assert running.brain.paid == ["Carol"]
    assert await running.texts("synthetic-10") == ["pay Bob"]


async def test_a_button_runs_what_its_message_shows_and_only_the_newest_version(start) -> None:
    running = await start()
    await begun(running)
    await running.channel.deliver_message("Carol")
    first, more, _ = await version(running)
    await running.channel.deliver_press(more)
    await running.channel.deliver_message("Dan")
    second, _, _ = await version(running, 2)
    assert await running.channel.deliver_press(first) == "this approval is not known here any more"
    assert running.brain.paid == []
    await running.channel.deliver_press(second)
    await running.channel.wait_for_text("\npaid Dan")
    assert running.brain.paid == ["Dan"]


@pytest.mark.parametrize("text", ["yes", "ok, run it", "approve"])
async def test_a_text_approves_no_version(start, text: str) -> None:
    running = await start()
    await begun(running)
    await running.channel.deliver_message("Carol")
    await version(running)
    await running.channel.deliver_message(text)
    await running.channel.deliver_message("/status")
    await running.channel.wait_for_text("places in the queue")
    assert running.brain.paid == []


async def test_cancel_leaves_the_call_as_it_was(start) -> None:
    running = await start()
    code = await begun(running)
    await running.channel.deliver_message("/cancel")
    assert f"/approve {code}" in await running.channel.wait_for_text("The editing of pay is cancelled")
    await running.channel.deliver_message("/cancel")
    await running.channel.wait_for_text("No editing is going on.")
    await running.channel.deliver_press(f"ap:{code}:approve")
    await running.channel.wait_for_text("You said: paid Bob")


async def test_a_cancelled_version_cannot_be_approved(start) -> None:
    running = await start()
    await begun(running)
    await running.channel.deliver_message("Carol")
    run, _, cancel = await version(running)
    await running.channel.deliver_press(cancel)
    await running.channel.wait_for_text("The editing of pay is cancelled")
    assert "not known here" in await running.channel.deliver_press(run)
    assert running.brain.paid == []


def transfer(done: list) -> object:
    @tool(risk=Risk.HIGH)
    async def transfer(to: str, amount: int) -> str:
        """Transfer money."""
        done.append((to, amount))
        return f"transferred {amount} to {to}"

    return transfer


class Transferring(Brain):
    """A model that transfers, whatever is written."""

    async def answer(self, request: ModelRequest) -> str | ModelResponse:
        last = request.messages[-1]
        if last.role == "user":
            return ModelResponse("", [ToolCall("c1", "transfer", {"to": "Bob", "amount": 5})])
        return last.content


async def test_of_several_arguments_one_is_chosen_and_a_wrong_value_asked_for_again(start) -> None:
    done: list = []
    running = await start(brain=Transferring(), tools=[transfer(done)])
    code = await begun(running)
    await running.channel.wait_for_text("Which argument of transfer is to change?\n1. to: Bob\n2. amount: 5")
    assert running.channel.sent[-1].payload["buttons"] == [f"ap:{code}:f1", f"ap:{code}:f2", f"ap:{code}:cancel"]
    await running.channel.deliver_message("something else")
    await running.channel.wait_for_text("⚠️ That is no argument of the call")
    await running.channel.deliver_press(f"ap:{code}:f2")
    await running.channel.wait_for_text("Write the new value of amount of transfer")
    await running.channel.deliver_message("seven")
    await running.channel.wait_for_text("⚠️ amount must be JSON (integer)")
    await running.channel.deliver_message('"7"x')
    await running.channel.deliver_message('"many"')
    await running.channel.wait_for_text("⚠️ Invalid arguments:")
    await running.channel.deliver_message("7")
    run, _, _ = await version(running)
    await running.channel.deliver_press(run)
    await running.channel.wait_for_text("\ntransferred 7 to Bob")
    assert done == [("Bob", 7)]


async def test_all_arguments_as_json_behind_the_command(start) -> None:
    done: list = []
    running = await start(brain=Transferring(), tools=[transfer(done)])
    approve, _ = await asked(running)
    await running.channel.deliver_message(f"/edit {code_of(approve)} {{")
    await running.channel.wait_for_text("That is not valid JSON")
    await running.channel.deliver_message(f'/edit {code_of(approve)} {{"to": "Dan", "amount": 1}}')
    run, _, _ = await version(running)
    await running.channel.deliver_message(f"/approve {code_of(run)} chat")
    await running.channel.wait_for_text("a call with edited arguments is approved by itself")
    await running.channel.deliver_message(f"/approve {code_of(run)}")
    await running.channel.wait_for_text("transferred 1 to Dan")


async def test_a_value_may_look_like_a_command(start) -> None:
    running = await start()
    await begun(running)
    await running.channel.deliver_message("/tmp")
    assert "  to: /tmp\n" in await running.channel.wait_for_text("So pay would run")


async def test_only_who_may_approve_edits_and_only_the_editor_gives_values(start) -> None:
    running = await start()
    approve, _ = await asked(running, location=GROUP, is_mention=True)
    edit = approve.replace("approve", "edit")
    assert await running.channel.deliver_press(edit, person=EVE, location=GROUP) == "you may not decide this"
    assert "write the new value" in await running.channel.deliver_press(edit, person=BOSS, location=GROUP)
    await running.channel.deliver_message("Mallory", location=GROUP, is_mention=True)  # Ada's is no value of Grace's
    await running.channel.deliver_message("Zoe", location=GROUP, person=BOSS)  # not addressed to the bot
    await running.channel.deliver_message("Carol", location=GROUP, person=BOSS, is_mention=True)
    assert "  to: Carol\n" in await running.channel.wait_for_text("So pay would run", GROUP)


async def test_a_kill_in_the_middle_changes_nothing_and_a_redelivered_value_is_one_step(start) -> None:
    first = await start()
    await begun(first)
    await first.end()
    second = await start(store=first.store, brain=first.brain)
    value = await second.channel.deliver_message("Carol", external_id="value")
    run, _, _ = await version(second)
    await second.end()
    # As if the process had been killed before it recorded that the message is processed.
    await first.store.channel_state.remove("synthetic", "bot", "seen", value.external_id)
    third = await start(store=first.store, brain=first.brain)
    await third.channel.deliver(value)
    await third.channel.deliver_press(run)
    await third.channel.wait_for_text("\npaid Carol")
    assert first.brain.paid == ["Carol"]
    assert len([each for each in await first.store.outbox.list() if each.id.startswith("edited:")]) == 1
    assert await third.texts("synthetic-10") == ["pay Bob"]


async def test_what_is_decided_elsewhere_ends_the_dialogue_with_one_line(start) -> None:
    running = await start()
    await begun(running)
    (record,) = await running.store.approvals.list()
    await running.host.approvals.decide(record.request.id, Decision.reject("no"), "synthetic:9")
    await running.channel.deliver_message("Carol")
    await running.channel.wait_until(
        lambda: any(
            each.id.startswith("editing:") and "Rejected" in each.payload["text"] for each in running.channel.sent
        )
    )
    await running.channel.deliver_message("hello")
    await running.channel.wait_for_text("You said: hello")


async def test_who_has_decided_may_go_on_writing(start) -> None:
    running = await start()
    code = await begun(running)
    await running.channel.deliver_press(f"ap:{code}:reject")
    await running.channel.deliver_message("hello")
    await running.channel.wait_for_text("You said: hello")


async def test_a_dialogue_without_a_next_step_ends_and_says_so(start) -> None:
    clock = VirtualClock(auto=False)
    running = await start(clock=clock)
    code = await begun(running)
    dialogues = running.switchboard._connected["synthetic"].inbound.edit_dialogues
    await dialogues.expire_due()
    assert not any("has ended" in text for text in running.channel.sent_texts())
    clock.jump(300)
    await dialogues.expire_due()
    assert f"/edit {code}" in await running.channel.wait_for_text("The editing of pay has ended")
    await running.channel.deliver_message("hello")
    assert "hello" in [run.text for run in await running.store.runs.list()]


async def test_a_value_that_was_read_is_not_changed_by_an_edit(start) -> None:
    running = await start()
    await begun(running)
    value = await running.channel.deliver_message("Carol")
    await version(running)
    await running.channel.deliver(MessageEdited("e1", value))
    await running.channel.wait_for_text("is not changed by an edit")
    assert await running.texts("synthetic-10") == ["pay Bob"]


async def test_later_calls_like_it_are_allowed_in_this_chat_only(start) -> None:
    running = await start()
    approve, _ = await asked(running)
    prompt = running.channel.sent[-1].payload["text"]
    assert f"/approve {code_of(approve)} chat allows, for this conversation: " in prompt
    note = await running.channel.deliver_press(approve.replace("approve", "allow"))
    assert "for this and like calls of the conversation" in note
    await running.channel.wait_for_text("You said: paid Bob")
    await running.channel.deliver_message("pay Bob")
    await running.channel.wait_until(lambda: running.brain.paid == ["Bob", "Bob"])
    other = ChatLocation("11")
    await running.channel.deliver_message("pay Bob", location=other)
    await running.channel.wait_for_text("May pay run?", other)
    assert running.brain.paid == ["Bob", "Bob"]


async def test_a_critical_call_has_no_button_that_allows_later_ones(start) -> None:
    running = await start()
    await running.channel.deliver_message("wreck it", person=BOSS, location=GROUP, is_mention=True)
    await running.channel.wait_until(lambda: any(each.payload.get("buttons") for each in running.channel.sent))
    buttons = running.channel.sent[-1].payload["buttons"]
    assert not any("allow" in each for each in buttons)
    code = code_of(buttons[0])
    await running.channel.deliver_message(f"/approve {code} chat", person=BOSS, location=GROUP, is_mention=True)
    await running.channel.wait_for_text("can be approved only by itself", GROUP)
    assert running.brain.wrecked == []


LATER = datetime(2126, 1, 1, tzinfo=UTC)


class Asking(Brain):
    """A model that asks as many questions as the message has words."""

    async def answer(self, request: ModelRequest) -> str | ModelResponse:
        last = request.messages[-1]
        if last.role != "user" or last.content.startswith("hello"):
            return f"heard {last.content}"
        return ModelResponse(
            "", [ToolCall(f"c{word}", "chat.ask", {"question": f"Which {word}?"}) for word in last.content.split()]
        )


async def questions(running, text: str) -> None:
    count = len(text.split())
    await running.channel.deliver_message(text)
    await running.channel.wait_until(
        lambda: sum(bool(each.payload.get("buttons")) for each in running.channel.sent) == count
    )


async def test_the_next_message_answers_a_question_and_is_no_turn(start) -> None:
    running = await start(brain=Asking(), Approval={"Questions": True})
    await questions(running, "colour")
    await running.channel.deliver_message("teal, please", sent_at=LATER)
    await running.channel.wait_for_text("The person answered: teal, please")
    assert await running.texts("synthetic-10") == ["colour"]
    await running.channel.deliver_message("hello", sent_at=LATER)
    await running.channel.wait_for_text("heard hello")


async def test_a_message_that_was_written_before_the_question_is_no_answer(start) -> None:
    running = await start(brain=Asking(), Approval={"Questions": True})
    await questions(running, "colour")
    await running.channel.deliver_message("hello before")
    await running.channel.deliver_message("/status")
    await running.channel.wait_for_text("hello before")
    (record,) = await running.store.approvals.list()
    assert record.decision is None


async def test_a_reply_answers_its_question_also_in_a_group(start) -> None:
    running = await start(brain=Asking(), Approval={"Questions": True})
    await running.channel.deliver_message("colour", location=GROUP, is_mention=True)
    await running.channel.wait_until(lambda: any(each.payload.get("buttons") for each in running.channel.sent))
    prompt = await running.store.outbox.get(running.channel.sent[-1].id)
    await running.channel.deliver_message("hello", location=GROUP, is_mention=True, sent_at=LATER)
    (record,) = await running.store.approvals.list()
    assert record.decision is None
    await running.channel.deliver_message(
        "teal", location=GROUP, is_mention=True, reply_to_message_id=prompt.platform_id
    )
    await running.channel.wait_for_text("The person answered: teal", GROUP)


async def test_a_kill_between_the_answer_and_its_record_answers_once(start) -> None:
    first = await start(brain=Asking(), Approval={"Questions": True})
    await questions(first, "colour")
    answer = await first.channel.deliver_message("teal", sent_at=LATER, external_id="answer")
    await first.channel.wait_for_text("The person answered: teal")
    await first.end()
    await first.store.channel_state.remove("synthetic", "bot", "seen", answer.external_id)
    again = await start(store=first.store, brain=first.brain, Approval={"Questions": True})
    await again.channel.deliver(answer)
    await again.channel.deliver_message("hello", sent_at=LATER, external_id="next")
    await again.channel.wait_for_text("heard hello")
    assert await again.texts("synthetic-10") == ["colour", "hello"]

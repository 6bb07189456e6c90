"""What every store promises about the outbound ledger."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from sophon.errors import IllegalTransition, NotFound
from sophon.stores import Store
from sophon.testing import VirtualClock
from sophon_channels.outbound_entry import OutboundEntry, OutboundStatus
from sophon_hosting.store.events.logged_event import LoggedEvent
from sophon_hosting.store.runs.contract import Run

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
LATER = NOON + timedelta(seconds=30)
STATUSES = ("pending", "sending", "sent", "refused", "ambiguous", "dead", "withdrawn")
LEGAL = {
    *(("pending", "sending"), ("pending", "dead")),
    *(("sending", "sent"), ("sending", "refused"), ("sending", "ambiguous"), ("sending", "dead")),
    *(("refused", "sending"), ("refused", "dead")),
    *(("ambiguous", "sending"), ("ambiguous", "sent"), ("ambiguous", "dead")),
    *((waiting, "withdrawn") for waiting in ("pending", "sending", "refused", "ambiguous")),
    ("dead", "pending"),
}


def part(name: str, chat: str = "7", position: int = 0, run_id: str | None = None) -> OutboundEntry:
    return OutboundEntry(name, run_id, "telegram", "bot-1", chat, "text", {"text": name, "n": [1, None]}, position)


def move(store: Store, name: str, status: str) -> Awaitable[OutboundEntry]:
    moves: dict[str, Callable[[], Awaitable[OutboundEntry]]] = {
        "sending": lambda: store.outbox.mark_sending(name),
        "sent": lambda: store.outbox.mark_sent(name, "msg-1"),
        "refused": lambda: store.outbox.mark_refused(name, LATER, "429"),
        "ambiguous": lambda: store.outbox.mark_ambiguous(name, "no answer"),
        "dead": lambda: store.outbox.mark_dead(name, "blocked"),
        "withdrawn": lambda: store.outbox.withdraw(name, "decided"),
        "pending": lambda: store.outbox.retry(name),
    }
    return moves[status]()


async def bring(store: Store, status: OutboundStatus, name: str = "e") -> OutboundEntry:
    """An entry that has come to a status."""
    await store.outbox.add([part(name)])
    if status not in ("pending", "dead", "withdrawn"):
        await move(store, name, "sending")
    if status not in ("pending", "sending"):
        await move(store, name, status)
    return await store.outbox.get(name)


async def due(store: Store, now: datetime = NOON, channel: str = "telegram", limit: int = 100) -> list[str]:
    return [entry.id for entry in await store.outbox.list_due(now, channel, limit)]


async def test_an_entry_is_kept_as_pending(store: Store, clock: VirtualClock):
    await store.runs.accept(Run("r", "s"))
    new = replace(part("e", run_id="r", position=3), not_before=LATER)
    assert await store.outbox.add([new]) == 1
    assert await store.outbox.get("e") == replace(new, created_at=clock.now())


async def test_an_entry_that_is_known_stays_as_it_is(store: Store):
    before = await bring(store, "sent")
    assert await store.outbox.add([part("e"), part("new"), part("new")]) == 1
    assert await store.outbox.get("e") == before
    assert await due(store) == ["new"]


async def test_an_entry_of_a_run_that_does_not_exist_is_refused_with_its_neighbours(store: Store):
    with pytest.raises(NotFound, match="run 'x'"):
        await store.outbox.add([part("a"), part("b", run_id="x")])
    assert await store.outbox.list() == []


@pytest.mark.parametrize("wanted", STATUSES)
@pytest.mark.parametrize("status", STATUSES)
async def test_every_move_is_either_in_the_table_or_refused(
    store: Store, status: OutboundStatus, wanted: OutboundStatus
):
    before = await bring(store, status)
    if (status, wanted) in LEGAL:
        after = await move(store, "e", wanted)
        assert after.status == wanted
    else:
        with pytest.raises(IllegalTransition, match=f"'e' is {status} and cannot become {wanted}"):
            await move(store, "e", wanted)
        after = before
    assert await store.outbox.get("e") == after


async def test_a_move_keeps_what_it_was_told(store: Store):
    await bring(store, "sending")
    refused = await store.outbox.mark_refused("e", LATER, "429 \ud83d")
    assert (refused.attempts, refused.not_before, refused.last_error) == (0, LATER, "429 \ud83d")
    await store.outbox.mark_sending("e")
    sent = await store.outbox.mark_sent("e", "wamid.1")
    assert (sent.attempts, sent.not_before, sent.platform_id, sent.doubtful) == (1, None, "wamid.1", False)
    dead = await store.outbox.mark_dead((await bring(store, "pending", "f")).id, "blocked")
    assert (dead.attempts, dead.last_error) == (0, "blocked")


async def test_what_has_left_is_what_is_stored_of_an_entry_in_doubt(store: Store):
    await bring(store, "pending")
    await store.outbox.mark_sending("e", {"text": "hi", "replaces": "7"})
    await store.outbox.recover_interrupted("telegram")
    left = await store.outbox.get("e")
    assert (left.payload, left.doubtful) == ({"text": "hi", "replaces": "7"}, True)
    await store.outbox.mark_sending("e")
    assert (await store.outbox.get("e")).payload == left.payload


async def test_a_doubt_stays_whatever_comes_after(store: Store):
    doubtful = await bring(store, "ambiguous")
    assert (doubtful.doubtful, doubtful.last_error) == (True, "no answer")
    assert (await store.outbox.mark_sending("e")).doubtful
    assert (await store.outbox.mark_refused("e", LATER, "429")).doubtful
    assert (await store.outbox.mark_sending("e")).doubtful
    assert (await store.outbox.mark_sent("e")).doubtful


async def test_of_twenty_who_begin_to_send_one_does(store: Store):
    await store.outbox.add([part("e")])
    outcomes = await asyncio.gather(*(store.outbox.mark_sending("e") for _ in range(20)), return_exceptions=True)
    assert sum(isinstance(outcome, OutboundEntry) for outcome in outcomes) == 1
    assert sum(isinstance(outcome, IllegalTransition) for outcome in outcomes) == 19
    assert (await store.outbox.get("e")).status == "sending"


async def test_only_a_send_that_left_without_a_definite_answer_or_arrived_counts_as_an_attempt(store: Store):
    await store.outbox.add([part("e")])
    await store.outbox.postpone("e", LATER)
    for refusals in (1, 2, 3):
        await store.outbox.mark_sending("e")
        refused = await store.outbox.mark_refused("e", LATER, "429")
        assert (refused.attempts, refused.refusals) == (0, refusals)
    await store.outbox.mark_sending("e")
    assert (await store.outbox.mark_ambiguous("e", "no answer")).attempts == 1
    await store.outbox.mark_sending("e")
    assert (await store.outbox.mark_sent("e")).attempts == 2


async def test_a_send_that_a_kill_interrupted_is_counted_apart(store: Store):
    await store.outbox.add([part("e")])
    await store.outbox.mark_sending("e")
    [left] = await store.outbox.recover_interrupted("telegram")
    assert (left.status, left.doubtful, left.attempts, left.interruptions) == ("ambiguous", True, 0, 1)
    assert (await store.outbox.get("e")).interruptions == 1
    await store.outbox.mark_dead("e", "too often")
    assert (await store.outbox.retry("e")).interruptions == 0


async def test_a_postponed_entry_keeps_its_status_and_is_due_later(store: Store):
    await store.outbox.add([part("e")])
    postponed = await store.outbox.postpone("e", LATER)
    assert (postponed.status, postponed.not_before, postponed.last_error) == ("pending", LATER, "")
    assert (await due(store), await due(store, LATER)) == ([], ["e"])
    assert await store.outbox.get("e") == postponed


async def test_what_is_held_is_overtaken_until_its_time(store: Store):
    await store.outbox.add([part("a"), part("b"), part("c"), part("d", chat="8")])
    held = await store.outbox.hold("a", LATER)
    assert (held.status, held.not_before) == ("held", LATER)
    await store.outbox.hold("d", LATER + timedelta(seconds=1))
    assert (await due(store), await due(store, LATER)) == (["b"], ["a"])
    assert await store.outbox.find_next_due(NOON, "telegram") == LATER
    assert await store.outbox.find_next_due(LATER, "telegram") == LATER + timedelta(seconds=1)
    await store.outbox.postpone("a", LATER + timedelta(seconds=5))
    assert (await store.outbox.get("a")).status == "pending"
    assert await due(store, LATER) == [], "what waits for a limit is not overtaken"
    await store.outbox.hold("a", LATER)
    assert (await store.outbox.mark_sending("a")).not_before is None


@pytest.mark.parametrize("status", ["sending", "sent", "ambiguous", "dead", "withdrawn"])
async def test_what_may_have_left_is_not_held(store: Store, status: OutboundStatus):
    before = await bring(store, status)
    with pytest.raises(IllegalTransition):
        await store.outbox.hold("e", LATER)
    assert await store.outbox.get("e") == before


@pytest.mark.parametrize("status", ["sending", "sent", "dead", "withdrawn"])
async def test_what_does_not_wait_cannot_be_postponed(store: Store, status: OutboundStatus):
    before = await bring(store, status)
    with pytest.raises(IllegalTransition, match="cannot become postponed"):
        await store.outbox.postpone("e", LATER)
    assert await store.outbox.get("e") == before


async def test_the_next_time_is_that_of_the_first_part_of_a_chat_that_becomes_due(store: Store):
    assert await store.outbox.find_next_due(NOON, "telegram") is None
    await store.outbox.add([part("a"), part("b"), part("c", chat="8"), replace(part("w"), channel="whatsapp")])
    await store.outbox.postpone("a", LATER)
    await store.outbox.postpone("b", NOON + timedelta(seconds=1))
    await store.outbox.postpone("c", LATER + timedelta(seconds=1))
    await store.outbox.postpone("w", NOON + timedelta(seconds=1))
    assert await store.outbox.find_next_due(NOON, "telegram") == LATER
    assert await store.outbox.find_next_due(LATER, "telegram") == LATER + timedelta(seconds=1)
    await store.outbox.mark_sending("c")
    assert await store.outbox.find_next_due(LATER, "telegram") is None


async def test_cleared_penalties_make_what_was_refused_or_postponed_due(store: Store):
    await bring(store, "refused", "a")
    await store.outbox.add([part("b", chat="8"), part("c", chat="9"), replace(part("w"), channel="whatsapp")])
    await store.outbox.postpone("b", LATER)
    await store.outbox.mark_sending("c")
    await store.outbox.mark_ambiguous("c", retry_at=LATER)
    await store.outbox.postpone("w", LATER)
    assert await store.outbox.clear_penalties("telegram") == 2
    assert (await due(store), await due(store, channel="whatsapp")) == (["a", "b"], [])
    assert (await store.outbox.get("a")).refusals == 0
    assert await store.outbox.clear_penalties("telegram") == 0


async def test_the_open_parts_of_a_message_die_together_and_another_message_lives(store: Store):
    await store.runs.accept(Run("r", "s"))
    await store.outbox.add([part("r:end:0", run_id="r"), part("r:end:1", position=1, run_id="r")])
    await store.outbox.add([part("r:file:0", run_id="r"), part("note:0"), part("note:1"), part("r:x:0", chat="8")])
    await store.outbox.mark_sending("r:end:0")
    dead = await store.outbox.mark_message_dead("r:end:0", "blocked")
    assert [entry.id for entry in dead] == ["r:end:0", "r:end:1", "r:file:0"]
    assert {entry.status for entry in dead} == {"dead"}
    assert {entry.last_error for entry in dead} == {"blocked"}
    assert [entry.id for entry in await store.outbox.list(status="dead")] == ["r:end:0", "r:end:1", "r:file:0"]
    assert [entry.id for entry in await store.outbox.mark_message_dead("note:0", "blocked")] == ["note:0", "note:1"]
    assert await due(store) == ["r:x:0"]


async def test_a_dead_letter_that_is_retried_is_due_in_its_old_place_and_counted_anew(
    store: Store, clock: VirtualClock
):
    await store.outbox.add([part("a"), part("b")])
    await store.outbox.mark_sending("a")
    await store.outbox.mark_ambiguous("a", "no answer")
    await store.outbox.mark_dead("a", "too old")
    assert (await due(store), await store.outbox.count_dead()) == (["b"], 1)
    retried = await store.outbox.retry("a")
    assert (retried.status, retried.attempts, retried.refusals, retried.doubtful) == ("pending", 0, 0, True)
    assert retried.retried_at == clock.now()
    assert (await due(store), await store.outbox.count_dead()) == (["a"], 0)


async def test_what_is_withdrawn_is_no_dead_letter(store: Store):
    await bring(store, "withdrawn", "a")
    await store.outbox.add([part("b")])
    assert (await due(store), await store.outbox.count_dead()) == (["b"], 0)


async def test_the_parts_of_an_answer_are_due_one_after_the_other(store: Store):
    await store.outbox.add([part("c", position=2), part("a"), part("b", position=1)])
    seen: list[str] = []
    while names := await due(store):
        seen += names
        await store.outbox.mark_sending(names[0])
        assert await due(store) == []
        await store.outbox.mark_sent(names[0])
    assert seen == ["a", "b", "c"]


async def test_nothing_overtakes_what_a_chat_still_waits_for(store: Store):
    await bring(store, "refused")
    await store.outbox.add([part("next"), part("elsewhere", chat="8")])
    assert await due(store) == ["elsewhere"]
    assert await due(store, LATER) == ["e", "elsewhere"]
    await store.outbox.mark_dead("e", "too old")
    assert await due(store) == ["next", "elsewhere"]


async def test_chats_of_two_accounts_do_not_wait_for_each_other(store: Store):
    await store.outbox.add([part("a"), replace(part("b"), account="bot-2"), replace(part("c"), channel="whatsapp")])
    assert (await due(store), await due(store, channel="whatsapp")) == (["a", "b"], ["c"])


async def test_what_is_to_be_sent_later_is_due_later(store: Store):
    await store.outbox.add([replace(part("e"), not_before=LATER)])
    assert await due(store, LATER - timedelta(microseconds=1)) == []
    assert await due(store, LATER) == ["e"]


async def test_an_ambiguous_entry_is_due_again_at_once_or_when_it_is_said(store: Store):
    await bring(store, "ambiguous", "a")
    assert await due(store) == ["a"]
    await store.outbox.mark_sending("a")
    await store.outbox.mark_ambiguous("a", retry_at=LATER)
    assert (await due(store), await due(store, LATER)) == ([], ["a"])


async def test_at_most_so_many_are_due(store: Store):
    await store.outbox.add([part(str(n), chat=str(n)) for n in range(5)])
    assert (await due(store, limit=2), await due(store, limit=0)) == (["0", "1"], [])
    assert await due(store) == ["0", "1", "2", "3", "4"]


async def test_what_was_being_sent_when_a_process_was_killed_is_in_doubt(store: Store):
    await bring(store, "sending", "b")
    await bring(store, "sent", "done")
    await store.outbox.add([part("a", chat="8"), replace(part("w", chat="9"), channel="whatsapp")])
    await store.outbox.mark_sending("a")
    await store.outbox.mark_sending("w")
    left = await store.outbox.recover_interrupted("telegram")
    assert [(entry.id, entry.status, entry.doubtful) for entry in left] == [
        ("b", "ambiguous", True),
        ("a", "ambiguous", True),
    ]
    assert [await store.outbox.get(entry.id) for entry in left] == left
    assert (await store.outbox.get("w")).status == "sending"
    assert await store.outbox.recover_interrupted("telegram") == []


async def test_entries_are_listed_by_what_is_asked_for(store: Store):
    await store.runs.accept(Run("r", "s"))
    await store.outbox.add([part("a", run_id="r"), part("b"), replace(part("c"), channel="whatsapp")])
    await store.outbox.mark_dead("b", "blocked")

    async def ids(**wanted: object) -> str:
        return "".join(entry.id for entry in await store.outbox.list(**wanted))  # type: ignore[arg-type]

    assert (await ids(), await ids(limit=2), await ids(run_id="r"), await ids(status="dead")) == ("abc", "ab", "a", "b")
    assert (await ids(channel="whatsapp"), await ids(channel="whatsapp", status="dead")) == ("c", "")
    await store.outbox.add([part("d", chat="8")])
    assert (await ids(chat="8"), await ids(chat="7", status="dead"), await ids(chat="8", status="dead")) == (
        "d",
        "b",
        "",
    )


async def test_a_kept_payload_is_shortened_when_the_entry_is_delivered_and_a_failure_then_counts_no_more(store: Store):
    await store.outbox.add([replace(part("e"), payload={"text": "x" * 5000})])
    await store.outbox.mark_sending("e")
    sent = await store.outbox.mark_sent("e", "m1", keep_payload=True)
    assert len(sent.payload["text"]) == 5000
    assert await store.outbox.get("e") == sent
    delivered = await store.outbox.mark_delivered("e")
    assert (delivered.delivered, len(delivered.payload["text"])) == (True, 300)
    with pytest.raises(IllegalTransition):
        await store.outbox.mark_failed("e", "late", "rejected")
    assert await store.outbox.get("e") == delivered


async def test_a_sent_entry_that_failed_later_is_a_dead_letter_that_can_be_retried(store: Store):
    sent = await bring(store, "sent")
    dead = await store.outbox.mark_failed("e", "131047", "chat_gone")
    assert dead == replace(sent, status="dead", last_error="131047", dead_reason="chat_gone")
    assert await store.outbox.list(status="dead") == [dead]
    retried = await store.outbox.retry("e")
    assert (retried.status, retried.dead_reason) == ("pending", "")
    assert await due(store) == ["e"]


@pytest.mark.parametrize("status", [each for each in STATUSES if each != "sent"])
async def test_only_a_sent_entry_is_delivered_or_fails_later(store: Store, status: OutboundStatus):
    await bring(store, status)
    with pytest.raises(IllegalTransition):
        await store.outbox.mark_failed("e", "late")
    with pytest.raises(IllegalTransition):
        await store.outbox.mark_delivered("e")


async def test_a_readdressed_entry_keeps_its_place_in_the_other_chat(store: Store):
    await store.outbox.add([part("a", "7"), part("b", "8"), part("c", "7")])
    assert (await store.outbox.readdress("a", "8")).chat == "8"
    assert await due(store) == ["a", "c"]
    await store.outbox.mark_sending("a")
    with pytest.raises(IllegalTransition, match="readdressed"):
        await store.outbox.readdress("a", "9")


async def test_an_entry_is_found_by_the_platforms_id_in_its_channel_and_account(store: Store):
    sent = await bring(store, "sent")
    assert await store.outbox.find_by_platform_id("telegram", "bot-1", "msg-1") == sent
    for wanted in (("telegram", "bot-2", "msg-1"), ("x", "bot-1", "msg-1"), ("telegram", "bot-1", "msg-2")):
        assert await store.outbox.find_by_platform_id(*wanted) is None


async def test_an_id_that_is_unique_per_chat_is_found_in_that_chat_and_its_threads(store: Store):
    for name, chat in (("a", "7"), ("b", "8/3"), ("c", "80"), ("d", "_")):
        await store.outbox.add([part(name, chat)])
        await store.outbox.mark_sending(name)
        await store.outbox.mark_sent(name, "msg-1")
    found = {
        chat: await store.outbox.find_by_platform_id("telegram", "bot-1", "msg-1", chat=chat)
        for chat in ("7", "8", "9", "_")
    }
    assert {chat: each and each.id for chat, each in found.items()} == {"7": "a", "8": "b", "9": None, "_": "d"}


async def test_recipient_and_reason_are_kept_and_entries_listed_by_recipient(store: Store):
    await store.outbox.add([replace(part("a"), recipient="telegram:1"), replace(part("b"), recipient="telegram:2")])
    dead = await store.outbox.mark_dead("a", "no", "rejected")
    assert (dead.recipient, dead.dead_reason) == ("telegram:1", "rejected")
    assert await store.outbox.list(recipient="telegram:1", status="dead") == [dead]
    assert [each.dead_reason for each in await store.outbox.mark_message_dead("b", "no", "expired")] == ["expired"]


async def test_unknown_entries_are_not_found(store: Store):
    with pytest.raises(NotFound, match="outbound entry 'x'"):
        await store.outbox.get("x")
    for wanted in STATUSES:
        with pytest.raises(NotFound, match="outbound entry 'x'"):
            await move(store, "x", wanted)


@pytest.mark.parametrize("text", ["größe 🐱 猫", "nul \x00 in it", "lone \ud83d surrogate", "\x1a0041"])
async def test_any_text_comes_back(store: Store, text: str, clock: VirtualClock):
    entry = OutboundEntry(text, None, text, text, text, text, {text: text})
    await store.outbox.add([entry])
    assert await store.outbox.list_due(NOON, text) == [replace(entry, created_at=clock.now())]
    await store.outbox.mark_sending(text)
    assert (await store.outbox.mark_sent(text, text)).platform_id == text


UNDELIVERED = LoggedEvent("answer_undelivered", {"parts": 2}, "r")


@pytest.mark.parametrize(("whole_message", "count"), [(True, 2), (False, 1)])
async def test_what_is_given_up_is_stored_with_the_event_that_reports_it(store: Store, whole_message: bool, count: int):
    await store.runs.accept(Run("r", "s"))
    await store.outbox.add([part("r:end:0", run_id="r"), part("r:end:1", position=1, run_id="r")])
    given: list[str] = []

    def events(entries: Sequence[OutboundEntry]) -> list[LoggedEvent]:
        given.extend(f"{entry.id} {entry.status} {entry.last_error}" for entry in entries)
        return [UNDELIVERED]

    dead, last = await store.outbox.give_up("r:end:0", "blocked", "s", events, whole_message=whole_message)
    assert given == [f"{entry.id} dead blocked" for entry in dead]
    assert [entry.id for entry in await store.outbox.list(status="dead")] == ["r:end:0", "r:end:1"][:count]
    [event] = await store.events.list_after("s", last - 1)
    assert (event.name, event.data, event.seq) == ("answer_undelivered", {"parts": 2}, last)


async def test_an_entry_whose_event_cannot_be_stored_is_not_given_up(store: Store):
    await store.runs.accept(Run("r", "s"))
    await store.outbox.add([part("r:end:0", run_id="r")])

    with pytest.raises(NotFound):
        await store.outbox.give_up("r:end:0", "blocked", "other", lambda _: [UNDELIVERED], whole_message=True)
    assert (await store.outbox.get("r:end:0")).status == "pending"


async def test_what_is_given_up_already_adds_no_second_event(store: Store):
    await store.runs.accept(Run("r", "s"))
    await store.outbox.add([part("r:end:0", run_id="r")])
    _, last = await store.outbox.give_up("r:end:0", "blocked", "s", lambda _: [UNDELIVERED], whole_message=True)
    with pytest.raises(IllegalTransition):
        await store.outbox.give_up("r:end:0", "blocked", "s", lambda _: [UNDELIVERED], whole_message=True)
    assert await store.events.last_seq("s") == last

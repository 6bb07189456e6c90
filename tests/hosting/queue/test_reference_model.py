"""Every queue against a model so simple that it is plainly right: lists, searched from end to end."""

import asyncio
import itertools
import os
from dataclasses import dataclass, field
from functools import partial

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule, run_state_machine_as_test

from sophon_hosting.queue.contract import Delivery, QueueEntry, ReservedSlot
from sophon_hosting.queue.errors import QueueFull
from tests.hosting.queue.backends.backend import Backend, Options
from tests.properties import examples

NEEDS = ("turns", "positions", "bound", "counts")
CAPACITY, MAX_DELIVERIES = 4, 2
SESSIONS = "abcd"
OWNERS = {"a": "x", "b": "x", "d": "y"}
"""Owners of the sessions; in `c` two write."""
TASKS = [session + str(n) for session in SESSIONS for n in range(4)]

tasks = st.sampled_from(TASKS)
kinds = st.sampled_from(["run", "run", "resume"])
picks = st.integers(0, 10)


def owner_of(task: str) -> str:
    return OWNERS.get(task[0]) or ("y" if int(task[1]) < 2 else "z")


def entry_of(task: str, kind: str) -> QueueEntry:
    return QueueEntry(task, task[0], kind, owner_of(task))


@dataclass(eq=False)
class Item:
    task: str
    kind: str
    count: int = 0

    @property
    def session(self) -> str:
        return self.task[0]


@dataclass
class Model:
    """`waiting` holds all that wait, by lane in the order of the lane.

    `ready` has the owners in turn, each with its ready sessions in turn; `busy` those whose sessions have a task in
    flight, in the order in which that began.
    """

    waiting: list[Item] = field(default_factory=list)
    running: list[Item] = field(default_factory=list)
    dead: list[Item] = field(default_factory=list)
    holders: dict[str, str] = field(default_factory=dict)
    ready: list[str] = field(default_factory=list)
    busy: list[str] = field(default_factory=list)
    lanes: dict[str, tuple[list[str], list[str]]] = field(default_factory=dict)
    takers: int = 0
    places: int = 0
    paused: bool = False

    def full(self) -> bool:
        return len(self.waiting) + self.places >= CAPACITY

    def find(self, items: list[Item], task: str) -> Item | None:
        return next((item for item in items if item.task == task), None)

    def here(self, task: str) -> bool:
        return any(self.find(items, task) for items in (self.waiting, self.dead, self.running))

    def put(self, task: str, kind: str) -> int | None:
        if item := self.find(self.waiting, task):
            if kind == "resume":
                item.kind = kind
                self.waiting.remove(item)
                self.waiting.insert(0, item)
                self.settle()  # the lane may be another owner's now
            return self.position(task)
        if item := self.find(self.dead, task):
            item.kind = "resume" if kind == "resume" else item.kind
            return 0
        if kind == "run" and self.find(self.running, task):
            return 0
        return self.enter(task, kind)

    def enter(self, task: str, kind: str) -> int | None:
        self.waiting.insert(0 if kind == "resume" else len(self.waiting), Item(task, kind))
        self.settle()
        return self.position(task)

    def lane(self, session: str) -> list[Item]:
        """What the lane would deliver, one after the other."""
        lane = [item for item in self.waiting if item.session == session]
        if session in self.holders:
            lane = [item for item in lane if item.task == self.holders[session]]
        return lane

    def is_running(self, session: str) -> bool:
        return any(item.session == session for item in self.running)

    def position(self, task: str) -> int | None:
        """Play what would be delivered before the task, as if one worker was there and all that runs was done."""
        mine = self.find(self.waiting, task)
        if mine is None:
            return None
        session = mine.session
        lanes = {each: [item.task for item in self.lane(each)] for each in SESSIONS}
        owner = next((each for each, lanes in self.lanes.items() if session in lanes[0] + lanes[1]), owner_of(task))
        if task not in lanes[session]:  # a hold keeps it back: as if it ended now
            lanes[session] = [item.task for item in self.waiting if item.session == session]
        behind_busy = self.is_running(session)
        owners = place(self.ready, self.busy, owner, behind_busy=behind_busy)
        turns = {each: ready + busy for each, (ready, busy) in self.lanes.items()}
        turns[owner] = place(*self.lanes.get(owner, ([], [])), session, behind_busy=behind_busy)
        for count in range(1000):
            owner = owners.pop(0)
            session = turns[owner].pop(0)
            if lanes[session].pop(0) == task:
                return count
            turns[owner] += [session] if lanes[session] else []
            owners += [owner] if turns[owner] else []
        raise AssertionError(task)

    def settle(self) -> None:
        """Bring the turns up to date: who became ready or busy stands behind the others."""
        now: dict[str, tuple[list[str], list[str]]] = {}
        for session in SESSIONS:
            if lane := self.lane(session):
                now.setdefault(owner_of(lane[0].task), ([], []))[self.is_running(session)].append(session)
        before = self.lanes
        self.lanes = {
            owner: (merge(before.get(owner, ([], []))[0], ready), merge(before.get(owner, ([], []))[1], busy))
            for owner, (ready, busy) in now.items()
        }
        self.ready = merge(self.ready, [owner for owner in now if now[owner][0]])
        self.busy = merge(self.busy, [owner for owner in now if not now[owner][0]])

    def deliver(self) -> list[Item]:
        """What the takers who wait get."""
        delivered = []
        while self.takers and self.ready and not self.paused:
            owner = self.ready[0]
            item = self.lane(self.lanes[owner][0][0])[0]
            self.waiting.remove(item)
            item.count += 1
            self.running.append(item)
            delivered.append(item)
            self.takers -= 1
            self.settle()
            if owner in self.ready:
                self.ready.remove(owner)
                self.ready.append(owner)
        return delivered

    def nack(self, item: Item) -> str:
        self.running.remove(item)
        if twin := self.find(self.waiting, item.task):
            self.waiting.remove(twin)
            item.kind = twin.kind
        dies = item.count >= MAX_DELIVERIES
        if dies:
            self.dead.append(item)
            if self.holders.get(item.session) == item.task:
                del self.holders[item.session]
        else:
            self.waiting.insert(0, item)
        self.settle()
        return "dead" if dies else "waiting"


def merge(before: list[str], now: list[str]) -> list[str]:
    """What is still there in its order, then what is new."""
    return [each for each in before if each in now] + [each for each in now if each not in before]


def place(ready: list[str], busy: list[str], one: str, *, behind_busy: bool) -> list[str]:
    """Both in turn; `one` stands where it is, or behind the ready ones, or behind all."""
    if one in ready or (behind_busy and one in busy):
        return ready + busy
    others = [each for each in busy if each != one]
    return [*ready, *others, one] if behind_busy else [*ready, one, *others]


class QueueAndModel(RuleBasedStateMachine):
    """Both get the same, and must show the same."""

    backend_class: type[Backend]
    numbers = itertools.count()

    def __init__(self) -> None:
        super().__init__()
        self.loop = asyncio.new_event_loop()
        self.backend = self.backend_class()
        self.name = f"t_{os.getpid()}_model_{next(self.numbers)}"
        self.queue = self.backend.build(self.name, Options(CAPACITY, MAX_DELIVERIES))
        self.ask(self.queue.open())
        self.model = Model()
        self.takers: list[asyncio.Task[Delivery]] = []
        self.open: list[tuple[Delivery, Item]] = []
        self.ended: list[Delivery] = []
        self.places: list[ReservedSlot] = []

    def ask(self, work):
        return self.loop.run_until_complete(work)

    def compare_deliveries(self) -> None:
        expected = self.model.deliver()
        self.ask(self.backend.until(partial(self.has_delivered, len(expected))))
        self.ask(self.backend.settle(self.queue))
        done = sorted(
            (taker.result() for taker in self.takers if taker.done()), key=lambda delivery: delivery.fencing_token
        )
        self.takers = [taker for taker in self.takers if not taker.done()]
        seen = [(d.entry.task_id, d.entry.kind, d.delivery_count) for d in done]
        assert seen == [(item.task, item.kind, item.count) for item in expected]
        self.open += zip(done, expected, strict=True)

    async def has_delivered(self, count: int) -> bool:
        return sum(taker.done() for taker in self.takers) >= count

    @rule(task=tasks, kind=kinds, force=st.booleans())
    def put(self, task: str, kind: str, force: bool) -> None:
        entry = entry_of(task, kind)
        refused = self.model.full() and not (force or kind == "resume" or self.model.here(task))
        if refused:
            with pytest.raises(QueueFull):
                self.ask(self.queue.put(entry))
        else:
            assert self.ask(self.queue.put(entry, force=force)) == self.model.put(task, kind)
        self.compare_deliveries()

    @rule()
    def reserve(self) -> None:
        if self.model.full():
            with pytest.raises(QueueFull):
                self.queue.reserve()
        else:
            self.places.append(self.queue.reserve())
            self.model.places += 1

    @precondition(lambda self: self.places)
    @rule(task=tasks, kind=kinds, used=st.booleans())
    def end_place(self, task: str, kind: str, used: bool) -> None:
        place = self.places.pop()
        self.model.places -= 1
        if used:
            position = self.ask(place.put(entry_of(task, kind)))
            assert position == self.model.put(task, kind)
        place.release()
        self.compare_deliveries()

    @rule()
    def begin_to_take(self) -> None:
        self.takers.append(self.loop.create_task(self.queue.take()))
        self.model.takers += 1
        self.compare_deliveries()

    @precondition(lambda self: self.takers)
    @rule(pick=picks)
    def cancel_a_taker(self, pick: int) -> None:
        taker = self.takers.pop(pick % len(self.takers))
        taker.cancel()
        self.model.takers -= 1
        self.compare_deliveries()
        self.ask(asyncio.wait([taker]))
        assert taker.cancelled()

    @precondition(lambda self: self.open)
    @rule(pick=picks)
    def ack(self, pick: int) -> None:
        delivery, item = self.open.pop(pick % len(self.open))
        assert self.ask(self.queue.ack(delivery))
        self.model.running.remove(item)
        self.model.settle()
        self.ended.append(delivery)
        self.compare_deliveries()

    @precondition(lambda self: self.open)
    @rule(pick=picks)
    def nack(self, pick: int) -> None:
        delivery, item = self.open.pop(pick % len(self.open))
        assert self.ask(self.queue.nack(delivery)) == self.model.nack(item)
        self.ended.append(delivery)
        self.compare_deliveries()

    @precondition(lambda self: self.ended)
    @rule(pick=picks)
    def come_too_late(self, pick: int) -> None:
        delivery = self.ended[pick % len(self.ended)]
        assert not self.ask(self.queue.ack(delivery))
        assert self.ask(self.queue.nack(delivery)) == "stale"
        assert not self.ask(self.queue.renew(delivery))

    @rule(task=tasks)
    def hold(self, task: str) -> None:
        held = self.ask(self.queue.hold_lane(task[0], task))
        assert held == (self.model.holders.setdefault(task[0], task) == task)
        self.model.settle()
        self.compare_deliveries()

    @rule(task=tasks)
    def free(self, task: str) -> None:
        is_held = self.model.holders.get(task[0]) == task
        assert self.ask(self.queue.release_lane(task[0], task)) == is_held
        if is_held:
            del self.model.holders[task[0]]
        self.model.settle()
        self.compare_deliveries()

    @rule(task=tasks)
    def remove(self, task: str) -> None:
        items = next((i for i in (self.model.waiting, self.model.dead) if self.model.find(i, task)), None)
        assert self.ask(self.queue.remove(task)) == (items is not None)
        if items is not None:
            items.remove(self.model.find(items, task))
        self.model.settle()

    @rule(task=tasks)
    def retry(self, task: str) -> None:
        letter = self.model.find(self.model.dead, task)
        assert self.ask(self.queue.retry_dead_letter(task)) == (letter is not None)
        if letter is not None:
            self.model.dead.remove(letter)
            self.model.enter(task, letter.kind)
        self.compare_deliveries()

    @rule()
    def pause(self) -> None:
        self.ask(self.queue.pause())
        self.model.paused = True

    @rule()
    def resume(self) -> None:
        self.ask(self.queue.resume())
        self.model.paused = False
        self.compare_deliveries()

    @rule()
    def drain(self) -> None:
        drain = self.loop.create_task(self.queue.drain())
        self.ask(self.backend.settle(self.queue))
        assert drain.done() == (not self.open)
        drain.cancel()
        self.ask(self.backend.settle(self.queue))
        self.model.paused = True

    @invariant()
    def statistics_agree(self) -> None:
        seen = self.ask(self.queue.statistics())
        model = self.model
        assert (seen.waiting, seen.in_flight, seen.dead) == (len(model.waiting), len(model.running), len(model.dead))
        assert (seen.reserved, seen.held_lanes, seen.paused) == (model.places, len(model.holders), model.paused)

    @invariant()
    def positions_agree(self) -> None:
        for task in TASKS:
            assert self.ask(self.queue.position(task)) == self.model.position(task)

    @invariant()
    def a_position_can_be_known_before(self) -> None:
        for task in TASKS:
            if self.model.here(task):
                continue
            self.model.waiting.append(Item(task, "run"))
            expected = self.model.position(task)
            self.model.waiting.pop()
            assert self.ask(self.queue.estimate_position(entry_of(task, "run"))) == expected

    @invariant()
    def the_dead_agree(self) -> None:
        seen = [(letter.entry.task_id, letter.entry.kind) for letter in self.ask(self.queue.list_dead_letters())]
        assert seen == [(item.task, item.kind) for item in self.model.dead]

    def teardown(self) -> None:
        for taker in self.takers:
            taker.cancel()
        self.ask(self.backend.settle(self.queue))
        self.ask(self.queue.close())
        self.ask(self.backend.remove(self.name))
        self.loop.close()


def test_a_queue_does_what_its_model_does(backend, backend_class):
    machine = type("Machine", (QueueAndModel,), {"backend_class": backend_class})
    count = examples(3 if backend_class.has_instances else 25)
    run_state_machine_as_test(machine, settings=settings(max_examples=count, stateful_step_count=40, deadline=None))

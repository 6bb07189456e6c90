"""The order of acceptance, beside a list that is counted through."""

from hypothesis import given
from hypothesis import strategies as st

from sophon_hosting.queue.position_index import MIN_CAPACITY, PositionIndex, Ticket

OPERATIONS = st.lists(
    st.tuples(st.sampled_from(["append", "append", "mark_inactive", "mark_waiting", "remove"]), st.integers(0, 10**6))
)


def counted(tickets: list[Ticket], ticket: Ticket) -> int:
    return sum(1 for other in tickets[: tickets.index(ticket)] if other.is_waiting)


def churn(acceptance: PositionIndex, count: int) -> None:
    for _ in range(count):
        acceptance.remove(acceptance.append())


@given(OPERATIONS, st.integers(0, 2 * MIN_CAPACITY))
def test_as_many_stand_before_a_ticket_as_were_accepted_before_and_wait(operations, gone: int):
    acceptance = PositionIndex()
    churn(acceptance, gone)
    tickets: list[Ticket] = []
    for operation, pick in operations:
        if operation == "append":
            tickets.append(acceptance.append())
        elif tickets:
            ticket = tickets[pick % len(tickets)]
            getattr(acceptance, operation)(ticket)
            if operation == "remove":
                tickets.remove(ticket)
    assert [acceptance.count_waiting_before(ticket) for ticket in tickets] == [
        counted(tickets, ticket) for ticket in tickets
    ]
    churn(acceptance, 2 * MIN_CAPACITY)
    assert [acceptance.count_waiting_before(ticket) for ticket in tickets] == [
        counted(tickets, ticket) for ticket in tickets
    ]


def test_what_is_gone_leaves_nothing_behind():
    acceptance = PositionIndex()
    first = acceptance.append()
    churn(acceptance, 100 * MIN_CAPACITY)
    assert len(acceptance._tickets) <= MIN_CAPACITY
    assert len(acceptance._sums) == MIN_CAPACITY + 1
    assert acceptance.count_waiting_before(first) == 0


def test_many_that_wait_are_all_counted():
    acceptance = PositionIndex()
    tickets = [acceptance.append() for _ in range(20 * MIN_CAPACITY)]
    assert [acceptance.count_waiting_before(ticket) for ticket in tickets] == list(range(20 * MIN_CAPACITY))

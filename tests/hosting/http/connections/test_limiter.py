from dataclasses import dataclass

import pytest

from sophon_hosting.http.connections.limiter import ConnectionLimiter
from sophon_hosting.http.connections.limits import ConnectionLimits


@dataclass(eq=False)
class Connection:
    address: str = ""
    is_replaceable: bool = True
    aborted: bool = False

    def abort(self) -> None:
        self.aborted = True


@pytest.fixture
def refused() -> list[str]:
    return []


@pytest.fixture
def limiter(refused: list[str]) -> ConnectionLimiter:
    return ConnectionLimiter(ConnectionLimits(max_connections=4, max_per_address=2), refused.append)


def admitted(limiter: ConnectionLimiter, *connections: Connection) -> None:
    assert all(limiter.admit(each) for each in connections)


def test_at_the_cap_the_connection_that_was_idle_longest_is_replaced(limiter, refused) -> None:
    first, second, *_ = old = [Connection() for _ in range(4)]
    admitted(limiter, *old)
    limiter.touch(first)
    admitted(limiter, Connection())
    assert ([each.aborted for each in old], refused) == ([False, True, False, False], ["replaced"])
    assert (second.aborted, len(limiter)) == (True, 4)


def test_a_busy_connection_is_never_replaced(limiter, refused) -> None:
    admitted(limiter, *(Connection(is_replaceable=False) for _ in range(4)))
    assert not limiter.admit(Connection())
    assert (refused, len(limiter)) == (["total"], 4)


def test_at_the_total_cap_the_address_with_the_most_connections_gives_one(limiter) -> None:
    lonely, greedy = Connection("192.0.2.1"), [Connection() for _ in range(3)]
    admitted(limiter, lonely, *greedy, Connection("192.0.2.2"))
    assert (lonely.aborted, [each.aborted for each in greedy]) == (False, [True, False, False])


def test_the_cap_of_an_address_spares_the_other_ones(limiter, refused) -> None:
    other, mine = Connection("192.0.2.1"), [Connection("192.0.2.2") for _ in range(3)]
    admitted(limiter, other, *mine)
    assert (other.aborted, [each.aborted for each in mine]) == (False, [True, False, False])
    for each in mine:
        each.is_replaceable = False
    assert not limiter.admit(Connection("192.0.2.2"))
    assert refused == ["replaced", "address"]


def test_a_closed_connection_makes_room_and_may_be_released_twice(limiter) -> None:
    connections = [Connection("192.0.2.1"), Connection("192.0.2.1")]
    admitted(limiter, *connections)
    for each in connections * 2:
        limiter.release(each)
        limiter.touch(each)
    assert len(limiter) == 0

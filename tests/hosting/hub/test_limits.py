import pytest

from sophon import Services
from sophon_hosting.host_server import HostServer
from sophon_hosting.hub.limits import HubLimits
from sophon_hosting.store.sql_host_store import SqlHostStore


@pytest.mark.parametrize(
    ("connections", "per_user", "unauthenticated"), [(1000, 200, 64), (192, 48, 48), (16, 4, 4), (2, 1, 1)]
)
def test_nobody_has_more_than_a_quarter_of_all_connections(connections, per_user, unauthenticated) -> None:
    limits = HubLimits.for_connections(connections)
    assert (limits.max_connections, limits.max_connections_per_user) == (connections, per_user)
    assert limits.max_unauthenticated_per_address == unauthenticated


def test_a_host_derives_the_limits_of_its_hub_from_those_of_its_connections() -> None:
    services = Services(settings={"Hub": {"MaxConnections": 40}}, store=SqlHostStore("memory://"))
    assert HostServer(services, {}).hub._limits == HubLimits.for_connections(40)

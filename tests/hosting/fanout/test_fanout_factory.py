"""Which fan-out the settings choose."""

from typing import Any

import pytest

from sophon.errors import SettingsError
from sophon.settings import load_settings
from sophon_hosting.fanout.connected_fanout import ConnectedFanout
from sophon_hosting.fanout.contract import HostFanout, NoFanout
from sophon_hosting.fanout.fanout_factory import build_fanout

POSTGRES = {"Url": "postgresql://ada:hidden-word@db.example/sophon"}
REDIS = {"Backend": "Redis", "Url": "redis://:hidden-word@queue.example:6379/1"}


def build(tmp_path: Any, **sections: Any) -> HostFanout:
    settings = load_settings(folder=tmp_path, environment={}, overrides=sections)
    return build_fanout(settings, {"FANOUT_URL": "redis://fanout.example"})


@pytest.mark.parametrize(
    ("sections", "server"),
    [
        ({"Queue": REDIS, "Store": POSTGRES}, "redis://***@queue.example:6379/1"),
        ({"Queue": REDIS}, "redis://***@queue.example:6379/1"),
        ({"Queue": {"Backend": "Postgres"}, "Store": POSTGRES}, "postgresql://***@db.example/sophon"),
        (
            {"Queue": {"Backend": "RabbitMq", "Url": "amqp://queue.example"}, "Store": POSTGRES},
            "postgresql://***@db.example/sophon",
        ),
        (
            {"Queue": {"Backend": "Postgres"}, "Store": POSTGRES, "Hub": {"FanoutUrl": {"$env": "FANOUT_URL"}}},
            "redis://fanout.example",
        ),
        (
            {"Queue": REDIS, "Store": POSTGRES, "Hub": {"FanoutUrl": "postgres://other.example/x"}},
            "postgresql://other.example/x",
        ),
    ],
)
def test_the_server_of_the_settings(sections: dict[str, Any], server: str, tmp_path: Any) -> None:
    fanout = build(tmp_path, **sections)
    assert isinstance(fanout, ConnectedFanout)
    assert fanout.server.replace("[REDACTED]", "***") == server
    assert fanout.reaches_others


@pytest.mark.parametrize(
    "sections",
    [
        {},
        {"Store": POSTGRES},
        {"Hub": {"FanoutUrl": "redis://fanout.example"}},
        {"Queue": {"Backend": "RabbitMq", "Url": "amqp://queue.example"}},
    ],
)
def test_one_process_has_none(sections: dict[str, Any], tmp_path: Any) -> None:
    fanout = build(tmp_path, **sections)
    assert isinstance(fanout, NoFanout)
    assert not fanout.reaches_others


@pytest.mark.parametrize("url", ["amqp://fanout.example", "no url", "redis://fanout.example:port", {"$env": "MISSING"}])
def test_a_url_of_something_else_is_refused(url: Any, tmp_path: Any) -> None:
    with pytest.raises(SettingsError) as refused:
        build(tmp_path, Queue=REDIS, Store=POSTGRES, Hub={"FanoutUrl": url})
    assert "FanoutUrl" in str(refused.value)
    assert "hidden-word" not in str(refused.value)

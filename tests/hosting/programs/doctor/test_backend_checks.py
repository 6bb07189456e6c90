"""Checks of the engines: against the servers of this machine, and against what is wrong with one that is not there."""

import os
import socket
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from sophon.settings import Settings
from sophon_hosting.programs.doctor import postgresql_checks, rabbitmq_checks, redis_checks
from sophon_hosting.programs.doctor.backend_checks import check_engines, list_engines
from sophon_hosting.programs.doctor.backend_findings import (
    MAX_SKEW_SECONDS,
    check_skew,
    describe_connection_error,
    name_server,
    parse_version,
)
from sophon_hosting.programs.doctor.findings import DoctorFinding
from sophon_hosting.programs.doctor.postgresql_checks import PostgresFacts, judge_postgresql
from sophon_hosting.programs.doctor.rabbitmq_checks import RabbitFacts, judge_rabbitmq
from sophon_hosting.programs.doctor.redis_checks import RedisFacts, facts_from_info, judge_redis
from tests import postgres

PASSWORD = "kept-from-every-line"


def find_server(variable: str, standard: str) -> str:
    """The URL of a server that answers. Without one the test is skipped, and fails where SOPHON_CI is set."""
    url = os.environ.get(variable) or standard
    parts = urlsplit(url)
    try:
        socket.create_connection((parts.hostname or "", parts.port or 0), timeout=5).close()
    except OSError:
        reason = f"{variable} names no server, and none answers at {name_server(standard)}"
        if os.environ.get("SOPHON_CI"):
            pytest.fail(reason)
        pytest.skip(reason)
    return url


@pytest.fixture
def redis_url() -> str:
    return find_server("SOPHON_TEST_REDIS", "redis://127.0.0.1:6379/0")


@pytest.fixture
def rabbitmq_url() -> str:
    return find_server("SOPHON_TEST_RABBITMQ", "amqp://guest:guest@127.0.0.1:5672/")


@pytest.fixture
def closed_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return listener.getsockname()[1]


def grades(findings: list[DoctorFinding]) -> list[str]:
    return [each.grade for each in findings]


def words(findings: list[DoctorFinding]) -> str:
    return "\n".join(line for each in findings for line in each.lines())


def check(settings: Mapping[str, Any], processes: int = 1) -> list[DoctorFinding]:
    return list(check_engines(Settings.from_mapping(settings), {}, processes))


@postgres.needs_postgres
def test_a_real_postgresql_is_described() -> None:
    found = check({"Store": {"Url": postgres.SERVER}})
    assert found[0].grade == "ok"
    assert found[0].text.startswith("PostgreSQL 1")
    facts = postgresql_checks.read_facts(postgres.SERVER)
    assert abs(facts.skew_seconds) < MAX_SKEW_SECONDS
    assert facts.encoding == "UTF8"
    assert facts.connections >= 1


def test_a_real_redis_is_described(redis_url: str) -> None:
    facts = redis_checks.read_facts(redis_url)
    assert (facts.server in ("Redis", "Valkey"), parse_version(facts.version) >= (7, 0)) == (True, True)
    assert abs(facts.skew_seconds) < MAX_SKEW_SECONDS
    found = check({"Queue": {"Backend": "Redis", "Url": redis_url}})
    assert found[0].id == "redis"
    assert found[0].text.startswith(facts.server)


def test_a_real_rabbitmq_is_described_and_its_queue_deleted(rabbitmq_url: str) -> None:
    found = check({"Queue": {"Backend": "RabbitMq", "Url": rabbitmq_url}})
    assert (grades(found), found[0].id) == (["ok"], "rabbitmq")
    assert found[0].text.startswith("RabbitMQ ")


@pytest.mark.parametrize(
    ("setting", "scheme", "engine"),
    [
        ("Store", "postgresql", "postgresql"),
        ("Redis", "redis", "redis"),
        ("RabbitMq", "amqp", "rabbitmq"),
        ("Postgres", "postgresql", "postgresql"),
    ],
)
def test_a_server_that_is_not_there_is_one_line_without_secrets(
    setting: str, scheme: str, engine: str, closed_port: int
) -> None:
    url = f"{scheme}://somebody:{PASSWORD}@127.0.0.1:{closed_port}/x"
    settings = {"Store": {"Url": url}} if setting == "Store" else {"Queue": {"Backend": setting, "Url": url}}
    found = check(settings)
    assert [(each.id, each.grade) for each in found if each.id == engine] == [(engine, "failed")]
    assert f"127.0.0.1:{closed_port}" in found[0].text
    assert "refused" in found[0].text.lower()
    assert PASSWORD not in words(found)
    assert "\n" not in found[0].text
    assert ("Store.Url" if setting == "Store" else "Queue.Url") in found[0].fix


def test_a_wrong_password_is_told_without_it(rabbitmq_url: str, redis_url: str) -> None:
    rabbit, redis = urlsplit(rabbitmq_url), urlsplit(redis_url)
    for backend, url in (
        ("RabbitMq", f"amqp://somebody:{PASSWORD}@{rabbit.hostname}:{rabbit.port}/"),
        ("Redis", f"redis://somebody:{PASSWORD}@{redis.hostname}:{redis.port}/0"),
    ):
        found = check({"Queue": {"Backend": backend, "Url": url}})
        assert grades(found) == ["failed"], words(found)
        assert PASSWORD not in words(found)


POSTGRES = PostgresFacts(150_004, "15.4", 97, 10, "on", "on", "on", "on", "UTF8", "off", 0, 0.1)


@pytest.mark.parametrize(
    ("change", "grade", "word"),
    [
        ({"version": 120_000, "version_name": "12.0"}, "failed", "12.0"),
        ({"fsync": "off"}, "warning", "fsync is off"),
        ({"full_page_writes": "off"}, "warning", "full_page_writes"),
        ({"synchronous_commit": "off"}, "warning", "synchronous_commit is off"),
        ({"autovacuum": "off"}, "warning", "autovacuum"),
        ({"encoding": "SQL_ASCII"}, "failed", "SQL_ASCII"),
        ({"read_only": "on"}, "failed", "only read"),
        ({"lock_waits": 3}, "warning", "3 connections"),
        ({"skew_seconds": 30.0}, "warning", "30.0 s behind"),
        ({"skew_seconds": -30.0}, "warning", "30.0 s ahead of"),
        ({"max_connections": 6}, "failed", "up to 7 connections"),
        ({"connections": 95}, "warning", "one more process"),
    ],
)
def test_what_is_wrong_with_a_postgresql_is_found(change: dict[str, Any], grade: str, word: str) -> None:
    found = list(judge_postgresql(replace(POSTGRES, **change), "postgresql://db", 7, 1))
    assert [each.grade for each in found if each.grade != "ok"] == [grade]
    assert word in words(found)


def test_a_healthy_postgresql_is_one_line() -> None:
    assert grades(list(judge_postgresql(POSTGRES, "postgresql://db", 7, 12))) == ["ok"]
    assert "failed" in grades(list(judge_postgresql(POSTGRES, "postgresql://db", 7, 14)))


REDIS = RedisFacts("Redis", "7.0.15", "master", "noeviction", 10, 100, True, False, False, False, 0.001, 0.0)


@pytest.mark.parametrize(
    ("change", "grade", "word"),
    [
        ({"version": "6.2.1"}, "failed", "6.2.1"),
        ({"answer_seconds": 0.2}, "warning", "200.0 ms"),
        ({"role": "slave"}, "failed", "slave"),
        ({"policy": "allkeys-lru"}, "failed", "allkeys-lru"),
        ({"used_bytes": 90}, "warning", "90%"),
        ({"appends": False}, "warning", "appendonly"),
        ({"snapshots_fail": True}, "failed", "last write"),
        ({"appends_fail": True}, "failed", "last write"),
        ({"is_cluster": True}, "failed", "cluster"),
        ({"skew_seconds": 5.0}, "warning", "5.0 s"),
    ],
)
def test_what_is_wrong_with_a_redis_is_found(change: dict[str, Any], grade: str, word: str) -> None:
    found = list(judge_redis(replace(REDIS, **change), "redis://r"))
    assert [each.grade for each in found if each.grade != "ok"] == [grade]
    assert word in words(found)


def test_a_valkey_is_judged_by_its_own_version() -> None:
    info = {"server_name": "valkey", "redis_version": "7.2.4", "valkey_version": "8.1.0", "aof_enabled": 1}
    facts = facts_from_info(info, 0.001, 0.0)
    assert (facts.server, facts.version, facts.appends) == ("Valkey", "8.1.0", True)
    assert grades(list(judge_redis(facts, "redis://r"))) == ["ok"]


RABBIT = RabbitFacts("RabbitMQ", "4.1.0", "", "", 0.01)


@pytest.mark.parametrize(
    ("change", "word"),
    [
        ({"version": "3.8.2"}, "3.8.2"),
        ({"quorum_problem": "ACCESS_REFUSED"}, "ACCESS_REFUSED"),
        ({"alarm": "a message was not confirmed within 1 s"}, "alarms"),
    ],
)
def test_what_is_wrong_with_a_rabbitmq_is_found(change: dict[str, Any], word: str) -> None:
    found = list(judge_rabbitmq(replace(RABBIT, **change), "amqp://r"))
    assert [each.grade for each in found if each.grade != "ok"] == ["failed"]
    assert word in words(found)


def test_a_server_with_several_uses_is_asked_once() -> None:
    url = "postgresql://db.example/sophon"
    settings = Settings.from_mapping({"Store": {"Url": url}, "Queue": {"Backend": "Postgres"}})
    (use,) = list_engines(settings, {})
    assert use.settings == ("Store.Url", "Queue.Url", "Hub.FanoutUrl")
    assert use.connections == 7


def test_sqlite_and_a_queue_in_memory_have_no_server(tmp_path: Path) -> None:
    assert list_engines(Settings.from_mapping({}), {}) == []


def test_three_servers_are_three() -> None:
    settings = Settings.from_mapping(
        {
            "Store": {"Url": "postgresql+psycopg://db.example/sophon"},
            "Queue": {"Backend": "RabbitMq", "Url": {"$env": "QUEUE"}},
            "Hub": {"FanoutUrl": "rediss://hints.example"},
        }
    )
    found = list_engines(settings, {"QUEUE": "amqps://queue.example"})
    assert [(each.engine, each.settings) for each in found] == [
        ("postgresql", ("Store.Url",)),
        ("rabbitmq", ("Queue.Url",)),
        ("redis", ("Hub.FanoutUrl",)),
    ]


@pytest.mark.parametrize(
    ("url", "name"),
    [
        ("postgresql+psycopg://ada:secret@db:5432/sophon?sslmode=require", "postgresql://db:5432/sophon"),
        ("redis://:secret@[::1]:6379/0", "redis://[::1]:6379/0"),
        ("amqps://a:b@queue.example", "amqps://queue.example"),
        ("unix:///run/redis.sock?password=secret", "unix:///run/redis.sock"),
    ],
)
def test_servers_are_named_without_users_passwords_and_parameters(url: str, name: str) -> None:
    assert name_server(url) == name


def test_errors_are_told_in_one_line() -> None:
    long = 'connection failed: connection to server at "h", port 1 failed: Connection refused\n\tIs it running?'
    assert describe_connection_error(OSError(long)) == "Connection refused"
    assert "5 s" in describe_connection_error(TimeoutError())
    assert describe_connection_error(ConnectionResetError()) == "ConnectionResetError"


def test_small_differences_of_clocks_are_no_finding() -> None:
    assert check_skew("redis", MAX_SKEW_SECONDS) == check_skew("redis", -MAX_SKEW_SECONDS) == []


def test_no_client_library_is_loaded_for_the_checks_alone() -> None:
    modules = (postgresql_checks, redis_checks, rabbitmq_checks)
    assert not {"psycopg", "redis", "aio_pika"} & {name for module in modules for name in vars(module)}

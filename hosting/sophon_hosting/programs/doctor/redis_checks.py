"""Checks of `sophon doctor` on a Redis or Valkey: version, eviction, persistence, memory, time to answer, clock."""

import time
from collections.abc import Iterator, Mapping
from importlib import import_module
from typing import Any

from sophon._python.lazy_dataclass import dataclass
from sophon_hosting.programs.doctor.backend_findings import CONNECT_SECONDS, check_skew, find_old_version, read_number
from sophon_hosting.programs.doctor.findings import DoctorFinding, failed, ok, warning

NAME = "redis"

MIN_VERSION = (7, 0)
"""Oldest version that the commands of the queue need; Valkey states 7.2 and newer."""

SLOW_SECONDS = 0.05
"""Time to answer from which on it is told: a task takes several round trips."""

EVICTION_FIX = "set maxmemory-policy to noeviction: otherwise Redis drops tasks when its memory is full"
PERSISTENCE_FIX = (
    "set appendonly to yes; without it, tasks wait for the next reconciliation after a restart; none is lost"
)


@dataclass(frozen=True, slots=True)
class RedisFacts:
    """What a server says of itself. `skew_seconds` is how far its clock is ahead of this machine's."""

    server: str
    version: str
    role: str
    policy: str
    used_bytes: float
    max_bytes: float
    appends: bool
    snapshots_fail: bool
    appends_fail: bool
    is_cluster: bool
    answer_seconds: float
    skew_seconds: float


def read_facts(url: str) -> RedisFacts:
    """Return the facts of a server. Blocks; raises the errors of the client library."""
    redis: Any = import_module("redis")  # lazy: only who uses Redis has it
    # As the queue connects; version 3 of the protocol logs in with a command of its own, and fails in other words.
    client = redis.Redis.from_url(
        url, protocol=2, socket_connect_timeout=CONNECT_SECONDS, socket_timeout=CONNECT_SECONDS
    )
    try:
        client.ping()
        before = time.time()
        seconds, micros = client.time()
        after = time.time()
        return facts_from_info(client.info(), after - before, seconds + micros / 1e6 - (before + after) / 2)
    finally:
        client.close()


def facts_from_info(info: Mapping[str, Any], answer_seconds: float, skew_seconds: float) -> RedisFacts:
    """Return the facts of the answer to INFO. Pure."""
    is_valkey = info.get("server_name") == "valkey"
    return RedisFacts(
        server="Valkey" if is_valkey else "Redis",
        version=str(info.get("valkey_version" if is_valkey else "redis_version", "")),
        role=str(info.get("role", "master")),
        policy=str(info.get("maxmemory_policy", "")),
        used_bytes=read_number(info, "used_memory"),
        max_bytes=read_number(info, "maxmemory"),
        appends=bool(read_number(info, "aof_enabled")),
        snapshots_fail=info.get("rdb_last_bgsave_status", "ok") != "ok",
        appends_fail=info.get("aof_last_write_status", "ok") != "ok",
        is_cluster=bool(read_number(info, "cluster_enabled")),
        answer_seconds=answer_seconds,
        skew_seconds=skew_seconds,
    )


def judge_redis(facts: RedisFacts, name: str) -> Iterator[DoctorFinding]:
    """Yield the findings of a server's facts; the first one is what it is. Pure."""
    text = f"{facts.server} {facts.version} at {name}, answers in {facts.answer_seconds * 1000:.1f} ms"
    if (old := find_old_version(NAME, text, facts.version, MIN_VERSION)) is not None:
        yield old
    elif facts.answer_seconds > SLOW_SECONDS:
        yield warning(NAME, text, "run Redis near the hosts: a task takes several round trips")
    else:
        yield ok(NAME, text)
    if facts.role not in ("master", "primary"):
        yield failed(NAME, f"the server is a {facts.role}", "give the address of the primary server")
    if facts.is_cluster:
        yield failed(NAME, "the server is part of a cluster", "use one server, with replicas or without")
    if facts.policy and facts.policy != "noeviction":
        yield failed(NAME, f"maxmemory-policy is {facts.policy}", EVICTION_FIX)
    if facts.max_bytes and facts.used_bytes > 0.8 * facts.max_bytes:
        text = f"{facts.used_bytes / facts.max_bytes:.0%} of maxmemory are used; beyond it no task is accepted"
        yield warning(NAME, text, "raise maxmemory, or find what else uses this server")
    if not facts.appends:
        yield warning(NAME, "appendonly is off", PERSISTENCE_FIX)
    if facts.snapshots_fail or facts.appends_fail:
        text = "the last write to its disk failed; Redis then refuses all writes"
        yield failed(NAME, text, "free its disk; see the log of Redis")
    yield from check_skew(NAME, facts.skew_seconds)

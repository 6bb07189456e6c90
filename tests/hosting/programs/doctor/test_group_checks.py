"""Checks of the processes of a group: who answers, who differs, and whether somebody puts and somebody takes."""

import asyncio
import json
import signal
from typing import Any

import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer

from sophon._version import __version__
from sophon.services import Services
from sophon_hosting.leadership.host_registry import HostDescription
from sophon_hosting.leadership.settings_fingerprint import compute_fingerprint
from sophon_hosting.programs.doctor.group_checks import (
    HANGING_FIX,
    NOT_READY_FIX,
    AnswerProblem,
    check_roles,
    find_answer_problem,
    judge_processes,
)
from tests import postgres
from tests.programs import program

__all__ = ["program"]

GROUP = {"Queue": {"Backend": "Redis", "Url": "redis://127.0.0.1:1/0"}}


def host(role: str, version: str = "1.0") -> HostDescription:
    return HostDescription(f"{role}-{version}", role, version, "redis", "2026-01-01T00:00:00")  # type: ignore[arg-type]


def found(hosts: list[HostDescription], settings: dict[str, object] | None = None) -> list[tuple[str, str]]:
    services = Services(settings=GROUP if settings is None else settings)
    return [(each.grade, each.text) for each in check_roles(services, hosts)]


def test_a_host_alone_is_no_group() -> None:
    assert found([], {}) == []


@pytest.mark.parametrize(
    ("roles", "warning"),
    [
        ([], "no process"),
        (["hub"], "none of them runs turns"),
        (["worker", "worker"], "none of them answers clients"),
        (["hub", "worker"], ""),
        (["serve"], ""),
    ],
)
def test_a_group_needs_somebody_who_answers_and_somebody_who_works(roles: list[str], warning: str) -> None:
    warnings = [text for grade, text in found([host(role) for role in roles]) if grade == "warning"]
    assert [warning in text for text in warnings] == ([True] if warning else [])


NEWEST = "0099"


@pytest.mark.parametrize(
    ("changes", "answer", "grade", "word"),
    [
        ({}, "", "ok", "leads nothing"),
        ({"version": "0.1"}, "", "warning", "Sophon 0.1"),
        ({"schema": "0001"}, "", "warning", "schema 0001"),
        ({"settings": {}}, "", "warning", "other settings than here"),
        ({}, "it does not answer", "failed", "it does not answer"),
        ({"machine": "elsewhere"}, "it does not answer", "ok", "on elsewhere"),
        ({"address": "", "role": "worker"}, "it does not answer", "ok", "worker"),
    ],
)
def test_a_process_is_told_once_with_what_is_wrong_with_it(
    changes: dict[str, Any], answer: str, grade: str, word: str
) -> None:
    services = Services(settings=GROUP)
    values: dict[str, Any] = {
        "role": "serve",
        "version": __version__,
        "address": "http://127.0.0.1:1",
        "schema": NEWEST,
        "settings": compute_fingerprint(services.settings),
    }
    described = HostDescription(id="h", queue="redis", started_at="2026-01-01T00:00:00", **(values | changes))
    (found,) = judge_processes(
        services, [described], NEWEST, lambda _: AnswerProblem(answer, HANGING_FIX) if answer else None
    )
    assert (found.grade, word in found.text) == (grade, True)


def test_an_address_where_nobody_listens_is_no_answer() -> None:
    problem = find_answer_problem("http://127.0.0.1:1")
    assert problem is not None
    assert ("does not answer" in problem.text, problem.fix) == (True, HANGING_FIX)


async def test_a_process_whose_store_is_away_needs_no_restart() -> None:
    async def say_not_ready(_: web.Request) -> web.Response:
        checks = {"worker": "ok", "store": "the database server cannot be reached", "queue": "ok"}
        return web.json_response({"status": "not ready", "checks": checks}, status=503)

    application = web.Application()
    application.router.add_get("/readyz", say_not_ready)
    async with TestServer(application) as server:
        problem = await asyncio.to_thread(find_answer_problem, str(server.make_url("")).rstrip("/"))
    assert "goes on by itself" in NOT_READY_FIX
    assert problem == AnswerProblem("it is not ready: store: the database server cannot be reached", NOT_READY_FIX)


@pytest.fixture
def shared() -> dict[str, Any]:
    """Settings of a group of its own."""
    postgres.empty()
    return {"Store": {"Url": postgres.URL}, "Queue": {"Backend": "Postgres"}, "AgentExecution": {"Titles": False}}


@postgres.needs_postgres
def test_a_host_that_hangs_is_found_and_one_that_answers_is_told_once(program: Any, shared: dict[str, Any]) -> None:
    here = program(**shared)
    first, second = here.serve(), here.serve()

    def ask() -> list[tuple[str, str]]:
        found = json.loads(here.run("doctor", "--json")[1])
        return [(each["grade"], each["text"]) for each in found if each["id"] == "processes"]

    assert [(grade, url in text) for (grade, text), url in zip(ask(), (first.url, second.url), strict=True)] == [
        ("ok", True),
        ("ok", True),
    ]
    second.process.send_signal(signal.SIGSTOP)
    try:
        (_, good), (grade, bad) = ask()
    finally:
        second.process.send_signal(signal.SIGCONT)
    assert (first.url in good, grade, "does not answer" in bad) == (True, "failed", True)

"""Checks of a shared queue: its counts."""

from pathlib import Path

import pytest

from sophon.services import Services
from sophon_hosting.programs.doctor.queue_checks import check_queue, judge_queue
from sophon_hosting.queue.contract import QueueStatistics
from tests import postgres

EMPTY = QueueStatistics(0, 0, 0, 0, 0, 100, False, 0, 0.0)


@pytest.mark.parametrize(
    ("statistics", "grade", "word"),
    [
        (EMPTY, "ok", "0 of 100 waiting"),
        (QueueStatistics(85, 0, 1, 0, 0, 100, False, 0, 1.0), "warning", "85 of 100"),
        (QueueStatistics(1, 0, 0, 0, 0, 100, True, 0, 1.0), "warning", "paused"),
        (QueueStatistics(1, 0, 0, 0, 0, 100, False, 0, 900.0), "warning", "15 minutes"),
        (QueueStatistics(1, 0, 1, 0, 0, 100, False, 0, 900.0), "ok", "1 running"),
        (QueueStatistics(0, 0, 0, 0, 2, 100, False, 0, 0.0), "warning", "2 dead letters"),
    ],
)
def test_the_counts_of_a_queue_are_judged(statistics: QueueStatistics, grade: str, word: str) -> None:
    findings = list(judge_queue(statistics, "Redis"))
    assert findings[-1].grade == grade
    assert word in findings[-1].text


async def test_a_queue_whose_server_is_away_is_told_in_a_line() -> None:
    settings = {"Queue": {"Backend": "Postgres", "Url": "postgresql://127.0.0.1:1/nothing"}}
    (finding,) = await check_queue(Services(settings=settings))
    assert (finding.id, finding.grade) == ("queue", "failed")
    assert "\n" not in finding.text


@pytest.fixture
def postgres_url() -> str:
    postgres.without_rows()
    return postgres.MIGRATED


@postgres.needs_postgres
async def test_a_queue_in_postgresql_is_counted_and_left_alone(postgres_url: str, tmp_path: Path) -> None:
    settings = {"Store": {"Url": postgres_url}, "Queue": {"Backend": "Postgres"}}
    services = Services(settings=settings, folder=tmp_path)
    await services.open()
    try:
        (finding,) = await check_queue(services)
        assert (finding.grade, finding.text) == ("ok", "Postgres: 0 of 100 waiting, 0 running")
    finally:
        await services.close()

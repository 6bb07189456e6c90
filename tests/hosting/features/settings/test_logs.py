"""Log lines over HTTP: redacted, filtered, bounded, and as they come."""

import asyncio
import logging
from collections.abc import Callable
from typing import Any

import pytest

from sophon_hosting.features.host.feature import LOG_BUFFER
from sophon_hosting.features.host.log_buffer import MAX_CHARACTERS, MAX_LINES, LogBuffer
from sophon_hosting.observability.log_context import OFF_THE_RECORD, log_context
from tests.hosting.features.settings.conftest import TOKENS

log = logging.getLogger("sophon")


@pytest.fixture(autouse=True)
def level() -> Any:
    """The level that a host sets."""
    before = logging.getLogger().level
    logging.getLogger().setLevel(logging.DEBUG)
    yield
    logging.getLogger().setLevel(before)


async def test_lines_are_filtered_by_level_and_text(start: Callable[..., Any]) -> None:
    started = await start()
    olga = await started.open("olga")
    log.info("the tea is ready")
    log.warning("the kettle is EMPTY")

    warned = (await olga.get("/api/logs", params={"level": "Warning", "text": "the k"})).json()
    found = (await olga.get("/api/logs", params={"text": "empty"})).json()["items"]

    assert [each["text"] for each in warned["items"]] == ["the kettle is EMPTY"]
    assert [(each["level"], each["logger"]) for each in found] == [("warning", "sophon")]
    after = await olga.get("/api/logs", params={"after": found[0]["number"], "text": "tea"})
    assert after.json()["items"] == []


async def test_no_secret_is_in_a_line(start: Callable[..., Any]) -> None:
    started = await start()
    log.warning("the token %s came with api_key=abcdef123456", TOKENS["OLGA"])
    try:
        raise ValueError(f"wrong: {TOKENS['ADA']}")
    except ValueError:
        log.exception("it failed")
    text = (await (await started.open("olga")).get("/api/logs")).text
    assert "it failed" in text
    assert "abcdef123456" not in text
    assert not any(token in text for token in TOKENS.values())


async def test_a_request_waits_for_the_next_line(start: Callable[..., Any]) -> None:
    started = await start()
    olga = await started.open("olga")
    last = (await olga.get("/api/logs")).json()["last"]
    waiting = asyncio.create_task(olga.get("/api/logs", params={"after": last, "text": "at last", "wait": 20}))
    buffer = started.site.host.feature_services.find(LOG_BUFFER)
    while not buffer.has_listeners:
        await asyncio.sleep(0)
    await asyncio.to_thread(log.info, "something else")
    await asyncio.to_thread(log.info, "it comes at last")
    assert [each["text"] for each in (await waiting).json()["items"]] == ["it comes at last"]


def test_lines_and_their_number_are_bounded() -> None:
    buffer = LogBuffer()
    for number in range(MAX_LINES + 10):
        buffer.handle(logging.makeLogRecord({"msg": f"{number}", "levelno": 20}))
    buffer.handle(logging.makeLogRecord({"msg": "x" * 100_000, "levelno": 20}))
    lines = buffer.list_after(0, limit=MAX_LINES * 2)
    assert (len(lines), lines[0].text) == (MAX_LINES, "11")
    assert len(lines[-1].text) == MAX_CHARACTERS


def test_what_is_off_the_record_is_not_in_a_line() -> None:
    buffer = LogBuffer()
    with log_context(**{OFF_THE_RECORD: "yes"}):
        buffer.handle(logging.makeLogRecord({"name": "sophon", "msg": "said %s", "args": ("a secret word",)}))
    (line,) = buffer.list_after(0)
    assert "a secret word" not in line.text


async def test_a_host_that_is_shut_down_receives_no_more(start: Callable[..., Any]) -> None:
    started = await start()
    assert started.site.host.feature_services.find(LOG_BUFFER) in logging.getLogger().handlers
    await started.site.shutdown(0)
    assert started.site.host.feature_services.find(LOG_BUFFER) not in logging.getLogger().handlers

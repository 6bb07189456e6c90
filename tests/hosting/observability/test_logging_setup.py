import io
import json
import logging
from collections.abc import Iterator

import anyio
import anyio.lowlevel
import pytest

from sophon_hosting.observability.log_context import log_context
from sophon_hosting.observability.logging_setup import configure_logging

log = logging.getLogger("sophon.test")


@pytest.fixture
def root() -> Iterator[None]:
    """The logging of pytest is put back."""
    logger = logging.getLogger()
    handlers, level = logger.handlers[:], logger.level
    yield
    logger.handlers[:] = handlers
    logger.setLevel(level)


@pytest.fixture
def lines(root: None):
    out = io.StringIO()
    configure_logging("INFO", "Auto", out)
    return lambda: [json.loads(line) for line in out.getvalue().splitlines()]


def test_a_line_is_an_object_with_what_it_is_about(lines) -> None:
    with log_context(session_id="s", task_id="t", trace_id=None), log_context(user="ada"):
        log.info("paid %s", "Bob", extra={"amount": 3})
    log.info("outside")
    inside, outside = lines()
    assert (inside["message"], inside["level"], inside["logger"]) == ("paid Bob", "INFO", "sophon.test")
    assert (inside["session_id"], inside["task_id"], inside["user"], inside["amount"]) == ("s", "t", "ada", 3)
    assert "trace_id" not in inside
    assert "session_id" not in outside
    assert inside["time"].endswith("+00:00")


def test_an_error_has_its_type_and_stack(lines) -> None:
    try:
        raise ValueError("the token=abcdefgh is wrong")
    except ValueError:
        log.exception("it failed")
    [line] = lines()
    assert line["error"]["type"] == "ValueError"
    assert "test_logging_setup.py" in line["error"]["stack"]
    assert "abcdefgh" not in json.dumps(line)


def test_text_is_for_people_and_moves_no_cursor(root: None) -> None:
    out = io.StringIO()
    configure_logging("INFO", "Text", out)
    with log_context(task_id="t"):
        log.info("hello \x1b[2J")
    assert "INFO    hello ?[2J  task_id=t" in out.getvalue()


def test_libraries_that_tell_every_step_are_quiet(lines) -> None:
    logging.getLogger("engineio.server").info("sending packet")
    logging.getLogger("httpx").info("HTTP Request")
    log.debug("below the level")
    assert lines() == []


def test_a_library_that_logs_in_the_scope_is_about_it_too(lines) -> None:
    with log_context(session_id="s", trace_id="f" * 32):
        logging.getLogger("aiohttp.server").warning("a client has gone")
    [line] = lines()
    assert (line["logger"], line["session_id"], line["trace_id"]) == ("aiohttp.server", "s", "f" * 32)


async def test_what_is_told_at_the_same_time_is_told_apart(lines) -> None:
    async def work(session: str) -> None:
        with log_context(session_id=session):
            await anyio.lowlevel.checkpoint()
            log.info("works")

    async with anyio.create_task_group() as group:
        for session in ("a", "b"):
            group.start_soon(work, session)
    assert {line["session_id"] for line in lines()} == {"a", "b"}


def test_the_secrets_of_the_settings_are_nowhere_in_the_log(root: None) -> None:
    out = io.StringIO()
    configure_logging("INFO", "Auto", out, secrets={"correct horse"})
    log.info("it was %s", "correct horse", extra={"said": ["correct horse"]})
    assert "correct horse" not in out.getvalue()
    assert json.loads(out.getvalue())["said"] == ["[REDACTED]"]


@pytest.mark.parametrize(("level", "told"), [("Debug", 4), ("Info", 3), ("Warning", 2), ("Error", 1)])
def test_what_is_below_the_level_is_not_told(root: None, level: str, told: int) -> None:
    out = io.StringIO()
    configure_logging(level, "Json", out)
    for say in (log.debug, log.info, log.warning, log.error):
        say("hello")
    assert len(out.getvalue().splitlines()) == told

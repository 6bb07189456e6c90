import io
import json
import logging
from collections.abc import Iterator

import pytest

from sophon_hosting.observing.logs import set_up_host_logs, without_secrets
from sophon_hosting.observing.scope import log_scope

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
    set_up_host_logs("INFO", "Auto", out)
    return lambda: [json.loads(line) for line in out.getvalue().splitlines()]


def test_a_line_is_an_object_with_what_it_is_about(lines) -> None:
    with log_scope(session_id="s", task_id="t", trace_id=None), log_scope(user="ada"):
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
    assert "test_logs.py" in line["error"]["stack"]
    assert "abcdefgh" not in json.dumps(line)


def test_a_message_cannot_pass_for_two_lines(lines) -> None:
    log.info('one\n{"level": "ERROR"}\x1b[2J')
    assert len(lines()) == 1


def test_text_is_for_people_and_moves_no_cursor(root: None) -> None:
    out = io.StringIO()
    set_up_host_logs("INFO", "Text", out)
    with log_scope(task_id="t"):
        log.info("hello \x1b[2J")
    assert "INFO    hello ?[2J  task_id=t" in out.getvalue()


def test_libraries_that_tell_every_step_are_quiet(lines) -> None:
    logging.getLogger("engineio.server").info("sending packet")
    logging.getLogger("httpx").info("HTTP Request")
    log.debug("below the level")
    assert lines() == []


@pytest.mark.parametrize(
    ("text", "secret"),
    [
        ("Authorization: Bearer abc.def-ghi", "abc.def-ghi"),
        ("GET /x?token=abcdef&y=1", "abcdef"),
        ("key sk-abcdefgh12345 refused", "sk-abcdefgh12345"),
        ('{"password": "hunter22"}', "hunter22"),
        ("api_key=12345678", "12345678"),
    ],
)
def test_what_looks_like_a_secret_is_blacked_out(text: str, secret: str) -> None:
    assert secret not in without_secrets(text)
    assert "***" in without_secrets(text)


@pytest.mark.parametrize("text", ["the key is missing", "3 tokens: too many", "no secret here", "task 7a95 failed"])
def test_prose_about_secrets_stays(text: str) -> None:
    assert without_secrets(text) == text

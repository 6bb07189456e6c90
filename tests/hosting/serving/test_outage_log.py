"""The log of a host whose store or queue is away: one line per component and outage, and one when it is back."""

import json
import os
import secrets
import signal
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from urllib.parse import urlsplit

import httpx
import pytest

from tests import postgres
from tests.hosting.queue.backends.rabbitmq import run_beside
from tests.loopback_proxy import LoopbackProxy
from tests.postgres import needs_postgres
from tests.programs import PATIENCE_SECONDS, Program, Serving
from tests.rabbitmq_queues import delete_queues
from tests.rabbitmq_server import find_shared_server as find_rabbitmq
from tests.redis_server import find_shared_server as find_redis

ATTEMPTS = 6
"""Messages, each of which tries the queue, while it is away."""


@pytest.fixture
def stack() -> Iterator[ExitStack]:
    with ExitStack() as stack:
        yield stack


def require(url: str | None, name: str) -> str:
    if url is None:
        pytest.fail(f"needs {name}") if os.environ.get("SOPHON_CI") else pytest.skip(f"needs {name}")
    return url


def put_proxy(stack: ExitStack, url: str) -> tuple[LoopbackProxy, str]:
    """Return a proxy to the server of a URL, and the URL that leads through it."""
    parts = urlsplit(url)
    proxy = LoopbackProxy(parts.port or 5432)
    stack.callback(proxy.close)
    proxy.start()
    credentials = parts.netloc.rpartition("@")[0]
    at = f"{credentials}@" if credentials else ""
    return proxy, parts._replace(netloc=f"{at}127.0.0.1:{proxy.port}").geturl()


def send(serving: Serving) -> int:
    address = f"{serving.url}/api/sessions/s/messages"
    return httpx.post(address, json={"content": "hello"}, trust_env=False, timeout=PATIENCE_SECONDS).status_code


def list_warnings(errors: str) -> list[str]:
    """Return the messages from warnings up; each must be one line of JSON without a traceback."""
    lines = [json.loads(line) for line in errors.splitlines() if line.strip()]
    assert [line for line in lines if "error" in line] == []
    stopping = ("stopping", "this process no longer leads", "a model call")
    messages = [line["message"] for line in lines if line["level"] in ("WARNING", "ERROR")]
    return [each for each in messages if not each.startswith(stopping)]


def is_ok(serving: Serving, check: str) -> bool:
    return serving.get("/readyz")["checks"][check] == "ok"


@needs_postgres
@pytest.mark.parametrize("backend", ["RabbitMq", "Redis"])
def test_a_broker_that_is_away_costs_a_line_and_its_return_another(
    program: Callable[..., Program], stack: ExitStack, backend: str
) -> None:
    postgres.empty()
    name = f"t{secrets.token_hex(4)}"
    url = require(find_rabbitmq() if backend == "RabbitMq" else find_redis(), backend)
    if backend == "RabbitMq":
        stack.callback(lambda: run_beside(delete_queues(url, name)))
    proxy, through = put_proxy(stack, url)
    here = program(Queue={"Backend": backend, "Url": through, "Name": name}, Store={"Url": postgres.URL})
    serving = here.serve()
    assert send(serving) == 202
    proxy.stop()
    here.until(lambda: not is_ok(serving, "queue"))
    assert [send(serving) for _ in range(ATTEMPTS)] == [202] * ATTEMPTS
    proxy.start()
    here.until(lambda: is_ok(serving, "queue"))
    code, errors = serving.end(signal.SIGTERM)
    assert code == 0
    queue = [each for each in list_warnings(errors) if "messages between hosts" not in each]
    assert len(queue) == 2, queue
    assert ("is unavailable" in queue[0], "can be reached again" in queue[1]) == (True, True)
    assert errors.count("messages between hosts are not passed on") <= 1


@needs_postgres
def test_a_database_that_is_away_costs_a_line_of_each_component(
    program: Callable[..., Program], stack: ExitStack
) -> None:
    postgres.empty()
    proxy, through = put_proxy(stack, postgres.URL)
    here = program(Queue={"Backend": "Postgres"}, Store={"Url": through})
    serving = here.serve()
    assert send(serving) == 202
    proxy.stop()
    here.until(lambda: not is_ok(serving, "store") and not is_ok(serving, "queue"))
    assert [send(serving) for _ in range(ATTEMPTS)] == [503] * ATTEMPTS
    proxy.start()
    here.until(lambda: is_ok(serving, "store") and is_ok(serving, "queue"))
    code, errors = serving.end(signal.SIGTERM)
    assert code == 0
    begins = ("the store", "the queue", "messages between hosts")
    counts = {begin: sum(each.startswith(begin) for each in list_warnings(errors)) for begin in begins}
    assert counts["the store"] == 2  # and that it is back
    assert counts["the queue"] <= 3  # that nothing is delivered, that nothing is put, and that it is back
    assert counts["messages between hosts"] == 1
    assert sum(counts.values()) == len(list_warnings(errors))

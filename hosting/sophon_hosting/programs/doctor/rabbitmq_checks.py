"""Checks of `sophon doctor` on a RabbitMQ: version, whether quorum queues can be made, and resource alarms."""

import asyncio
import logging
import time
from collections.abc import Generator, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from sophon._python.lazy_dataclass import dataclass
from sophon_hosting.programs.doctor.backend_findings import CONNECT_SECONDS, find_old_version
from sophon_hosting.programs.doctor.findings import DoctorFinding, failed, ok

NAME = "rabbitmq"

MIN_VERSION = (3, 10)
"""Oldest version whose quorum queues have what the queue needs: lengths with reject-publish, delivery limits."""

ALARM_SECONDS = 1.0
"""How long an announcement of an alarm is waited for: a server with one sends it after the first message."""


@dataclass(frozen=True, slots=True)
class RabbitFacts:
    """What a server says of itself. `quorum_problem` is why it has no quorum queues, `alarm` why it takes nothing."""

    product: str
    version: str
    quorum_problem: str
    alarm: str
    answer_seconds: float


def read_facts(url: str) -> RabbitFacts:
    """Return the facts of a server. Blocks, makes a queue and deletes it; raises the errors of the client library."""
    with _without_log():
        return asyncio.run(_read_facts(url))


async def _read_facts(url: str) -> RabbitFacts:
    import aio_pika  # lazy: only who uses RabbitMQ has it

    async with asyncio.timeout(CONNECT_SECONDS):
        connection: Any = await aio_pika.connect(url)
    try:
        properties: Mapping[str, Any] = connection.transport.connection.server_properties
        async with asyncio.timeout(CONNECT_SECONDS):
            channel = await connection.channel()
            name = f"sophon.doctor.{time.time_ns()}"
            before = time.monotonic()
            problem, alarm = await _try_queue(channel, name)
            answered = time.monotonic() - before
    finally:
        await connection.close()
    return RabbitFacts(_text(properties.get("product")), _text(properties.get("version")), problem, alarm, answered)


async def _try_queue(channel: Any, name: str) -> tuple[str, str]:
    """Make a quorum queue, publish to it and delete it; return why it could not be made, and why nothing is taken."""
    from aio_pika.exceptions import AMQPError  # lazy: see above

    try:
        queue = await channel.declare_queue(name, durable=True, arguments={"x-queue-type": "quorum"})
    except AMQPError as error:
        return str(error), ""
    try:
        return "", await _find_alarm(channel, name)
    finally:
        await queue.delete(if_unused=False, if_empty=False)


async def _find_alarm(channel: Any, queue: str) -> str:
    """Publish a message: a server with an alarm of memory or disk confirms none until it is over."""
    from aio_pika import Message  # lazy: see above

    try:
        async with asyncio.timeout(ALARM_SECONDS):
            await channel.default_exchange.publish(Message(b"doctor"), queue)
    except TimeoutError:
        return f"a message was not confirmed within {ALARM_SECONDS:g} s"
    return ""


def judge_rabbitmq(facts: RabbitFacts, name: str) -> Iterator[DoctorFinding]:
    """Yield the findings of a server's facts; the first one is what it is. Pure."""
    text = f"{facts.product} {facts.version} at {name}, made a queue in {facts.answer_seconds * 1000:.0f} ms"
    yield find_old_version(NAME, text, facts.version, MIN_VERSION) or ok(NAME, text)
    if facts.quorum_problem:
        fix = "let this user configure, write and read on the virtual host; all nodes must have quorum queues"
        yield failed(NAME, f"no quorum queue can be made: {facts.quorum_problem}", fix)
    if facts.alarm:
        yield failed(NAME, facts.alarm, "look for alarms of memory and disk: rabbitmq-diagnostics alarms")


@contextmanager
def _without_log() -> Generator[None]:
    """Keep the client library from logging what becomes a finding."""
    log = logging.getLogger("aiormq")
    before = log.level
    log.setLevel(logging.CRITICAL + 1)
    try:
        yield
    finally:
        log.setLevel(before)


def _text(value: object) -> str:
    return value.decode(errors="replace") if isinstance(value, bytes) else str(value or "RabbitMQ")

"""Checks of `sophon doctor` on a shared queue: tasks that wait, dead letters."""

import asyncio
from collections.abc import Iterator

from sophon.errors import SophonError
from sophon.services import Services
from sophon_hosting.programs.doctor.findings import DoctorFinding, failed, ok, warning
from sophon_hosting.queue.contract import QueueStatistics
from sophon_hosting.queue.queue_factory import build_queue
from sophon_hosting.rendering.value_formatting import format_count
from sophon_hosting.settings.queue import QueueSettings

QUEUE_SECONDS = 15.0
"""Time limit of connecting to a queue and counting it."""

FULL_SHARE = 0.8
"""Part of the capacity from which on a queue counts as almost full."""

OLD_SECONDS = 300.0
"""Waiting time of a task from which on it is told."""

DEAD_FIX = "`sophon queue dead` lists them with the reason, `sophon queue retry` runs one again"


async def check_queue(services: Services) -> list[DoctorFinding]:
    """Count a shared queue without taking anything. RabbitMQ's is counted by its hosts only."""
    settings = services.settings.section(QueueSettings)
    if settings.backend == "Memory":
        return []
    if settings.backend == "RabbitMq":
        return [ok("queue", "only a host counts a queue in RabbitMQ: `sophon queue` asks it")]
    try:
        queue = build_queue(services)
        async with asyncio.timeout(QUEUE_SECONDS):
            await queue.open()
            try:
                found = await queue.statistics()
            finally:
                await queue.close()
    except (SophonError, TimeoutError) as error:
        text = str(error) or f"no answer within {QUEUE_SECONDS:g} s"
        return [failed("queue", f"the queue cannot be counted: {text}", "see the check of its server")]
    return list(judge_queue(found, settings.backend))


def judge_queue(found: QueueStatistics, backend: str) -> Iterator[DoctorFinding]:
    """Yield the findings of a queue's counts; the first one is what they are. Pure."""
    text = f"{backend}: {found.waiting} of {found.capacity} waiting, {found.in_flight} running"
    if found.waiting >= FULL_SHARE * found.capacity:
        fix = "start more workers, or raise Queue.Capacity; a full queue refuses messages with `queue_full`"
        yield warning("queue", text, fix)
    else:
        yield ok("queue", text)
    if found.paused:
        yield warning("queue", "the queue is paused: nothing is run", "`sophon queue resume`")
    elif found.oldest_waiting_seconds > OLD_SECONDS and not found.in_flight:
        text = f"a task has waited for {found.oldest_waiting_seconds / 60:.0f} minutes, and none runs"
        yield warning("queue", text, "start `sophon worker`")
    if found.dead:
        yield warning("queue", f"{format_count(found.dead, 'dead letter')}", DEAD_FIX)

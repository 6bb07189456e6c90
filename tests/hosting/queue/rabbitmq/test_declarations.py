"""What the queue declares on the broker, so that RabbitMQ 3.10 to 4.x treat it alike."""

from collections.abc import AsyncIterator

import pytest

from sophon_hosting.queue.rabbitmq.queue import RabbitMqQueue
from tests.rabbitmq_server import RabbitMqServer

NAME = "declared"


@pytest.fixture
async def queue(node: RabbitMqServer) -> AsyncIterator[RabbitMqQueue]:
    queue = RabbitMqQueue(node.url, NAME)
    await queue.open()
    yield queue
    await queue.close()


def read_arguments(listed: object) -> dict[str, object]:
    """Return the arguments of a queue or consumer; rabbitmqctl lists each with its name and its type."""
    assert isinstance(listed, list)
    return {name: value for name, _, value in listed}


async def test_limits_are_declared_because_their_defaults_differ_between_versions(queue, node) -> None:
    listed = node.list_as_json("list_queues", "name", "arguments")
    arguments = {each["name"]: read_arguments(each["arguments"]) for each in listed}
    assert arguments[f"{NAME}.v1.tasks"] == {
        "x-queue-type": "quorum",
        "x-single-active-consumer": True,
        "x-delivery-limit": 1_000,  # 20 by default since 4.0; negative means none in 4.x and 0 in 3.x
        "x-dead-letter-exchange": f"{NAME}.v1.dead",
        "x-max-length": 50_000,
        "x-overflow": "reject-publish",
    }
    assert arguments[f"{NAME}.v1.dead"] == {
        "x-queue-type": "quorum",
        "x-delivery-limit": 1_000_000_000,
        "x-max-length": 10_000,
    }


async def test_a_queue_is_durable_or_exclusive_because_4_3_refuses_others(queue, node) -> None:
    listed = node.list_as_json("list_queues", "name", "durable", "exclusive", "arguments")
    assert {(each["durable"], bool(each["exclusive"])) for each in listed} == {(True, False), (False, True)}
    [member] = [each for each in listed if each["exclusive"]]
    assert read_arguments(member["arguments"]) == {}  # 4.3 refuses some that classic queues had


async def test_the_consumer_asks_for_its_own_time_out_and_prefetch(queue, node) -> None:
    listed = node.list_as_json("list_consumers", "queue_name", "ack_required", "prefetch_count", "arguments")
    [consumer] = [each for each in listed if each["queue_name"] == f"{NAME}.v1.tasks"]
    assert consumer["ack_required"] is True
    assert consumer["prefetch_count"] == 65_535  # per consumer: 4.3 refuses one of the whole channel
    assert read_arguments(consumer["arguments"])["x-consumer-timeout"] == 30 * 60 * 1000

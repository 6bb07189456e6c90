"""Nodes of RabbitMQ of the tests' own, which they may stop and configure."""

import os
from collections.abc import Iterator

import pytest

from tests.rabbitmq_server import RabbitMqServer, find_program


def make_node(options: str = "", advanced: str = "[].") -> Iterator[RabbitMqServer]:
    """Yield a node that runs; it is removed afterwards. Skip where RabbitMQ is not installed, except in CI."""
    program = find_program()
    if program is None and "SOPHON_CI" not in os.environ:
        pytest.skip("not installed: rabbitmq-server")
    assert program is not None, "RabbitMQ is not installed"
    server = RabbitMqServer(program, options, advanced)
    try:
        server.start()
        yield server
    finally:
        server.remove()


@pytest.fixture(scope="module")
def node() -> Iterator[RabbitMqServer]:
    """One node for the tests of a module, each of which uses queues of its own names."""
    yield from make_node()

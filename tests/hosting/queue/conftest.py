"""The suite of all queues: each test of what they promise runs over every technology in `backends` that promises it."""

import asyncio
import itertools
import os
from collections.abc import AsyncIterator, Awaitable, Callable
from functools import cache
from importlib import import_module
from pathlib import Path

import pytest

from sophon_hosting.queue.contract import Delivery, TaskQueue
from tests.hosting.queue.backends.backend import Backend, Options

NUMBERS = itertools.count()


@cache
def find_backends() -> list[type[Backend]]:
    """Return the technologies: one class in each module of `backends`, and in those that SOPHON_TEST_QUEUES names."""
    found: list[type[Backend]] = []
    paths = sorted((Path(__file__).parent / "backends").glob("*.py"))
    others = os.environ.get("SOPHON_TEST_QUEUES", "").split()
    for module in map(import_module, [*(f"tests.hosting.queue.backends.{path.stem}" for path in paths), *others]):
        classes = (each for each in vars(module).values() if isinstance(each, type) and issubclass(each, Backend))
        found += [each for each in classes if each.__module__ == module.__name__ and hasattr(each, "name")]
    return found


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Run a test over what promises that which it is about: `NEEDS` of the module, or of `needs`."""
    if "backend_class" not in metafunc.fixturenames:
        return
    needed = {*getattr(metafunc.module, "NEEDS", ()), *getattr(metafunc.function, "needs", ())}
    with_instances = "instances" in needed or "another" in metafunc.fixturenames
    classes = [each for each in find_backends() if not needed & set(each.lacks)]
    classes = [each for each in classes if each.has_instances or not with_instances]
    metafunc.parametrize("backend_class", classes, ids=[each.name for each in classes], scope="session")


@pytest.fixture
def backend(backend_class: type[Backend]) -> Backend:
    if (reason := backend_class.find_reason_to_skip()) is not None:
        pytest.skip(reason)
    return backend_class()


@pytest.fixture
def names() -> list[str]:
    """Names of the queues of a test, in the order in which they were made."""
    return []


@pytest.fixture
async def made(backend: Backend, names: list[str]) -> AsyncIterator[list[TaskQueue]]:
    """Queues of a test; they are closed and removed after it."""
    queues: list[TaskQueue] = []
    yield queues
    for queue in queues:
        await queue.close()
    for name in names:
        await backend.remove(name)


@pytest.fixture
async def make_queue(backend: Backend, made: list[TaskQueue], names: list[str]) -> Callable[..., Awaitable[TaskQueue]]:
    """Make an empty queue of its own, open."""

    async def make(**options: float) -> TaskQueue:
        names.append(f"t_{os.getpid()}_{next(NUMBERS)}")
        made.append(backend.build(names[-1], Options(**options)))
        await made[-1].open()
        return made[-1]

    return make


@pytest.fixture
async def another(backend: Backend, made: list[TaskQueue], names: list[str]) -> Callable[..., Awaitable[TaskQueue]]:
    """Make what one more process has of the newest queue."""

    async def make(**options: float) -> TaskQueue:
        made.append(backend.build(names[-1], Options(**options)))
        await made[-1].open()
        return made[-1]

    return make


@pytest.fixture
async def queue(make_queue: Callable[..., Awaitable[TaskQueue]]) -> TaskQueue:
    return await make_queue()


@pytest.fixture
def settled(backend: Backend, made: list[TaskQueue]) -> Callable[[], Awaitable[None]]:
    """Await it to let everything run that can."""
    return lambda: backend.settle(*made)


@pytest.fixture
def take(backend: Backend) -> Callable[[TaskQueue], Awaitable[Delivery]]:
    """Take what must be there, or must come."""
    return lambda queue: backend.finish(queue.take())


@pytest.fixture
async def taking() -> AsyncIterator[Callable[[TaskQueue], "asyncio.Task[Delivery]"]]:
    """Begin to take, in a task that does not outlive the test."""
    begun: list[asyncio.Task[Delivery]] = []

    async def begin(queue: TaskQueue) -> Delivery:
        return await queue.take()

    def start(queue: TaskQueue) -> asyncio.Task[Delivery]:
        begun.append(asyncio.create_task(begin(queue)))
        return begun[-1]

    yield start
    for task in begun:
        task.cancel()
    await asyncio.gather(*begun, return_exceptions=True)

"""What every test of Sophon shares: asyncio as the one event loop (coroutine tests are run by anyio's plug-in)."""

import gc
import signal
from collections.abc import Generator, Iterator
from pathlib import Path

import pytest
from hypothesis import settings

from sophon.security.redaction.known_secrets import KNOWN_SECRETS
from tests import properties

BROWSER_TESTS = Path(__file__).parent / "web"

pytest_plugins = ["tests.time_by_folder", "tests.waiting_tests"]

settings.load_profile(properties.FEW)

# The workers of pytest-xdist ignore Ctrl-C, a shell's background jobs too, and `nohup` a lost terminal; every program
# that a test starts would inherit that.
for number, usual in ((signal.SIGINT, signal.default_int_handler), (signal.SIGHUP, signal.SIG_DFL)):
    if signal.getsignal(number) is signal.SIG_IGN:
        signal.signal(number, usual)


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Leave what all tests share to no garbage collection: ten thousand tests and every module they import.

    It is a million objects that live to the end, and each collection of a test would go through them.
    """
    gc.disable()
    try:
        return (yield)
    finally:
        gc.collect()
        gc.freeze()
        gc.enable()


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Let both workers of a run begin with files of the browser, which take most of the time.

    pytest-xdist gives each worker one half of the list, and shares what is left at the end: one worker would have them
    all, and a test that it has begun is not shared.
    """
    if not hasattr(config, "workerinput"):
        return
    files: dict[Path, list[pytest.Item]] = {}
    for item in items:
        if item.path.parent == BROWSER_TESTS:
            files.setdefault(item.path, []).append(item)
    halves: tuple[list[pytest.Item], list[pytest.Item]] = ([], [])
    for file in sorted(files.values(), key=len, reverse=True):
        min(halves, key=len).extend(file)
    others = [item for item in items if item.path not in files]
    middle = max(len(items) // 2 - len(halves[0]), 0)
    items[:] = [*halves[0], *others[:middle], *halves[1], *others[middle:]]


@pytest.hookimpl(wrapper=True)
def pytest_runtest_teardown(item: pytest.Item, nextitem: pytest.Item | None) -> Generator[None, object, object]:
    """Do the same with what a test file leaves: the libraries that it imported, their caches, the compiled schemas.

    Otherwise `gc.collect` of a test takes a second once a library like litellm is imported.
    """
    try:
        return (yield)
    finally:
        if nextitem is None or nextitem.path != item.path:
            gc.collect()
            gc.freeze()


@pytest.fixture(scope="session")
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(autouse=True)
def no_secret_of_another_test() -> Iterator[None]:
    """Secrets are known to the whole process: a token of one test is an ordinary word in another."""
    before = KNOWN_SECRETS.values
    yield
    KNOWN_SECRETS.restore(before)

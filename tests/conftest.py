"""What every test of Sophon shares: asyncio as the one event loop (coroutine tests are run by anyio's plug-in)."""

import signal

import pytest
from hypothesis import settings

settings.register_profile("sophon", deadline=None)  # a busy machine is no finding
settings.load_profile("sophon")

# The workers of pytest-xdist ignore Ctrl-C, a shell's background jobs too, and `nohup` a lost terminal; every program
# that a test starts would inherit that.
for number, usual in ((signal.SIGINT, signal.default_int_handler), (signal.SIGHUP, signal.SIG_DFL)):
    if signal.getsignal(number) is signal.SIG_IGN:
        signal.signal(number, usual)


@pytest.fixture(scope="session")
def anyio_backend() -> str:
    return "asyncio"

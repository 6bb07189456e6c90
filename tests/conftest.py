"""What every test of Sophon shares: asyncio as the one event loop (coroutine tests are run by anyio's plug-in)."""

import pytest
from hypothesis import settings

settings.register_profile("sophon", deadline=None)  # a busy machine is no finding
settings.load_profile("sophon")


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"
